"""Predict what a loader's cache finds and what an epoch reads, by running the loader's own cache without I/O.

A plan knows a sample of the images, not all of them. So a dataset of images like these is dealt out, as large as the
real one or MOST_SAMPLES, with memory in proportion, and the cache of `penstock.order.caches` plans two epochs of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from penstock.counter_rng import draw_uniform
from penstock.documents import Json
from penstock.order import Order
from penstock.order.caches import open_cache
from penstock.order.rank_schedule import RankSchedule
from penstock.plan.mix_problem import Problem
from penstock.plan.mix_rates import rates_of
from penstock.rates import Rates
from penstock.types import Floats, Integers

MOST_SAMPLES = 20_000
"""Larger datasets are scaled down to this: their hit ratio is the same to a thousandth."""
BATCH_SIZE = 64
STREAM = 3
"""The random numbers that deal formats to images; streams 1 and 2 belong to builds."""


@dataclass(frozen=True, slots=True)
class CacheForecast:
    """The second epoch of a loader, whose first has filled the cache."""

    cache: str
    hit_ratio: float
    """Share of the samples that are in memory."""
    read_share: float
    """Share of the dataset's bytes that an epoch reads."""
    bytes_per_epoch: int

    def as_dict(self) -> dict[str, Json]:
        """Return the forecast as a plan writes it."""
        return {"hit_ratio": self.hit_ratio, "bytes_per_epoch": self.bytes_per_epoch}


def run_cache(
    problem: Problem, assignment: Floats, *, cache: str = "rolling", batch_size: int = BATCH_SIZE, seed: int = 0
) -> CacheForecast:
    """Run a cache over the images of a problem in the formats of an assignment.

    Args:
        problem: What images cost, how many samples there are, and the memory for the cache.
        assignment: The share of image i (row) in format f (column).
        cache: A name of `penstock.order.caches.CACHES`; "none" if the problem has no memory for one.
        batch_size: Samples of a batch.
        seed: Seed of the order.

    """
    formats, sizes = _dealt(problem, assignment, seed)
    total = problem.num_samples * float(sizes.mean())
    capacity = int(problem.memory_bytes * (len(sizes) / problem.num_samples))
    if capacity == 0 or cache == "none":
        return CacheForecast("none", 0.0, 1.0, round(total))
    schedule = RankSchedule(Order(formats, seed=seed), batch_size=batch_size)
    running = open_cache(cache, schedule, sizes, capacity)
    running.epoch(0)
    warm = running.epoch(1)
    read = float(sizes[warm.reads[0]].sum()) / float(sizes.sum())
    return CacheForecast(cache, float(warm.hits.mean()), read, round(read * total))


def cached_rates(problem: Problem, assignment: Floats) -> Rates:
    """Return the rates of a mix with the reads that the loader's cache leaves over.

    `rates_of` takes the memory to hold its share of the bytes, which is linear and so what a linear program needs. The
    cache itself holds a little less, because samples enter before others leave.
    """
    if problem.memory_bytes == 0:
        return rates_of(problem, assignment)
    return rates_of(problem, assignment, cached_share=1 - run_cache(problem, assignment).read_share)


def _dealt(problem: Problem, assignment: Floats, seed: int) -> tuple[npt.NDArray[np.uint8], Integers]:
    """Deal images in turn, and to each a format with the probabilities of its row."""
    count = min(problem.num_samples, max(MOST_SAMPLES, len(problem.bytes)))
    images = np.arange(count) % len(problem.bytes)
    bounds = np.cumsum(assignment, axis=1)[:, :-1]
    formats = (draw_uniform(seed, STREAM, np.arange(count))[:, None] >= bounds[images]).sum(axis=1)
    sizes: Integers = np.maximum(1, problem.bytes[images, formats].round()).astype(np.int64)
    return formats.astype(np.uint8), sizes
