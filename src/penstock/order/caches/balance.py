"""Choice of the samples of each batch to keep, so that memory is as full in the middle of an epoch as at its ends.

The number of kept samples per batch is fixed (`quota.py`), but which ones is free. With a blind choice, the samples
gathered for the next epoch run ahead of those given up, or behind, by about the square root of their number. With
5,000 samples, up to 4 % of memory would stay empty. So each batch takes the samples that come where least was taken so
far. It has dozens to choose from, and the memory in use stays level within a few samples.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from penstock.order.caches.contract import Flags
from penstock.order.caches.quota import Slots
from penstock.order.permutation import Indices

MOST_PARTS = 128
SAMPLES_OF_A_PART = 16  # at least: fewer say more of one sample than of the epoch
MOST_CELLS = 20_000  # beyond that blind choice is off by less than a thousandth, and this would take a second
TOTAL_WEIGHT = 0.5  # of being off in all, against being off in one part of the epoch; 1/128 was twice as far off


@dataclass(frozen=True)
class Epochs:
    """Epoch with its hits, and the one after it."""

    now: Slots
    hits: Flags
    later: Slots


def choose(epochs: Epochs, quota: Indices, sizes: npt.NDArray[np.int64]) -> Flags:
    """Choose the slots of the later epoch to keep: `quota` of each cell, of samples that this rank has now.

    Takes fewer if there are fewer. `sizes` are those of all samples of the dataset.
    """
    now, later = epochs.now, epochs.later
    parts = _parts_of_samples(now, len(sizes))
    in_cells = np.argsort(later.cells, kind="stable")
    in_cells = in_cells[parts[later.ids[in_cells]] >= 0]
    counts = np.bincount(later.cells[in_cells], minlength=len(quota))
    is_open = (quota > 0) & (quota < counts)
    chosen = np.zeros(len(later.ids), bool)
    if np.count_nonzero(is_open) > MOST_CELLS:
        chosen[in_cells] = _numbers_in(counts) < np.repeat(quota, counts)
        return chosen
    # Where there is no choice, all are taken; the others make up for that.
    chosen[in_cells] = np.repeat((quota >= counts) & (quota > 0), counts)
    slot_bytes, slot_parts = sizes[later.ids], parts[later.ids]
    level = _Level.of(epochs, parts, sizes, int(_expected_bytes(quota, counts, slot_bytes[in_cells])))
    level.take(slot_parts[chosen], slot_bytes[chosen])
    ends = np.cumsum(counts)
    open_cells = np.flatnonzero(is_open)
    for number, cell in enumerate(open_cells.tolist()):
        slots = in_cells[ends[cell] - counts[cell] : ends[cell]]
        best = level.best(slot_parts[slots], slot_bytes[slots], (number + 1) / len(open_cells))[: quota[cell]]
        chosen[slots[best]] = True
        level.take(slot_parts[slots[best]], slot_bytes[slots[best]])
    return chosen


class _Level:
    """Bytes taken in each part of the epoch so far, compared with those due."""

    def __init__(self, wanted_bytes: npt.NDArray[np.float64]) -> None:
        self._wanted = wanted_bytes
        self._total = float(wanted_bytes.sum())
        self._taken = np.zeros(len(wanted_bytes))
        self._taken_total = 0.0

    @classmethod
    def of(cls, epochs: Epochs, parts: npt.NDArray[np.int32], sizes: npt.NDArray[np.int64], total_bytes: int) -> _Level:
        """Set the bytes due in each part to those freed in it; an epoch that frees nothing fills evenly."""
        ids = epochs.now.ids
        gives = epochs.hits if epochs.hits.any() else np.ones(len(ids), bool)
        freed = np.bincount(parts[ids[gives]], sizes[ids[gives]], minlength=int(parts.max(initial=0)) + 1)
        return cls(np.asarray(freed * (total_bytes / max(float(freed.sum()), 1.0)), np.float64))

    def best(self, parts: npt.NDArray[np.int32], sizes: npt.NDArray[np.int64], progress: float) -> Indices:
        """Order slots, the most wanted first, when `progress` of all should be taken."""
        excess = self._taken - self._wanted * progress
        total = TOTAL_WEIGHT * (self._taken_total - self._total * progress)
        return np.argsort(sizes * (excess[parts] + total), kind="stable")

    def take(self, parts: npt.NDArray[np.int32], sizes: npt.NDArray[np.int64]) -> None:
        np.add.at(self._taken, parts, sizes)
        self._taken_total += float(sizes.sum())


def _parts_of_samples(now: Slots, num_samples: int) -> npt.NDArray[np.int32]:
    """Return the part of the epoch of each sample of the dataset; -1 if it does not come to this rank."""
    count = len(now.ids)
    num_parts = max(min(MOST_PARTS, count // SAMPLES_OF_A_PART), 1)
    parts = np.full(num_samples, -1, np.int32)
    parts[now.ids] = np.arange(count) * num_parts // max(count, 1)
    return parts


def _expected_bytes(quota: Indices, counts: Indices, sizes: npt.NDArray[np.int64]) -> float:
    """Return the mean bytes of a blind choice; `sizes` are in the order of the cells."""
    totals = np.concatenate([[0], np.cumsum(sizes)])[np.concatenate([[0], np.cumsum(counts)])]
    return float((np.minimum(quota, counts) * np.diff(totals) / np.maximum(counts, 1)).sum())


def _numbers_in(counts: Indices) -> Indices:
    """Return 0, 1, … for each cell."""
    return np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
