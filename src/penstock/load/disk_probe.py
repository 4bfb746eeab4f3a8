"""Detection of slow random reads on the dataset's disk, by timing a few reads of its shards.

Only `window="auto"` and `cache_format="auto"` ask for it, when a loader is made; training never does.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import count, islice
from pathlib import Path
from typing import Any

import numpy as np

from penstock.counter_rng import draw
from penstock.load.engine_table import EngineTable
from penstock.order import Window
from penstock.order.disk_rates import DiskRates, choose_window, seek_seconds
from penstock.storage import file_size, probe_reads

LARGE = 1 << 20
PAGE = 4096
NUM_LARGE, NUM_RECORDS = 4, 16  # in one call
ROUNDS = 2  # once this way around, once that: a second or two on a slow disk, nothing on a fast one
PHASE_SECONDS = 0.4  # a throttle of the kernel lets a tenth of a second's bytes through at once
PHASE_BYTES = 32 << 20
DEPTH = 16
LEAST_SEEKING_SECONDS = 1e-6
DEFAULT = "default"
"""Origin of a pattern that neither the user nor the dataset chose."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Measured rates, and the window that they suggest."""

    disk: DiskRates
    window: Window | None

    def as_stats(self) -> dict[str, Any]:
        """Convert the measurement for `Loader.stats()`."""
        return {"pattern": "random" if self.window is None else "runs", "from": "measured", **asdict(self.disk)}


def measure_pattern(samples: EngineTable, phase_seconds: float = PHASE_SECONDS) -> Measured | None:
    """Choose how to read these samples from their disk; None for separate files and tiny shards."""
    disk = measure_disk(samples, phase_seconds)
    if disk is None:
        return None
    return Measured(disk, choose_window(disk, float(samples.sizes.mean()), samples.num_samples))


def measure_disk(samples: EngineTable, phase_seconds: float = PHASE_SECONDS) -> DiskRates | None:
    """Measure the disk of the samples by their largest shard; None for separate files, stores and tiny shards."""
    assert samples.index is not None
    if samples.records is None or samples.index.store is not None:
        return None
    largest = Path(max(map(os.fsdecode, samples.index.files), key=file_size))
    return measure_shard(largest, float(samples.sizes.mean()), phase_seconds)


def measure_shard(shard: Path, record_bytes: float, phase_seconds: float = PHASE_SECONDS) -> DiskRates | None:
    """Measure the disk of a file for records of about this size; None if the file is too small."""
    size = file_size(shard)
    if size < 2 * LARGE:
        return None
    request = min(LARGE, max(1, round(record_bytes / PAGE)) * PAGE)
    phases = [_Phase(shard, LARGE, _in_a_row(size // LARGE)), _Phase(shard, request, _scattered(size // request))]
    for number in range(ROUNDS):
        for phase in phases if number % 2 == 0 else reversed(phases):
            phase.run(phase_seconds)
    in_a_row, scattered = phases
    bytes_per_second = LARGE * in_a_row.num_reads / in_a_row.seconds
    seeking = seek_seconds(scattered.seconds / scattered.num_reads, request / bytes_per_second)
    return DiskRates(bytes_per_second, 1 / max(seeking, LEAST_SEEKING_SECONDS))


class _Phase:
    """Reads of one kind, for long enough that the initial burst of a throttle does not matter."""

    def __init__(self, shard: Path, request_bytes: int, places: Iterator[int]) -> None:
        self._shard = shard
        self._request_bytes = request_bytes
        self._places = places
        self._chunk = NUM_LARGE if request_bytes == LARGE else NUM_RECORDS
        self.num_reads = 0
        self.seconds = 0.0

    def run(self, seconds: float) -> None:
        """Read for some seconds, or until an amount that only a fast disk reads in less time."""
        until, enough = self.seconds + seconds, self.num_reads + PHASE_BYTES // self._request_bytes
        while self.seconds < until and self.num_reads < enough:
            offsets = [place * self._request_bytes for place in islice(self._places, self._chunk)]
            found = probe_reads(self._shard, offsets, self._request_bytes, depth=DEPTH, direct=True)
            self.seconds += found["wall_seconds"]
            self.num_reads += len(offsets)


def _in_a_row(num_places: int) -> Iterator[int]:
    return (number % num_places for number in count())


def _scattered(num_places: int) -> Iterator[int]:
    """Yield random places, never the same in turn, because a disk has its own cache."""
    return (int(place) for chunk in count() for place in draw(0, chunk, np.arange(NUM_RECORDS)) % np.uint64(num_places))
