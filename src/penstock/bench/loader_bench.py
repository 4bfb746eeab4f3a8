"""Loader benchmark: the speed of a dataset or folder on this machine, epoch by epoch, and its bottleneck."""

from __future__ import annotations

import os
import resource
import time
from dataclasses import asdict, dataclass
from typing import Any

from penstock.bench.spread import Spread
from penstock.documents import Json
from penstock.load import Loader, LoaderPlan, plan_loader
from penstock.machine import this_machine
from penstock.transforms.named import named
from penstock.types import OnProgress, no_progress

NO_WINDOW = "none"


@dataclass(frozen=True, slots=True)
class LoaderBenchOptions:
    """Options of a loader benchmark. `threads` 0 means all usable cores; None leaves the choice to the loader."""

    transform: str = "train224"
    batch_size: int = 256
    threads: int = 0
    memory: str | int | None = None
    cache: str | None = None
    decode: str = "exact"
    epochs: int = 3
    max_seconds: float | None = None
    """Time limit of an epoch; images loaded by then are counted. None: no limit."""
    window: str | int | None = None
    """Window as a loader takes it; "none" turns it off, whatever the dataset records."""
    cache_bytes: int = 0
    """Size of the loader's own cache, in the form of `cache_format`; 0 leaves it to `memory`."""
    cache_format: str = "encoded"
    """Form of samples in the cache."""
    on_error: str = "raise"
    """Policy for samples that cannot be decoded, as a loader takes it."""

    def __post_init__(self) -> None:
        named(self.transform)


@dataclass(frozen=True, slots=True)
class StageSeconds:
    """Time of a stage in an epoch, summed over its threads."""

    busy: float
    waited: float


@dataclass(frozen=True, slots=True)
class EpochResult:
    """Result of one epoch."""

    num_images: int
    seconds: float
    cpu_seconds: float
    """CPU seconds of the whole process."""
    bytes_read: int
    stages: dict[str, StageSeconds]
    """`storage`, `decode` and `compute`, which only takes batches and drops them here."""
    hits_per_batch: Spread
    """Samples of a batch that came from the loader's own memory."""

    @property
    def images_per_second(self) -> float:
        """Rate by wall time."""
        return self.num_images / self.seconds

    @property
    def cpu_seconds_per_image(self) -> float:
        """CPU time per image, whatever the number of cores."""
        return self.cpu_seconds / self.num_images


@dataclass(frozen=True, slots=True)
class LoaderBench:
    """Result of a loader benchmark."""

    path: str
    options: LoaderBenchOptions
    num_samples: int
    first_batch_seconds: float
    """Seconds until the first batch, including the construction of the loader."""
    epochs: tuple[EpochResult, ...]
    stats: dict[str, Any]
    """`Loader.stats()` at the end."""

    @property
    def images_per_second(self) -> Spread:
        """Rate over the epochs, without the first, which warms up, if there are others."""
        counted = self.epochs[1:] or self.epochs
        return Spread.of(epoch.images_per_second for epoch in counted)

    def as_dict(self) -> dict[str, Json]:
        """Return the result as JSON holds it, for `--json` and for worker processes."""
        epochs: list[Json] = [
            {
                **asdict(epoch),
                "images_per_second": epoch.images_per_second,
                "cpu_seconds_per_image": epoch.cpu_seconds_per_image,
            }
            for epoch in self.epochs
        ]
        return {
            "path": self.path,
            "options": asdict(self.options),
            "num_samples": self.num_samples,
            "first_batch_seconds": self.first_batch_seconds,
            "images_per_second": asdict(self.images_per_second),
            "bottleneck": self.stats["bottleneck"],
            "peak_memory_bytes": self.stats["peak_memory_bytes"],
            "epochs": epochs,
            "stats": dict(self.stats),
            "machine": asdict(this_machine()),
        }


def bench_loader(
    path: str | os.PathLike[str], options: LoaderBenchOptions | None = None, *, on_progress: OnProgress = no_progress
) -> LoaderBench:
    """Load some epochs and drop the batches."""
    options = options or LoaderBenchOptions()
    began = time.perf_counter()
    with Loader(plan_for(path, options, on_progress)) as loader:
        next(iter(loader))
        first_batch_seconds = time.perf_counter() - began
        loader.set_epoch(0)
        epochs = tuple(_run_epoch(loader, number, options, on_progress) for number in range(options.epochs))
        num_samples = sum(epoch.num_images for epoch in epochs) // options.epochs
        return LoaderBench(str(path), options, num_samples, first_batch_seconds, epochs, loader.stats())


def plan_for(
    path: str | os.PathLike[str], options: LoaderBenchOptions, on_progress: OnProgress = no_progress
) -> LoaderPlan:
    """Plan the loader to be measured; with `cache_bytes`, its memory is what a cache of that size takes."""
    plan = plan_loader(
        path,
        batch_size=options.batch_size,
        transform=named(options.transform),
        threads=options.threads,
        memory=options.memory,
        cache=options.cache,
        cache_format=options.cache_format,
        window=False if options.window == NO_WINDOW else options.window,
        decode=options.decode,
        on_error=options.on_error,
        on_progress=on_progress,
        overlap_epochs=False,  # what is measured as an epoch is all of it, and nothing else
    )
    if options.cache_bytes and plan.policy.keeps_samples:
        return plan.with_cache_bytes(options.cache_bytes)
    return plan


def _run_epoch(loader: Loader, number: int, options: LoaderBenchOptions, on_progress: OnProgress) -> EpochResult:
    before = loader.stats()
    cpu_began, began = _cpu_seconds(), time.perf_counter()
    num_images = 0
    for index, batch in enumerate(loader):
        num_images += len(batch["id"])
        on_progress(f"epoch {number + 1} of {options.epochs}", index + 1, len(loader))
        if options.max_seconds is not None and time.perf_counter() - began > options.max_seconds:
            break
    seconds, cpu_seconds = time.perf_counter() - began, _cpu_seconds() - cpu_began
    after = loader.stats()
    stages = {
        name: StageSeconds(
            stage["busy_seconds"] - before["stages"][name]["busy_seconds"],
            stage["wait_seconds"] - before["stages"][name]["wait_seconds"],
        )
        for name, stage in after["stages"].items()
    }
    bytes_read = after["bytes_read"] - before["bytes_read"]
    hits = after["hits_per_batch"]
    spread = Spread(hits["mean"], hits["minimum"], hits["maximum"])
    return EpochResult(num_images, seconds, cpu_seconds, bytes_read, stages, spread)


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
