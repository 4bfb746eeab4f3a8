"""Cost of an image in the loader itself: runs the sampled images through the loader's own pipeline.

A decode that is called from Python has costs that the loader does not have (new memory, a call), and lacks costs that
it does have (reads, threads that share caches and memory, queues, batches). So the total of the sample is measured
here. Single calls only give the cost of one image relative to another.
"""

from __future__ import annotations

import os
import resource
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from penstock import _native
from penstock.codecs import parse_format
from penstock.index.file_names import as_folder, pack_names
from penstock.load.delivery import Delivery, EpochPart, Progress
from penstock.load.engine_table import EngineTable
from penstock.load.failures import FailureLog
from penstock.load.loader_options import ErrorOptions
from penstock.order import Batches, Order
from penstock.profile.profile_values import Measurement
from penstock.storage import write_file
from penstock.transforms import Chain
from penstock.types import OnProgress, no_progress

BATCH_SIZE = 32
DEPTH = 4
UNDER_WAY = 2
"""Batches: with as many the cores have enough to do."""
LEAST_BATCHES = 6
REPEATS = 5
EPOCH = 2048
"""Samples of an epoch, about: the images under several names, because each is a sample of its own to a loader."""
GAP_BYTES = 8192
"""Gap between images of the probe file, so that neighbours are not read together."""
MIB = 2**20


@dataclass(frozen=True, slots=True)
class PipelineCosts:
    """Costs of images in the pipeline."""

    formats: Mapping[str, Measurement]
    """CPU seconds of an image by format text, all threads together."""
    busy_cores: Measurement | None
    """Cores that the pipeline kept busy between its batches, with the format that kept most; None if none was run."""


@dataclass(frozen=True, slots=True)
class _Ran:
    cpu_seconds: float
    """CPU seconds of an image."""
    busy_cores: float
    """Busy cores while batches were in flight before and behind; 0 if there were too few."""


class _Running:
    """Loader without a cache: it orders, reads past the page cache, decodes, transforms and delivers."""

    def __init__(self, paths: Sequence[Path], codec: str, images: Sequence[bytes], chain: Chain, threads: int) -> None:
        lengths = np.array([len(data) for data in images], np.uint64)
        names, ends = pack_names([os.fsencode(path.name) for path in paths])
        copies, count = len(paths), len(paths) * len(images)
        own = [_stored_codec(codec, data) for data in images]
        codecs = list(dict.fromkeys(own))
        table = _native.SampleTable(as_folder(paths[0].parent), names, ends, count, codecs)
        table.add_field(
            False,
            np.repeat(np.arange(copies, dtype=np.uint32), len(images)),
            np.tile(np.cumsum(lengths + np.uint64(GAP_BYTES)) - lengths - np.uint64(GAP_BYTES), copies),
            np.tile(lengths, copies),
            np.tile(np.array([_native.crc32c(data) for data in images], np.uint32), copies),
            np.tile(np.array([codecs.index(name) for name in own], np.uint8), copies),
        )
        options = _native.PipelineOptions()
        options.num_threads = threads
        options.caching = _native.Caching.NONE
        options.read_bytes = max(64 * MIB, 2 * int(lengths.max()))
        options.scratch_bytes = 256 * MIB * threads
        options.idle_bytes = 64 * MIB
        self._samples = EngineTable(
            place=str(paths[0]),
            num_samples=count,
            table=table,
            image_fields=("image",),
            scalars={},
            formats=np.zeros(count, np.uint8),
            splits=np.full(count, -1, np.int16),
            split_names=(),
            sizes=np.tile(lengths.astype(np.int64), copies),
            largest_pixel_bytes=None,
        )
        self._order = Order(self._samples.formats)
        self._log, self._progress = FailureLog(ErrorOptions()), Progress()
        self._pipeline = _native.Pipeline(table, chain.program(), options)
        self._epoch = 0

    def run(self, num_batches: int) -> _Ran:
        """Load `num_batches` batches; no batch is in flight before or after.

        The CPU time includes everything. The utilisation of the cores is measured only while the pipeline is full,
        because its start and end matter little in a real epoch.
        """
        begin, num_images = _cpu_seconds(), 0
        full = _Clock()
        while num_images < num_batches * BATCH_SIZE:
            count = min(self._order.num_samples, num_batches * BATCH_SIZE - num_images)
            part = EpochPart(self._order, self._epoch, Batches(count, BATCH_SIZE))
            delivery = Delivery(self._pipeline, self._samples, part, DEPTH, self._log, self._progress)
            last = -(-count // BATCH_SIZE) - UNDER_WAY
            for number, batch in enumerate(delivery.begin(), start=1):
                num_images += len(batch["id"])
                if number == 1 < last:
                    full.start()
                elif 1 < number == last:
                    full.stop()
            self._epoch += 1
        return _Ran((_cpu_seconds() - begin) / num_images, full.busy_cores)

    def close(self) -> None:
        self._pipeline.close()


def _stored_codec(codec: str, data: bytes) -> str:
    """Return the codec of an image in a dataset of this codec: `sluice` keeps some JPEGs as they are."""
    return "jpeg" if codec == "sluice" and _native.sniff(data) == "jpeg" else codec


class _Clock:
    """Clock that adds up wall and CPU time between starts and stops."""

    def __init__(self) -> None:
        self._wall = self._cpu = 0.0

    def start(self) -> None:
        self._wall -= time.perf_counter()
        self._cpu -= _cpu_seconds()

    def stop(self) -> None:
        self._wall += time.perf_counter()
        self._cpu += _cpu_seconds()

    @property
    def busy_cores(self) -> float:
        return self._cpu / self._wall if self._wall > 0 else 0.0


def measure_pipeline(
    stored: Mapping[str, Sequence[bytes]],
    chain: Chain,
    threads: int,
    folder: Path,
    *,
    seconds: float,
    on_progress: OnProgress = no_progress,
) -> PipelineCosts:
    """Measure the CPU seconds of an image in each format with `threads` threads; formats alternate.

    `stored` has, by format text, the bytes that a build would store. Formats that are decoded in Python are left out. A
    repeat of a format takes about `seconds`. Writes one probe file per format into `folder`, and removes it.
    """
    native = [name for name in stored if parse_format(name).codec in _native.codec_names()]
    if chain.python_transforms or not native:
        return PipelineCosts({}, None)
    with ExitStack() as stack:
        running = {}
        for name in native:
            files = stack.enter_context(_probe_files(folder, stored[name]))
            codec = parse_format(name).codec
            running[name] = _Running(files, codec, stored[name], chain, threads)
            stack.callback(running[name].close)
        first = {name: one.run(2).cpu_seconds for name, one in running.items()}
        wanted = {name: round(seconds * threads / cost / BATCH_SIZE) for name, cost in first.items()}
        found: dict[str, list[_Ran]] = {name: [] for name in running}
        for repeat in range(REPEATS):
            on_progress("pipeline", repeat, REPEATS)
            for name, one in running.items():
                found[name].append(one.run(max(LEAST_BATCHES, wanted[name])))
    busy = [Measurement.of([ran.busy_cores for ran in runs]) for runs in found.values()]
    busiest = max(busy, key=lambda figure: figure.median)
    return PipelineCosts(
        {name: Measurement.of([ran.cpu_seconds for ran in runs]) for name, runs in found.items()},
        busiest if busiest.median > 0 else None,
    )


def measure_scaling(
    images: Sequence[bytes], name: str, chain: Chain, cores: int, folder: Path, *, seconds: float
) -> tuple[tuple[int, Measurement], ...]:
    """Measure how the throughput of n threads compares with n times that of one; thread counts alternate."""
    counts = sorted({1, *(2**power for power in range(1, cores.bit_length()) if 2**power <= cores), cores})
    if chain.python_transforms or parse_format(name).codec not in _native.codec_names():
        return ()
    codec = parse_format(name).codec
    with ExitStack() as stack:
        files = stack.enter_context(_probe_files(folder, images))
        running = {}
        for count in counts:
            running[count] = _Running(files, codec, images, chain, count)
            stack.callback(running[count].close)
        cost = running[1].run(2).cpu_seconds
        found: dict[int, list[float]] = {count: [] for count in counts}
        for _ in range(REPEATS):
            one = running[1].run(max(2, round(seconds / cost / BATCH_SIZE))).cpu_seconds
            found[1].append(1.0)
            for count in counts[1:]:
                many = running[count].run(max(2, round(seconds * count / cost / BATCH_SIZE))).cpu_seconds
                found[count].append(count * one / many)
    return tuple((count, Measurement.of(values)) for count, values in found.items())


@contextmanager
def _probe_files(folder: Path, images: Sequence[bytes]) -> Iterator[list[Path]]:
    """Write a file with all images, and links to it under other names; all are removed at the end."""
    stem = f".penstock-probe-{uuid.uuid4().hex[:8]}"
    paths = [folder / f"{stem}-{number}" for number in range(max(1, round(EPOCH / len(images))))]
    try:
        write_file(paths[0], b"".join(data + bytes(GAP_BYTES) for data in images))
        for path in paths[1:]:
            path.hardlink_to(paths[0])
        yield paths
    finally:
        for path in paths:
            path.unlink(missing_ok=True)


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
