"""Real runs of loaders over many tiny samples, and what they must read, worked out the plain way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import penstock
from penstock import Loader, LoaderPlan, plan_loader
from penstock.build import build
from penstock.load.loader_options import OWN_CACHES
from penstock.order import RankSchedule
from penstock.order.caches import Cache, EpochCachePlan, open_cache
from penstock.transforms import RandomResizedCrop, Transform

PAGE = 4096
BATCH = 32
CHAIN = [RandomResizedCrop(8)]
MIXES = {1: "raw=1", 2: "raw=0.5,png=0.5", 3: "raw=0.4,png=0.3,weir:fast=0.3"}


def make_dataset(folder: Path, count: int, num_formats: int) -> Path:
    """Small pictures that compress to different sizes."""
    source = folder / "images"
    source.mkdir(parents=True)
    for number in range(count):
        generator = np.random.default_rng(number)
        pixels = generator.integers(0, 1 + number % 200, (30, 32, 3), np.uint8)
        (source / f"{number:05d}.png").write_bytes(penstock.encode(pixels, "png"))
    build(source, folder / "data.pen", mix=MIXES[num_formats])
    return folder / "data.pen"


@dataclass
class Epoch:
    """What one epoch of one loader counted."""

    ids: list[npt.NDArray[np.int64]]
    hits: list[int]
    bytes_read: int
    images: list[bytes]


def run_epochs(loader: Loader, count: int) -> list[Epoch]:
    """Load some epochs; hits are of each batch."""
    epochs = []
    for _ in range(count):
        before = loader.stats()["bytes_read"]
        ids, images = [], []
        for batch in loader:
            ids.append(batch["id"])
            images.append(batch["image"].tobytes())
        epochs.append(Epoch(ids, list(loader.runner.progress.hits), loader.stats()["bytes_read"] - before, images))
    return epochs


def memory_for(
    path: Path,
    part: float,
    world_size: int = 1,
    cache: str = "rolling",
    batch_size: int = BATCH,
    chain: Sequence[Transform] = CHAIN,
) -> int:
    """What a loader needs so that its cache holds just a part of its rank's samples; 0 if it keeps none."""
    if cache not in OWN_CACHES:
        return 0
    options: dict[str, Any] = {"batch_size": batch_size, "transform": chain, "threads": 2, "world_size": world_size}
    return memory_of(plan_loader(path, cache=cache, memory=0, **options), part)


def memory_of(plan: LoaderPlan, part: float) -> int:
    """The same of a plan, in the form in which it keeps samples."""
    sizes = plan.samples.sizes if plan.cache_layout.sizes is None else plan.cache_layout.sizes
    return plan.memory_for(int(sizes.sum() * part / plan.options.ordering.world_size))


def open_like(loader: Loader) -> Cache:
    """The pure cache that a loader should follow."""
    rank_schedule = RankSchedule(loader.plan.order, loader.batch_size, loader.rank, loader.world_size)
    return open_cache(loader.plan.resources.cache, rank_schedule, loader.dataset.sizes, loader.plan.memory.cache_bytes)


def aligned_bytes(path: Path, cache_plan: EpochCachePlan, most_bytes: int) -> int:
    """Bytes of the extents that the misses of an epoch take: whole pages, those that touch read at once.

    No read is larger than `most_bytes`; where it is cut, a page that two records share is read twice.
    """
    place = penstock.Dataset(path).locations("image")
    file_bytes = [Path(path, name).stat().st_size for name in place.shard_files]
    total = 0
    for batch in range(cache_plan.num_batches):
        reads = cache_plan.reads_of(batch)
        last = (-1, 0, 0)
        for shard, offset, length in sorted(
            zip(place.file[reads].tolist(), place.offset[reads].tolist(), place.length[reads].tolist(), strict=True)
        ):
            begin, end = offset // PAGE * PAGE, -(-(offset + length) // PAGE) * PAGE
            end = min(end, file_bytes[shard])
            joins = last[0] == shard and begin <= last[2] and max(end, last[2]) - last[1] <= most_bytes
            if joins:
                total += max(end - last[2], 0)
                last = (shard, last[1], max(end, last[2]))
            else:
                total += end - begin
                last = (shard, begin, end)
    return total


def most_read_bytes(loader: Loader) -> int:
    """The largest read of a loader: 4 MiB, or a quarter of its memory for reads."""
    return min(4 << 20, loader.plan.memory.read_bytes // 4)
