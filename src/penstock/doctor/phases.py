"""DS-Analyzer's three phases: splits an epoch into compute, preparation stall and fetch stall, by differences.

Timers inside a loop cannot distinguish a wait for the disk from a wait for the processor. Three runs can: with one
batch in memory (compute alone), with everything in the page cache (plus preparation), and with nothing cached (plus
fetching).
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import TypeVar

from penstock.documents import Json
from penstock.errors import ArgumentError
from penstock.rates import Bottleneck

Batch = TypeVar("Batch")


@dataclass(frozen=True, slots=True)
class Phases:
    """Seconds per batch of each phase alone."""

    num_batches: int
    compute_seconds: float
    prep_stall_seconds: float
    fetch_stall_seconds: float
    is_cold: bool
    """True if the page cache was emptied for the last phase; otherwise fetching is unknown."""

    @property
    def bottleneck(self) -> Bottleneck:
        """Largest part: `compute`, `decode` (preparation) or `storage`."""
        parts: dict[Bottleneck, float] = {
            "compute": self.compute_seconds,
            "decode": self.prep_stall_seconds,
            "storage": self.fetch_stall_seconds,
        }
        return max(parts, key=lambda name: parts[name])

    def as_dict(self) -> dict[str, Json]:
        """Convert the phases for reports."""
        return {**asdict(self), "bottleneck": self.bottleneck}


def diagnose(
    loader: Iterable[Batch],
    step: Callable[[Batch], object],
    *,
    max_batches: int = 200,
    drop_caches: Callable[[], object] | None = None,
) -> Phases:
    """Run a step over a loader in three phases, and return the cost of each.

    The loader must be restartable. `step` must end when its work does (synchronise a device in it). `drop_caches`
    empties the page cache of the loader's files; without it, the third phase is left out.

    >>> found = diagnose([1, 2, 3, 4], lambda batch: None)
    >>> found.num_batches, found.is_cold
    (4, False)
    """
    first = next(iter(loader), None)
    if first is None:
        raise ArgumentError("the loader yields nothing", where="diagnose", fix="give one with at least one batch")
    num_batches = sum(1 for _ in itertools.islice(loader, max_batches))  # also brings everything into the page cache
    step(first)
    compute = _seconds(itertools.repeat(first, num_batches), step, num_batches)
    cached = _seconds(loader, step, num_batches)
    cold = cached
    if drop_caches is not None:
        drop_caches()
        cold = _seconds(loader, step, num_batches)
    return Phases(num_batches, compute, max(0.0, cached - compute), max(0.0, cold - cached), drop_caches is not None)


def _seconds(batches: Iterable[Batch], step: Callable[[Batch], object], num_batches: int) -> float:
    begin = time.perf_counter()
    for batch in itertools.islice(batches, num_batches):
        step(batch)
    return (time.perf_counter() - begin) / num_batches
