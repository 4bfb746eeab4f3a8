"""`window="auto"`: a few reads of the dataset's own shards say whether its disk hates seeking."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from penstock.chance import draw
from penstock.load.samples import Samples
from penstock.order import Window
from penstock.order.pattern import DiskRates, choose_window
from penstock.records import Dataset
from penstock.storage import probe_reads

LARGE = 1 << 20
SMALL = 4096
NUM_LARGE, NUM_SMALL = 16, 32  # a third of a second on a disk that seeks, nothing on one that does not
DEPTH = 16


@dataclass(frozen=True, slots=True)
class Measured:
    """What was found out, and what follows."""

    disk: DiskRates
    window: Window | None

    def as_stats(self) -> dict[str, Any]:
        """For `Loader.stats()`."""
        return {"pattern": "random" if self.window is None else "runs", **asdict(self.disk)}


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
    return measure_shard(max(shards, key=lambda path: path.stat().st_size))


def measure_shard(shard: Path) -> DiskRates | None:
    """Rates of the disk that a file is on; None if the file is too small to tell."""
    size = shard.stat().st_size
    if size < 2 * LARGE:
        return None
    large = list(range(0, size - LARGE + 1, LARGE))[:NUM_LARGE]
    pages = draw(0, 0, np.arange(NUM_SMALL)) % np.uint64(size // SMALL)
    in_a_row = probe_reads(shard, large, LARGE, depth=DEPTH, direct=True)
    scattered = probe_reads(shard, [int(page) * SMALL for page in pages], SMALL, depth=DEPTH, direct=True)
    bytes_per_second = in_a_row["num_bytes"] / in_a_row["wall_seconds"]
    read_seconds = scattered["wall_seconds"] / NUM_SMALL
    # What the bytes of a request take is not seeking.
    seeking_seconds = max(read_seconds - SMALL / bytes_per_second, read_seconds / 100)
    return DiskRates(bytes_per_second, 1 / seeking_seconds)
