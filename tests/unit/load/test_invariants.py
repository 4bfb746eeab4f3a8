"""Liquid's invariants, policy by policy, on reads of real loaders, as the kernel and their counters saw them.

What to expect is the table of docs/guide/order.md. Where it says `no`, a counterexample must be found.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from penstock.order.caches import CACHES
from tests.invariants import NO, NOT_MEANT, YES, table_of_the_guide
from tests.unit.load.counted_run import Run, run_loader
from tests.unit.load.witness import Pixels, make_scattered

COUNT, BATCH, EPOCHS, PART = 960, 32, 14, 0.3
MIX = "raw=0.6,png=0.4"
ROUNDING = 2  # of samples, to both sides: hits of two formats are rounded one by one

TABLE = table_of_the_guide()


@dataclass(frozen=True)
class Policy:
    """Its runs: one long, others short."""

    long: Run
    short: Callable[[float, int], Run]
    """With memory for a part of the dataset, and a seed."""


@pytest.fixture(scope="module")
def policies(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Policy]:
    """Made when first asked for, and shared by all cells."""

    @cache
    def dataset() -> tuple[Path, Pixels]:
        return make_scattered(tmp_path_factory.mktemp("invariants"), COUNT, MIX)

    @cache
    def short(name: str, part: float, seed: int) -> Run:
        return run_loader(dataset(), name, part, seed, 2, BATCH)

    @cache
    def policy(name: str) -> Policy:
        long = run_loader(dataset(), name, PART, 1, EPOCHS, BATCH)
        return Policy(long, lambda part, seed: short(name, part, seed))

    return policy


Found = str | None
"""A counterexample; None if the invariant holds."""


def once_per_epoch(policy: Policy) -> Found:
    for number, ids in enumerate(policy.long.ids):
        if not np.array_equal(np.sort(ids), np.arange(COUNT)):
            return f"epoch {number}"
    return None


def mix_within_one(policy: Policy) -> Found:
    run = policy.long
    share = np.bincount(run.formats) / COUNT
    for number, epoch in enumerate(run.epochs):
        off = np.array([np.bincount(run.formats[batch.ids], minlength=2) - share * BATCH for batch in epoch])
        if np.abs(off).max() > 1 + 1e-9 or np.abs(off.cumsum(axis=0)).max() > 1 + 1e-9:
            return f"epoch {number}: {np.abs(off).max():.1f} samples off, in sum {np.abs(off.cumsum(axis=0)).max():.1f}"
    return None


def constant_reads(policy: Policy) -> Found:
    for number, epoch in enumerate(policy.long.epochs[1:], 1):
        reads = [len(batch.read) for batch in epoch]
        if np.ptp(reads) > 2 * ROUNDING:
            return f"epoch {number}: {min(reads)} to {max(reads)} reads"
    return None


def hits_are_what_is_in_memory(policy: Policy) -> Found:
    run = policy.long
    for number in range(1, EPOCHS):
        hits, held = sum(batch.hits for batch in run.epochs[number]), run.absent(number)
        if hits != len(held) or _bytes(run, held) != run.held_bytes(number):
            return f"epoch {number}: {hits} hits, {run.held_bytes(number)} bytes in memory"
    return None


def reads_are_what_is_not(policy: Policy) -> Found:
    run = policy.long
    for number in range(1, EPOCHS):
        num_reads = sum(batch.num_reads for batch in run.epochs[number])
        read_bytes = _bytes(run, run.read[number])
        if num_reads != len(run.read[number]) or read_bytes != run.sizes.sum() - run.held_bytes(number):
            return f"epoch {number}: {num_reads} reads of {len(run.read[number])} samples, {read_bytes} bytes"
    return None


def next_region_grows_evenly(policy: Policy) -> Found:
    for number in range(1, EPOCHS - 1):
        kept = np.concatenate([[0], np.cumsum(policy.long.kept_per_batch(number))])
        off = np.abs(kept - np.linspace(0, kept[-1], len(kept))).max()
        if off > ROUNDING:
            return f"epoch {number}: {off:.1f} samples off an even pace"
    return None


def constant_memory(policy: Policy) -> Found:
    for number in range(1, EPOCHS - 1):
        resident = policy.long.resident_per_batch(number)
        if np.ptp(resident) > 2 * ROUNDING:
            return f"epoch {number}: {resident.min()} to {resident.max()} records"
    return None


def retained_at_random(policy: Policy) -> Found:
    """Each sample is kept as often as by chance, and keeping it once says nothing of the next epoch."""
    kept = np.zeros((EPOCHS - 1, COUNT))
    for number, row in enumerate(kept, 1):
        row[list(policy.long.absent(number))] = 1
    chance = kept.mean(axis=1)
    ratio = kept.sum(axis=0).var() / (chance * (1 - chance)).sum()
    both, alone = (kept[:-1] * kept[1:]).sum(axis=1), chance[:-1] * chance[1:] * COUNT
    spread = np.sqrt(alone * (1 - chance[:-1]) * (1 - chance[1:]))
    again = float(((both - alone) / spread).sum() / np.sqrt(len(both)))
    if 0.85 < ratio < 1.15 and abs(again) < 3:
        return None
    return f"{ratio:.2f} times the variance of chance, kept twice in a row {again:+.1f} deviations from chance"


def next_epoch_starts_with_what_was_kept(policy: Policy) -> Found:
    """Counted at the last batch of an epoch, and by what the next one does not read."""
    run = policy.long
    for number in range(EPOCHS - 1):
        kept = run.kept_per_batch(number).sum()
        if kept == 0 or run.epochs[number][-1].held_bytes != _bytes(run, run.absent(number + 1)):
            return f"epoch {number}: {kept} kept, {run.epochs[number][-1].held_bytes} bytes in memory"
    return None


def reads_in_the_order_of_the_disk(policy: Policy) -> Found:
    """Of a format, and batch by batch: reads of one batch are under way together."""
    run = policy.long
    for number, epoch in enumerate(run.epochs):
        for format_number in range(2):
            places = [[run.places[id_] for id_ in batch.read if run.formats[id_] == format_number] for batch in epoch]
            for before, after in pairwise(found for found in places if found):
                if max(before) > min(after):
                    return f"epoch {number}: {min(after)} after {max(before)}"
    return None


def seed_decides(policy: Policy) -> Found:
    again, other = policy.short(PART, 1), policy.short(PART, 2)
    for number in range(2):
        if not np.array_equal(again.ids[number], policy.long.ids[number]):
            return f"epoch {number} differs with the same seed"
        if np.array_equal(other.ids[number], policy.long.ids[number]):
            return f"epoch {number} is the same with another seed"
    return None


def ends_of_the_scale(policy: Policy) -> Found:
    none, everything = policy.short(0.0, 1), policy.short(1.0, 1)
    if any(none.absent(number) for number in range(2)):
        return f"without capacity {len(none.absent(1))} samples are not read"
    return f"with capacity for all {len(everything.read[1])} are read" if everything.read[1] else None


def pixels_of_the_source(policy: Policy) -> Found:
    for number, epoch in enumerate(policy.long.epochs):
        if not all(batch.is_exact for batch in epoch):
            return f"epoch {number}"
    return None


def _bytes(run: Run, ids: frozenset[int]) -> int:
    return int(run.sizes[list(ids)].sum())


CHECKS: dict[str, Callable[[Policy], Found]] = {
    "I1": once_per_epoch,
    "I2": mix_within_one,
    "I3": constant_reads,
    "I4": hits_are_what_is_in_memory,
    "I5": reads_are_what_is_not,
    "I6": next_region_grows_evenly,
    "I7": constant_memory,
    "I8": retained_at_random,
    "I9": next_epoch_starts_with_what_was_kept,
    "I10": reads_in_the_order_of_the_disk,
    "I11": seed_decides,
    "I12": ends_of_the_scale,
    "I13": pixels_of_the_source,
}


def test_every_cell_is_checked() -> None:
    assert set(TABLE) == {(invariant, name) for invariant in CHECKS for name in CACHES}
    assert set(TABLE.values()) == {YES, NO, NOT_MEANT}


@pytest.mark.parametrize("name", CACHES)
@pytest.mark.parametrize("invariant", CHECKS)
def test_real_reads_are_as_the_guide_says(policies: Callable[[str], Policy], invariant: str, name: str) -> None:
    expected, policy = TABLE[invariant, name], policies(name)
    if expected == NOT_MEANT:  # it speaks of a memory that this policy does not have
        assert all(batch.held_bytes == batch.hits == 0 for epoch in policy.long.epochs for batch in epoch)
        assert all(set(batch.ids.tolist()) == batch.read for epoch in policy.long.epochs for batch in epoch)
    else:
        found = CHECKS[invariant](policy)
        assert (NO if found else YES) == expected, found
