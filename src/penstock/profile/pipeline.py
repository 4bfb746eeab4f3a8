"""What an image costs in the loader itself: the sampled images run through the loader's own pipeline.

A decode that is called from Python pays for what the loader does not (fresh memory, a call), and does not pay for what
the loader does (reads, threads that share caches and memory, hand-overs, batches). So the sample's total is taken from
here, and only what one image costs relative to another from single calls.
"""

from __future__ import annotations

import os
import resource
import uuid
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import numpy as np

from penstock import _native
from penstock.chance import draw
from penstock.codecs import parse_format
from penstock.errors import CodecError
from penstock.load.samples import as_folder, pack_names
from penstock.profile.values import Figure
from penstock.storage import write_file
from penstock.transforms import Chain
from penstock.types import OnProgress

BATCH_SIZE = 32
DEPTH = 4
REPEATS = 5
MIB = 2**20


class _Running:
    """A pipeline as the loader runs it without a cache: reads past the page cache, decodes, transforms, hands over."""

    def __init__(self, path: Path, codec: str, images: Sequence[bytes], chain: Chain, threads: int) -> None:
        lengths = np.array([len(data) for data in images], np.uint64)
        name, ends = pack_names([os.fsencode(path.name)])
        table = _native.SampleTable(as_folder(path.parent), name, ends, len(images), [codec])
        table.add_field(
            False,
            np.zeros(len(images), np.uint32),
            np.cumsum(lengths) - lengths,
            lengths,
            np.array([_native.crc32c(data) for data in images], np.uint32),
            np.zeros(len(images), np.uint8),
        )
        options = _native.PipelineOptions()
        options.num_threads = threads
        options.caching = _native.Caching.NONE
        options.read_bytes = max(64 * MIB, 2 * int(lengths.max()))
        options.scratch_bytes = 256 * MIB * threads
        options.idle_bytes = 64 * MIB
        self.num_images = len(images)
        self._pipeline = _native.Pipeline(table, chain.program(), options)
        self._num_batches = 0

    def run(self, num_batches: int) -> float:
        """CPU seconds of an image, of all threads together, over so many batches."""
        begin = _cpu_seconds()
        under_way: deque[_native.Batch] = deque()
        for number in range(self._num_batches, self._num_batches + num_batches):
            ids = draw(1, 0, np.arange(number * BATCH_SIZE, (number + 1) * BATCH_SIZE)) % np.uint64(self.num_images)
            under_way.append(self._pipeline.submit(ids, 0, number))
            if len(under_way) >= DEPTH:
                self._finish(under_way.popleft())
        while under_way:
            self._finish(under_way.popleft())
        self._num_batches += num_batches
        return (_cpu_seconds() - begin) / (num_batches * BATCH_SIZE)

    def close(self) -> None:
        self._pipeline.close()

    def _finish(self, batch: _native.Batch) -> None:
        self._pipeline.wait(batch)
        if failures := batch.failures():
            raise CodecError(failures[0][3], where=failures[0][4], fix=failures[0][5])
        batch.pixels(0)


def measure_pipeline(
    stored: Mapping[str, Sequence[bytes]],
    chain: Chain,
    threads: int,
    folder: Path,
    *,
    seconds: float,
    on_progress: OnProgress,
) -> dict[str, Figure]:
    """CPU seconds of an image in each format, `threads` of them at work; formats take turns.

    `stored` has, by format text, what a build would store of the images. Formats that are decoded in Python are left
    out. A repeat of a format takes about `seconds`. Writes a probe file per format into `folder`, and removes it.
    """
    native = [name for name in stored if parse_format(name).codec in _native.codec_names()]
    if chain.rest:
        return {}
    with ExitStack() as stack:
        running = {}
        for name in native:
            file = stack.enter_context(_probe_file(folder, stored[name]))
            codec = parse_format(name).codec
            running[name] = _Running(file, codec, stored[name], chain, threads)
            stack.callback(running[name].close)
        first = {name: one.run(2) for name, one in running.items()}
        counts = {name: max(4, round(seconds * threads / cost / BATCH_SIZE)) for name, cost in first.items()}
        found: dict[str, list[float]] = {name: [] for name in running}
        for repeat in range(REPEATS):
            on_progress("pipeline", repeat, REPEATS)
            for name, one in running.items():
                found[name].append(one.run(counts[name]))
    return {name: Figure.of(values) for name, values in found.items()}


def measure_scaling(
    images: Sequence[bytes], name: str, chain: Chain, cores: int, folder: Path, *, seconds: float
) -> tuple[tuple[int, Figure], ...]:
    """How much more n threads get done in n cores' time than one thread in one's; threads take turns."""
    counts = sorted({1, *(2**power for power in range(1, cores.bit_length()) if 2**power <= cores), cores})
    if chain.rest or parse_format(name).codec not in _native.codec_names():
        return ()
    codec = parse_format(name).codec
    with ExitStack() as stack:
        file = stack.enter_context(_probe_file(folder, images))
        running = {}
        for count in counts:
            running[count] = _Running(file, codec, images, chain, count)
            stack.callback(running[count].close)
        cost = running[1].run(2)
        found: dict[int, list[float]] = {count: [] for count in counts}
        for _ in range(REPEATS):
            one = running[1].run(max(2, round(seconds / cost / BATCH_SIZE)))
            found[1].append(1.0)
            for count in counts[1:]:
                many = running[count].run(max(2, round(seconds * count / cost / BATCH_SIZE)))
                found[count].append(count * one / many)
    return tuple((count, Figure.of(values)) for count, values in found.items())


@contextmanager
def _probe_file(folder: Path, images: Sequence[bytes]) -> Iterator[Path]:
    path = folder / f".penstock-probe-{uuid.uuid4().hex[:8]}"
    try:
        write_file(path, b"".join(images))
        yield path
    finally:
        with suppress(FileNotFoundError):
            path.unlink()


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
