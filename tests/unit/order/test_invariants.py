"""Liquid's invariants I1 to I12, policy by policy, on what caches plan; the table in the guide says the same.

That loaders do what was planned, and all invariants on their reads: tests/unit/load/test_invariants.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt
import pytest

from penstock.order import Order, RankSchedule
from penstock.order.caches import CACHES, EpochCachePlan, open_cache
from tests.invariants import table_of_the_guide

NUM_SAMPLES, BATCH_SIZE, NUM_EPOCHS, PART = 2400, 48, 24, 0.3
FORMATS = np.arange(NUM_SAMPLES) % 20 // 11 + (np.arange(NUM_SAMPLES) % 20 >= 17)

Sizes = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Run:
    """Some epochs of a cache, from a cold start on."""

    name: str
    sizes: Sizes
    capacity_bytes: int
    epochs: tuple[EpochCachePlan, ...]

    @property
    def warm(self) -> tuple[EpochCachePlan, ...]:
        return self.epochs[1:]


@cache
def run(name: str, part: float = PART, seed: int = 1) -> Run:
    sizes = np.random.default_rng(0).lognormal(9, 0.4, NUM_SAMPLES).astype(np.int64)
    capacity_bytes = int(sizes.sum() * part)
    opened = open_cache(name, RankSchedule(Order(FORMATS, seed=seed), BATCH_SIZE), sizes, capacity_bytes)
    return Run(name, sizes, capacity_bytes, tuple(opened.epoch(epoch) for epoch in range(NUM_EPOCHS)))


def per_batch(cache_plan: EpochCachePlan) -> npt.NDArray[np.int64]:
    """How many samples of each format each batch has."""
    batches = np.repeat(np.arange(cache_plan.num_batches), np.diff(cache_plan.starts))
    return np.bincount(batches * 3 + FORMATS[cache_plan.ids], minlength=cache_plan.num_batches * 3).reshape(-1, 3)


def once_per_epoch(run: Run) -> bool:
    return all((np.sort(cache_plan.ids) == np.arange(NUM_SAMPLES)).all() for cache_plan in run.epochs)


def mix_within_one(run: Run) -> bool:
    exact = np.bincount(FORMATS) / NUM_SAMPLES * BATCH_SIZE
    off = [per_batch(cache_plan) - exact for cache_plan in run.epochs]
    return all(np.abs(some).max() <= 1 + 1e-9 and np.abs(some.cumsum(axis=0)).max() < 1 for some in off)


def constant_reads(run: Run) -> bool:
    return all(np.ptp(cache_plan.reads_per_batch) <= 4 for cache_plan in run.warm)  # ± 2, by rounding of three formats


def hits_are_what_was_kept(run: Run) -> bool:
    kept = [int(cache_plan.keeps.sum()) for cache_plan in run.epochs]
    return [int(cache_plan.hits.sum()) for cache_plan in run.warm] == kept[:-1]


def reads_are_what_was_absent(run: Run) -> bool:
    return all(
        sorted(after.reads[0]) == sorted(set(range(NUM_SAMPLES)) - set(before.ids[before.keeps]))
        for before, after in zip(run.epochs, run.warm, strict=False)
    )


def regions_pass_over(run: Run) -> bool:
    """What is left of this epoch's region shrinks as the next one's grows, batch by batch, at a constant pace."""
    for cache_plan in run.warm:
        kept = np.concatenate([[0], np.cumsum(cache_plan.keeps)])[cache_plan.starts]
        pace = np.linspace(0, kept[-1], len(kept))
        if np.abs(kept - pace).max() > 3:
            return False
    return True


def constant_memory(run: Run) -> bool:
    for cache_plan in run.warm:
        kept = np.concatenate([[0], np.cumsum(cache_plan.keeps)])[cache_plan.starts]
        used = np.concatenate([[0], np.cumsum(np.ones(NUM_SAMPLES, int))])[cache_plan.starts]
        read = (
            cache_plan.reads[1]
            if cache_plan.ahead
            else np.concatenate([[0], np.cumsum(~cache_plan.hits)])[cache_plan.starts]
        )
        resident = int(cache_plan.hits.sum()) + read - used + kept
        if np.ptp(resident) > 3:
            return False
    return True


def retained_at_random(run: Run) -> bool:
    """How often each sample is kept varies as much as if every epoch chose anew."""
    kept = np.zeros((len(run.warm), NUM_SAMPLES))
    for row, cache_plan in zip(kept, run.warm, strict=True):
        row[cache_plan.ids[cache_plan.keeps]] = 1
    chance = kept.mean(axis=1)
    return bool(0.85 < kept.sum(axis=0).var() / (chance * (1 - chance)).sum() < 1.15)


def next_epoch_starts_with_what_was_kept(run: Run) -> bool:
    return all(
        set(after.ids[after.hits]) == set(before.ids[before.keeps])
        and before.resident_bytes[-1] == after.resident_bytes[0]
        for before, after in zip(run.epochs, run.warm, strict=False)
    )


def reads_in_the_order_of_the_disk(run: Run) -> bool:
    return all(
        (np.diff(cache_plan.reads[0][FORMATS[cache_plan.reads[0]] == number]) > 0).all()
        for cache_plan in run.epochs
        for number in range(3)
    )


def seeds_decide(run: Run) -> bool:
    again, other = (_fresh(run.name, seed) for seed in (1, 2))
    return bool((again == run.epochs[1].ids).all()) and not bool((other == run.epochs[1].ids).all())


def _fresh(name: str, seed: int) -> npt.NDArray[np.int64]:
    rank_schedule = RankSchedule(Order(FORMATS, seed=seed), BATCH_SIZE)
    first = run(name)
    opened = open_cache(name, rank_schedule, first.sizes, first.capacity_bytes)
    opened.epoch(0)
    return opened.epoch(1).ids


def ends_of_the_scale(measured: Run) -> bool:
    none, everything = run(measured.name, 0.0), run(measured.name, 1.0)
    return all(len(cache_plan.reads[0]) == NUM_SAMPLES for cache_plan in none.epochs) and all(
        len(cache_plan.reads[0]) == 0 for cache_plan in everything.warm
    )


CHECKS: dict[str, Callable[[Run], bool]] = {
    "I1": once_per_epoch,
    "I2": mix_within_one,
    "I3": constant_reads,
    "I4": hits_are_what_was_kept,
    "I5": reads_are_what_was_absent,
    "I6": regions_pass_over,
    "I7": constant_memory,
    "I8": retained_at_random,
    "I9": next_epoch_starts_with_what_was_kept,
    "I10": reads_in_the_order_of_the_disk,
    "I11": seeds_decide,
    "I12": ends_of_the_scale,
}


TABLE = {key: cell for key, cell in table_of_the_guide().items() if key[0] in CHECKS}


@pytest.mark.parametrize(("invariant", "name"), [key for key, cell in TABLE.items() if cell in ("yes", "no")])
def test_the_guide_says_what_holds(invariant: str, name: str) -> None:
    assert CHECKS[invariant](run(name)) == (TABLE[invariant, name] == "yes")


@pytest.mark.parametrize("name", CACHES)
def test_the_capacity_is_never_exceeded(name: str) -> None:
    assert all(cache_plan.peak_bytes <= run(name).capacity_bytes for cache_plan in run(name).epochs)
