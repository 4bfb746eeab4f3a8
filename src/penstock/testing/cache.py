"""Plain model of a cache that follows an `EpochCachePlan` record by record and checks every step."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from penstock.order.caches import EpochCachePlan


class PlainArena:
    """Memory that executes a cache plan one record at a time, and fails if the plan breaks a promise."""

    def __init__(self, sizes: npt.NDArray[np.integer], capacity_bytes: int) -> None:
        self._sizes = sizes
        self._capacity_bytes = capacity_bytes
        self.resident: set[int] = set()

    def restart(self) -> None:
        """Drop all records, as a new process does."""
        self.resident = set()

    def run(self, cache_plan: EpochCachePlan) -> None:
        """Execute an epoch, batch by batch."""
        found_at_start = set(self.resident)
        self._check_bytes(cache_plan, 0)
        delivered: set[int] = set()
        for batch in range(cache_plan.num_batches):
            read = set(map(int, cache_plan.reads_of(batch)))
            assert not read & self.resident, "a record in memory was read again"
            slots = cache_plan.slots(batch)
            ids = [int(sample) for sample in cache_plan.ids[slots]]
            assert set(ids) <= self.resident | read, "a record is neither in memory nor read"
            assert not delivered & set(ids), "a sample came twice"
            assert [sample in found_at_start for sample in ids] == cache_plan.hits[slots].tolist()
            delivered |= set(ids)
            self._finish(cache_plan, batch, ids, read)
            self._check_bytes(cache_plan, batch + 1)

    def _finish(self, cache_plan: EpochCachePlan, batch: int, ids: list[int], read: set[int]) -> None:
        keeps = cache_plan.keeps[cache_plan.slots(batch)].tolist()
        dropped = set(map(int, cache_plan.drops_of(batch)))
        unused = read - set(ids) if cache_plan.ahead else set()
        if cache_plan.ahead:
            self.resident |= read
        assert dropped <= self.resident, "what is dropped was not there"
        self.resident -= dropped
        self.resident |= {sample for sample, kept in zip(ids, keeps, strict=True) if kept} | unused

    def _check_bytes(self, cache_plan: EpochCachePlan, batch: int) -> None:
        resident_bytes = sum(int(self._sizes[sample]) for sample in self.resident)
        open_bytes = 0 if cache_plan.open_bytes is None else cache_plan.open_bytes[batch]
        assert resident_bytes == cache_plan.resident_bytes[batch] + open_bytes, "the cache misjudges what is in memory"
        assert cache_plan.resident_bytes[batch] <= self._capacity_bytes, "the capacity is exceeded"
