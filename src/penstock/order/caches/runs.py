"""Caches over windows: whole runs of neighbouring records are read, kept and dropped, instead of single records."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from penstock.order.caches.contract import Cache, EpochCachePlan, Flags
from penstock.order.caches.quota import ONE, Slots
from penstock.order.caches.uncached import NoCache
from penstock.order.permutation import Indices
from penstock.order.rank_schedule import RankSchedule

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True)
class RunSlots(Slots):
    """Slots whose share is taken by runs: each as a whole, evenly in the order in which they begin."""

    runs: Indices
    """The run of each slot, numbered as they begin."""

    @classmethod
    def by_run(cls, slots: Slots, run_of_sample: Indices) -> RunSlots:
        """Make the same slots by run; `run_of_sample` has the run of every sample of the dataset."""
        _, first, inverse = np.unique(run_of_sample[slots.ids], return_index=True, return_inverse=True)
        turn = np.empty(len(first), np.int64)
        turn[np.argsort(first)] = np.arange(len(first))
        return cls(**vars(slots), runs=turn[inverse])

    def first(self, shares: Indices) -> Flags:
        """Return the slots of evenly spaced runs, for each format separately."""
        num_runs = int(self.runs.max(initial=-1)) + 1
        formats = np.zeros(num_runs, np.int64)
        formats[self.runs] = self.cells % self.num_formats
        taken = np.zeros(num_runs, bool)
        for number, share in enumerate(shares.tolist()):
            of_format = np.flatnonzero(formats == number)
            owed = np.arange(1, len(of_format) + 1) * share // ONE
            taken[of_format] = np.diff(owed, prepend=0) > 0
        first: Flags = taken[self.runs]
        return first


class WindowedCache(Cache):
    """Cache whose misses are read run by run, when the first sample of a run is due."""

    def __init__(self, cache: Cache, run_of_sample: Indices, sizes: npt.NDArray[np.integer]) -> None:
        self._cache = cache
        self._run_of_sample = run_of_sample
        self._sizes = np.asarray(sizes, np.int64)
        self._completes = False

    @classmethod
    def create(cls, rank_schedule: RankSchedule, sizes: npt.NDArray[np.integer], capacity_bytes: int) -> WindowedCache:
        """Open a window's reads without a cache inside."""
        return cls(NoCache(rank_schedule), rank_schedule.order.run_of_sample(len(sizes)), sizes)

    @property
    def resident(self) -> Flags | None:
        """Samples in memory of the inner cache."""
        return self._cache.resident

    def copy(self) -> Self:
        """Return a cache in the same state, with an inner cache of its own."""
        other = super().copy()
        other._cache = self._cache.copy()
        return other

    def carry(self, resident: Flags) -> None:
        """Take over samples, of which memory may hold less than the next epoch wants; the rest is read ahead."""
        self._cache.carry(resident)
        self._completes = True

    def epoch(self, epoch: int, start: int = 0) -> EpochCachePlan:
        """Plan the inner cache's epoch, with its reads gathered into runs."""
        cache_plan = self._cache.epoch(epoch, start)
        misses = np.arange(len(cache_plan.ids)) if self._completes else np.flatnonzero(~cache_plan.hits)
        self._completes = False
        batches = np.searchsorted(cache_plan.starts, misses, side="right") - 1
        _, first, inverse = np.unique(
            self._run_of_sample[cache_plan.ids[misses]], return_index=True, return_inverse=True
        )
        begins = batches[first][inverse]

        in_turn = np.lexsort((cache_plan.ids[misses], first[inverse], begins))
        starts = np.concatenate([[0], np.cumsum(np.bincount(begins, minlength=cache_plan.num_batches))])
        sizes = self._sizes[cache_plan.ids[misses]]
        opened, used = (_per_batch(some, sizes, cache_plan.num_batches) for some in (begins, batches))
        open_bytes = np.concatenate([[0], np.cumsum(opened - used)])
        return replace(cache_plan, ahead=(cache_plan.ids[misses][in_turn], starts), open_bytes=open_bytes)


def _per_batch(batches: Indices, sizes: Indices, num_batches: int) -> Indices:
    total = np.zeros(num_batches, np.int64)
    np.add.at(total, batches, sizes)
    return total
