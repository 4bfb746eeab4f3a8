"""MinIO's cache (CoorDL, VLDB 2021): filled once with the first samples, never evicted."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from penstock.order.caches.contract import Cache, EpochCachePlan, Flags, occupancy
from penstock.order.permutation import Indices
from penstock.order.rank_schedule import RankSchedule


class PinnedCache(Cache):
    """Cache that keeps the first records until one does not fit. Hits are constant per epoch, but vary per batch.

    It forgets nothing, in whatever order epochs come.
    """

    keeps_samples = True
    is_permanent = True

    def __init__(self, rank_schedule: RankSchedule, sizes: npt.NDArray[np.integer], capacity_bytes: int) -> None:
        self._rank_schedule = rank_schedule
        self._sizes = sizes
        self._pinned = np.zeros(len(sizes), bool)
        self._free_bytes = capacity_bytes
        self._resident_bytes = 0
        self._full = False

    @classmethod
    def create(cls, rank_schedule: RankSchedule, sizes: npt.NDArray[np.integer], capacity_bytes: int) -> PinnedCache:
        """Open the cache with an empty memory."""
        return cls(rank_schedule, sizes, capacity_bytes)

    @classmethod
    def num_passing(cls, num_under_way: int) -> int:
        """Return 0, because a pinned sample replaces no other."""
        return 0

    @property
    def resident(self) -> Flags:
        """Samples that are pinned."""
        return self._pinned

    def carry(self, resident: Flags) -> None:
        """Pin the samples that fit."""
        ids = np.flatnonzero(resident)
        needed = np.cumsum(self._sizes[ids], dtype=np.int64)
        num = int(np.searchsorted(needed, self._free_bytes, side="right"))
        self._pinned[ids[:num]] = True
        self._resident_bytes = int(needed[num - 1]) if num else 0
        self._free_bytes -= self._resident_bytes

    def epoch(self, epoch: int, start: int = 0) -> EpochCachePlan:
        """Plan an epoch: hit pinned samples, and pin more while there is room."""
        batch_range = self._rank_schedule.schedule(epoch, start).batch_range()
        hits = self._pinned[batch_range.ids]
        pins = np.zeros(len(hits), bool)
        if not self._full:
            pins[self._fitting(np.flatnonzero(~hits), batch_range.ids)] = True
        gains = np.where(pins, self._sizes[batch_range.ids], 0)
        resident_bytes = occupancy(self._resident_bytes, batch_range.starts, gains)
        self._pinned = self._pinned.copy()
        self._pinned[batch_range.ids[pins]] = True
        self._free_bytes -= int(gains.sum())
        self._resident_bytes += int(gains.sum())
        return EpochCachePlan(
            epoch,
            batch_range.ids,
            batch_range.starts,
            hits,
            keeps=hits | pins,
            resident_bytes=resident_bytes,
            refills=np.zeros(len(hits), bool),
        )

    def _fitting(self, misses: Indices, ids: Indices) -> Indices:
        """Return the first missed slots that fit."""
        needed = np.cumsum(self._sizes[ids[misses]], dtype=np.int64)
        num = int(np.searchsorted(needed, self._free_bytes, side="right"))
        self._full = num < len(misses)
        return misses[:num]
