"""What every cache must do, as a plain model that follows a `Traffic` record by record and believes nothing."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from penstock.order.caches import Traffic


class PlainArena:
    """A memory that does what an engine does, one record at a time, and fails where a cache promised something else."""

    def __init__(self, sizes: npt.NDArray[np.integer], capacity_bytes: int) -> None:
        self._sizes = sizes
        self._capacity_bytes = capacity_bytes
        self.resident: set[int] = set()

    def restart(self) -> None:
        """Lose everything, as a new process does."""
        self.resident = set()

    def run(self, traffic: Traffic) -> None:
        """Carry out an epoch, batch after batch."""
        found_at_start = set(self.resident)
        self._check_bytes(traffic, 0)
        delivered: set[int] = set()
        for batch in range(traffic.num_batches):
            read = set(map(int, traffic.reads_of(batch)))
            assert not read & self.resident, "a record in memory was read again"
            slots = traffic.slots(batch)
            ids = [int(sample) for sample in traffic.ids[slots]]
            assert set(ids) <= self.resident | read, "a record is neither in memory nor read"
            assert not delivered & set(ids), "a sample came twice"
            assert [sample in found_at_start for sample in ids] == traffic.hits[slots].tolist()
            delivered |= set(ids)
            self._finish(traffic, batch, ids, read)
            self._check_bytes(traffic, batch + 1)

    def _finish(self, traffic: Traffic, batch: int, ids: list[int], read: set[int]) -> None:
        keeps = traffic.keeps[traffic.slots(batch)].tolist()
        dropped = set(map(int, traffic.drops_of(batch)))
        unused = read - set(ids) if traffic.ahead else set()
        if traffic.ahead:
            self.resident |= read
        assert dropped <= self.resident, "what is dropped was not there"
        self.resident -= dropped
        self.resident |= {sample for sample, kept in zip(ids, keeps, strict=True) if kept} | unused

    def _check_bytes(self, traffic: Traffic, batch: int) -> None:
        resident_bytes = sum(int(self._sizes[sample]) for sample in self.resident)
        open_bytes = 0 if traffic.open_bytes is None else traffic.open_bytes[batch]
        assert resident_bytes == traffic.resident_bytes[batch] + open_bytes, "the cache misjudges what is in memory"
        assert traffic.resident_bytes[batch] <= self._capacity_bytes, "the capacity is exceeded"
