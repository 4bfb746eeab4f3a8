"""Whether a dataset's disk hates seeking: a few reads of its own shards tell.

With `window="auto"` they decide. Otherwise they are made at most once, when a loader has waited for its disk for a
while, and only advise: an order that depended on the machine would not be the same on all of them.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from penstock.chance import draw
from penstock.load.samples import Samples
from penstock.order import Window
from penstock.order.pattern import DiskRates, choose_window, seek_seconds
from penstock.records import Dataset
from penstock.storage import probe_reads

LARGE = 1 << 20
PAGE = 4096
NUM_LARGE, NUM_RECORDS = 16, 32  # a third of a second on a disk that seeks, nothing on one that does not
DEPTH = 16
LEAST_SEEKING_SECONDS = 1e-6
PATIENCE_SECONDS = 5.0  # of waiting for reads, before it is worth a look
LOG = logging.getLogger("penstock")
DEFAULT = "default"
"""Nobody asked for a pattern, and the dataset records none."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What was found out, and what follows."""

    disk: DiskRates
    window: Window | None

    def as_stats(self) -> dict[str, Any]:
        """For `Loader.stats()`."""
        return {"pattern": "random" if self.window is None else "runs", "from": "measured", **asdict(self.disk)}


def measure_pattern(samples: Samples) -> Measured | None:
    """How to read these samples from the disk they are on; None for files, which are read by name, and tiny shards."""
    disk = measure_disk(samples)
    if disk is None:
        return None
    return Measured(disk, choose_window(disk, float(samples.sizes.mean()), len(samples)))


def measure_disk(samples: Samples) -> DiskRates | None:
    """Rates of the disk that the samples are on, by their largest shard; None for files, and for tiny shards."""
    if samples.records is None:
        return None
    shards = [Path(samples.place, name) for name in Dataset(samples.place).locations("image").shard_files]
    return measure_shard(max(shards, key=lambda path: path.stat().st_size), float(samples.sizes.mean()))


def measure_shard(shard: Path, record_bytes: float) -> DiskRates | None:
    """Rates of the disk that a file is on, for records of about this size; None if the file is too small to tell."""
    size = shard.stat().st_size
    if size < 2 * LARGE:
        return None
    large = list(range(0, size - LARGE + 1, LARGE))[:NUM_LARGE]
    request = min(LARGE, max(1, round(record_bytes / PAGE)) * PAGE)
    places = draw(0, 0, np.arange(NUM_RECORDS)) % np.uint64(size // request)
    in_a_row = probe_reads(shard, large, LARGE, depth=DEPTH, direct=True)
    scattered = probe_reads(shard, [int(place) * request for place in places], request, depth=DEPTH, direct=True)
    bytes_per_second = in_a_row["num_bytes"] / in_a_row["wall_seconds"]
    seeking = seek_seconds(scattered["wall_seconds"] / NUM_RECORDS, request / bytes_per_second)
    return DiskRates(bytes_per_second, 1 / max(seeking, LEAST_SEEKING_SECONDS))


class SeekingWatch:
    """Tells once a process and disk that a window would pay, if a loader without one waits for such a disk."""

    _told: ClassVar[set[int]] = set()

    def __init__(self, samples: Samples, reading: dict[str, Any]) -> None:
        self._samples = samples
        self._reading = reading
        self._is_over = reading["from"] != DEFAULT or samples.records is None

    def is_time(self, wait_seconds: float, run_seconds: float) -> bool:
        """Whether a consumer that has waited so long should have the disk looked at."""
        return not self._is_over and wait_seconds >= max(PATIENCE_SECONDS, run_seconds / 2)

    def look(self, counters: Mapping[str, Any]) -> None:
        """Measure, if reads are what is waited for. Nothing may be under way: other reads look like seeking."""
        self._is_over = True
        measured = None
        if counters["decode_wait_seconds"] > counters["decode_busy_seconds"]:
            measured = measure_pattern(self._samples)
        if measured is not None:
            self._reading.update(asdict(measured.disk))
            if measured.window is not None:
                self._advise(measured.window)

    def _advise(self, window: Window) -> None:
        self._reading["advice"] = (
            f"this disk seeks: window={window.run} would read runs of {window.run} records at once"
        )
        disk = Path(self._samples.place).stat().st_dev
        if disk in self._told:
            return
        self._told.add(disk)
        LOG.warning(
            "Loader: the disk of %s seeks, and records are read one by one. `window=%d` reads runs of %d at once; it "
            "is part of the order, so write it for every rank. `penstock profile`, `plan` and `build --plan` on this "
            "disk record it in the dataset. `window=False` keeps the full permutation, and says no more.",
            self._samples.place,
            window.run,
            window.run,
        )
