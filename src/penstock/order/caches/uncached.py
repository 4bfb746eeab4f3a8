"""Two caches that keep nothing themselves."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from penstock.order.caches.contract import Cache, EpochCachePlan
from penstock.order.rank_schedule import RankSchedule


class NoCache(Cache):
    """Policy in which every batch reads all its records, past the page cache."""

    def __init__(self, rank_schedule: RankSchedule) -> None:
        self._rank_schedule = rank_schedule

    @classmethod
    def create(cls, rank_schedule: RankSchedule, sizes: npt.NDArray[np.integer], capacity_bytes: int) -> NoCache:
        """Open the cache with an empty memory."""
        return cls(rank_schedule)

    def epoch(self, epoch: int, start: int = 0) -> EpochCachePlan:
        """Plan an epoch that reads everything."""
        batch_range = self._rank_schedule.schedule(epoch, start).batch_range()
        nothing = np.zeros(len(batch_range.ids), bool)
        resident_bytes = np.zeros(len(batch_range.starts), np.int64)
        return EpochCachePlan(
            epoch, batch_range.ids, batch_range.starts, nothing, nothing, resident_bytes, refills=nothing
        )


class SystemCache(NoCache):
    """Policy that reads everything through the page cache; best if the whole dataset fits in it."""

    buffered = True
