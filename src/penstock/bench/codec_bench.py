"""Comparison of formats on a folder's images: size, speed, distortion. Verifies first, then times.

All formats alternate within each repeat, so that a disturbance of the machine affects them equally. Fast jobs pass over
the images several times per repeat, so that no repeat is too short to time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from penstock import _native
from penstock.bench.corpus import Corpus, SourceImage
from penstock.bench.promise_check import Encoded, encode_all
from penstock.bench.result import Distortion, FormatResult, Speed
from penstock.bench.runner import Run, Runner
from penstock.bench.spread import Spread
from penstock.codecs import Format, Promise, find
from penstock.errors import CodecError
from penstock.types import OnProgress, no_progress

MIN_REPEAT_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class CodecBenchOptions:
    """Options of a codec benchmark."""

    threads: int = 1
    """0 means all usable cores."""
    repeats: int = 5


@dataclass(frozen=True, slots=True)
class CodecBench:
    """Result of `bench_codecs`."""

    threads: int
    repeats: int
    clock: str
    """Clock of the speeds: "cpu" on one thread, "wall" on several."""
    stored: tuple[FormatResult, ...]
    """The files as they are, by codec; only decoding is timed."""
    formats: tuple[FormatResult, ...]


def bench_codecs(
    corpus: Corpus,
    formats: Sequence[Format],
    options: CodecBenchOptions = CodecBenchOptions(),  # noqa: B008  # frozen
    *,
    on_progress: OnProgress = no_progress,
) -> CodecBench:
    """Measure formats on the images of a corpus.

    Raises `CodecError` before timing if a lossless format does not restore the pixels.
    """
    runner = Runner(_native.ThreadPool(options.threads))
    stored = [_stored(runner, name, images) for name, images in _by_codec(corpus)]
    written = [_written(runner, format, encode_all(format, corpus.images, on_progress)) for format in formats]
    jobs = [job for subject in (*stored, *written) for job in (subject.encode, subject.decode) if job is not None]
    for repeat in range(options.repeats):
        for number, job in enumerate(jobs):
            on_progress("timing", repeat * len(jobs) + number, options.repeats * len(jobs))
            job.measure()
    clock = "cpu" if runner.pool.num_threads == 1 else "wall"
    return CodecBench(
        threads=runner.pool.num_threads,
        repeats=options.repeats,
        clock=clock,
        stored=tuple(_result(subject, clock) for subject in stored),
        formats=tuple(_result(subject, clock) for subject in written),
    )


@dataclass(slots=True)
class TimedJob:
    """Job with the seconds of its repeats, each for one pass over the images."""

    run: Run
    estimated_seconds: float
    wall_seconds: list[float] = field(default_factory=list)
    cpu_seconds: list[float] = field(default_factory=list)

    def measure(self) -> None:
        """Run once more for at least MIN_REPEAT_SECONDS, and add the seconds of one pass."""
        passes = math.ceil(MIN_REPEAT_SECONDS / max(self.estimated_seconds, 1e-6))
        if not self.wall_seconds and passes > 1:
            self.run(passes)  # warms up; a longer job has been warmed up by its verification
        wall, cpu = self.run(passes)
        self.wall_seconds.append(wall / passes)
        self.cpu_seconds.append(cpu / passes)


@dataclass(slots=True)
class _Subject:
    """Format under test, or the stored files."""

    format: str
    lossless: bool
    threads: int
    num_images: int
    pixel_bytes: int
    encoded_bytes: int
    encode: TimedJob | None = None
    decode: TimedJob | None = None
    distortion: Distortion | None = None
    refusals: Sequence[CodecError] = ()


def _by_codec(corpus: Corpus) -> list[tuple[str, list[SourceImage]]]:
    names = sorted({image.info.codec for image in corpus.images})
    return [(name, [image for image in corpus.images if image.info.codec == name]) for name in names]


def _stored(runner: Runner, name: str, images: list[SourceImage]) -> _Subject:
    codec = find(name)
    data = [image.data for image in images]
    return _Subject(
        format=name,
        lossless=all(image.info.lossless for image in images),
        threads=runner.threads_of(codec),
        num_images=len(images),
        pixel_bytes=sum(image.pixels.nbytes for image in images),
        encoded_bytes=sum(map(len, data)),
        decode=TimedJob(
            runner.decodes(codec, data), sum(image.decode_seconds for image in images) / runner.threads_of(codec)
        ),
    )


def _written(runner: Runner, format: Format, encoded: Encoded) -> _Subject:
    codec = find(format.codec)
    subject = _Subject(
        format=str(format),
        lossless=codec.promise(format) is Promise.EXACT,
        threads=runner.threads_of(codec),
        num_images=len(encoded.data),
        pixel_bytes=sum(pixels.nbytes for pixels in encoded.pixels),
        encoded_bytes=sum(map(len, encoded.data)),
        distortion=encoded.distortion,
        refusals=encoded.refusals,
    )
    if encoded.data:
        subject.encode = TimedJob(
            runner.encodes(codec, format, encoded.pixels), encoded.encode_seconds / subject.threads
        )
        subject.decode = TimedJob(runner.decodes(codec, encoded.data), encoded.decode_seconds / subject.threads)
    return subject


def _result(subject: _Subject, clock: str) -> FormatResult:
    return FormatResult(
        format=subject.format,
        lossless=subject.lossless,
        threads=subject.threads,
        num_images=subject.num_images,
        num_refused=len(subject.refusals),
        refusal=subject.refusals[0].what if subject.refusals else "",
        pixel_bytes=subject.pixel_bytes,
        encoded_bytes=subject.encoded_bytes,
        encode=_speed(subject, subject.encode, clock),
        decode=_speed(subject, subject.decode, clock),
        distortion=subject.distortion,
    )


def _speed(subject: _Subject, job: TimedJob | None, clock: str) -> Speed | None:
    if job is None:
        return None
    seconds = job.cpu_seconds if clock == "cpu" else job.wall_seconds
    return Speed(
        megabytes_per_second=Spread.of(subject.pixel_bytes / value / 1e6 for value in seconds),
        images_per_second=Spread.of(subject.num_images / value for value in seconds),
        cpu_seconds=Spread.of(job.cpu_seconds),
        wall_seconds=Spread.of(job.wall_seconds),
    )
