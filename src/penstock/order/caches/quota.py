"""First slots of every batch, format by format: conversion of a share of a batch to whole slots."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np
import numpy.typing as npt

from penstock.order.caches.contract import Flags
from penstock.order.permutation import Indices
from penstock.order.schedule import BatchRange

ONE = 1 << 30  # shares are whole parts of this, so that sums are exact


@dataclass(frozen=True)
class Slots:
    """Slots of an epoch, each with its number among those of its format in its batch."""

    ids: Indices
    starts: Indices
    numbers: npt.NDArray[np.int32]
    cells: npt.NDArray[np.int32]
    """Cell of each slot: batch * num_formats + format."""
    counts: Indices
    """Slots of each cell."""
    num_formats: int

    @classmethod
    def of(cls, batch_range: BatchRange, formats: npt.NDArray[np.integer], num_formats: int) -> Slots:
        """Make the slots of a range of batches; `formats` has the format of every sample of the dataset."""
        cells = np.repeat(np.arange(batch_range.num_batches, dtype=np.int32), np.diff(batch_range.starts))
        if num_formats > 1:
            cells = cells * np.int32(num_formats) + formats[batch_range.ids].astype(np.int32)
        counts = np.bincount(cells, minlength=batch_range.num_batches * num_formats)
        return cls(
            batch_range.ids, batch_range.starts, _numbers(cells, counts, num_formats), cells, counts, num_formats
        )

    def first(self, shares: Indices) -> Flags:
        """Return the first slots of each format in each batch, up to its share (in parts of `ONE`).

        The remainder of rounding is carried to the next format and batch. So with equal shares, batches differ by at
        most one slot, whatever their formats.
        """
        first: Flags = self.numbers < self.quota(shares)[self.cells]
        return first

    def quota(self, shares: Indices) -> Indices:
        """Return the number of slots of each cell that `first` takes."""
        owed = np.cumsum(self.counts * np.tile(shares, len(self.counts) // self.num_formats))
        return np.diff(owed // ONE, prepend=0)

    def ordinals(self, wanted: Flags) -> Indices:
        """Return, for each wanted slot, the number of wanted ones before it in its batch; -1 for the others."""
        before = np.cumsum(wanted) - 1
        at_start = np.concatenate([[0], before + 1])[self.starts[:-1]]
        return np.where(wanted, before - np.repeat(at_start, np.diff(self.starts)), -1)


def trim(
    now: Slots, keeps: Flags, preference: Indices, excess_bytes: Indices, sizes: npt.NDArray[np.integer]
) -> Indices | None:
    """Choose samples to give up, so that after batch b at least excess_bytes[b] are not kept; None if impossible.

    `preference` has, for every sample of the dataset, how willingly it is given up; below zero, never. A sample can be
    given up once it is used.
    """
    slots = np.flatnonzero(keeps & (preference[now.ids] >= 0))
    batches = np.searchsorted(now.starts, slots, side="right") - 1
    given_up: list[int] = []
    freed, position, heap = 0, 0, list[tuple[int, int]]()
    for batch in np.flatnonzero(np.diff(excess_bytes, prepend=0) > 0):
        while position < len(slots) and batches[position] <= batch:
            sample = int(now.ids[slots[position]])
            heappush(heap, (-int(preference[sample]), sample))
            position += 1
        while freed < excess_bytes[batch]:
            if not heap:
                return None
            sample = heappop(heap)[1]
            given_up.append(sample)
            freed += int(sizes[sample])
    return np.array(given_up, np.int64)


def _numbers(cells: npt.NDArray[np.int32], counts: Indices, num_formats: int) -> npt.NDArray[np.int32]:
    """Return the number of slots of the same cell before each slot."""
    begins = (np.cumsum(counts) - counts).astype(np.int32)
    in_turn = np.arange(len(cells), dtype=np.int32)
    if num_formats == 1:
        return in_turn - begins[cells]
    order = np.argsort(cells, kind="stable")
    numbers = np.empty_like(in_turn)
    numbers[order] = in_turn - begins[cells[order]]
    return numbers
