"""Costs of sampled images in each candidate format: bytes, CPU seconds to decode and encode, distortion."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from penstock import _native
from penstock.codecs import Format, Promise, decode, encode, find, inspect, parse_format, transcode
from penstock.errors import ArgumentError, CodecError
from penstock.profile.profile_values import Disk, FormatCosts, Measurement, SampledImage
from penstock.transforms import Chain
from penstock.types import Floats, OnProgress, Pixels

_Data = bytes
MIN_IMAGES = 16
"""Measured whatever the time."""
MIXED_SLUICE = "sluice:q=95"
"""Candidate for JPEGs among other images, which a build must encode."""
KEPT_BYTES = 128 << 20
"""Bytes of images in one format that are kept for the pipeline; `MIN_IMAGES` are always kept."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Images that were measured in time, with their costs by format text."""

    images: tuple[SampledImage, ...]
    formats: Mapping[str, FormatCosts]
    stored: Mapping[str, Sequence[bytes]]
    """Stored bytes of the first images, by format: as many as fit `KEPT_BYTES` in the largest format."""
    beside_seconds: Floats
    """Decode time of each image's other fields, which is the same for every format."""
    damaged: Mapping[int, CodecError] = field(default_factory=dict)
    """Errors of samples that could not be decoded, by their number."""

    def scaled(self, pipeline: Mapping[str, Measurement], disk: Disk) -> dict[str, FormatCosts]:
        """Scale the costs so that the kept images take the mean time that the loader's pipeline took for them.

        The pipeline also reads what it decodes, and reads cost time per byte. Without them, a large image would seem
        too cheap.
        """
        found = {}
        for name, costs in self.formats.items():
            if name in pipeline:
                own = costs.decode_seconds - self.beside_seconds
                own += disk.cpu_seconds_per_byte * costs.bytes + disk.cpu_seconds_per_read
                factor = pipeline[name].median / max(1e-12, float(own[: len(self.stored[name])].mean()))
                costs = replace(costs, decode_seconds=own * factor + self.beside_seconds, pipeline=pipeline[name])
            found[name] = costs
        return found


@dataclass(frozen=True, slots=True)
class _Further:
    """Image fields of a sample besides its image."""

    bytes: int
    seconds: float


@dataclass(slots=True)
class _Column:
    bytes: list[float] = field(default_factory=list)
    decode_seconds: list[float] = field(default_factory=list)
    encode_seconds: list[float] = field(default_factory=list)
    ms_ssim: list[float] = field(default_factory=list)
    psnr: list[float] = field(default_factory=list)
    stored: list[_Data] = field(default_factory=list)


def measure_formats(
    fields: Sequence[Sequence[bytes]],
    formats: Sequence[Format],
    chain: Chain,
    *,
    budget_seconds: float,
    repeats: int = 3,
    on_progress: OnProgress,
) -> Measured:
    """Measure images one by one, each in every format, until all are done or time is up.

    `fields` has, per sample, the bytes of its image and then of its other image fields, whose costs are equal in every
    format. Formats alternate within each repeat, and the fastest repeat of a decode counts. Samples that cannot be
    decoded are left out. Raises CodecError if an exact format does not restore an image.
    """
    columns = {str(format): _Column() for format in formats}
    images: list[SampledImage] = []
    beside: list[float] = []
    damaged: dict[int, CodecError] = {}
    begin = time.monotonic()
    for number, (data, *others) in enumerate(fields):
        on_progress("formats", number, len(fields))
        if len(images) >= MIN_IMAGES and time.monotonic() - begin > budget_seconds:
            break
        try:
            info, pixels = inspect(data), decode(data)
            beside_seconds = sum(_cpu_seconds(lambda data=other: decode(data))[0] for other in others)  # type: ignore[misc]
        except CodecError as error:
            damaged[number] = error
            continue
        images.append(
            SampledImage(
                info.width,
                info.height,
                info.channels,
                np.dtype(info.dtype).itemsize * 8,
                len(data) + sum(map(len, others)),
            )
        )
        beside.append(beside_seconds)
        further = _Further(sum(map(len, others)), beside_seconds)
        _measure_image((data, pixels), further, formats, columns, _job(chain, pixels, number), repeats)
    return Measured(
        tuple(images),
        {name: _costs(column) for name, column in columns.items()},
        {name: column.stored for name, column in columns.items()},
        np.array(beside),
        damaged,
    )


def _measure_image(
    image: tuple[bytes, Pixels],
    further: _Further,
    formats: Sequence[Format],
    columns: Mapping[str, _Column],
    job: Callable[[bytes], object],
    repeats: int,
) -> None:
    """Add an image, and the costs of its other fields, to every column."""
    data, pixels = image
    stored: list[bytes] = []
    for format in formats:
        seconds, encoded = _cpu_seconds(lambda format=format: _store(data, pixels, format))  # type: ignore[misc]
        stored.append(encoded)
        column = columns[str(format)]
        column.bytes.append(float(len(encoded) + further.bytes))
        column.encode_seconds.append(seconds)
        _compare(column, pixels, encoded, format)
    least = [math.inf] * len(formats)
    for _ in range(repeats):
        for place, encoded in enumerate(stored):
            least[place] = min(least[place], _cpu_seconds(lambda encoded=encoded: job(encoded))[0])  # type: ignore[misc]
    for format, seconds in zip(formats, least, strict=True):
        columns[str(format)].decode_seconds.append(seconds + further.seconds)
    _keep(columns, stored)


def _keep(columns: Mapping[str, _Column], stored: Sequence[bytes]) -> None:
    """Keep the first images until one of the formats has enough of them."""
    lengths = [sum(map(len, column.stored)) for column in columns.values()]
    num_kept = len(next(iter(columns.values())).stored)
    num_seen = len(next(iter(columns.values())).bytes)
    if num_kept == num_seen - 1 and (num_kept < MIN_IMAGES or max(lengths) < KEPT_BYTES):
        for column, encoded in zip(columns.values(), stored, strict=True):
            column.stored.append(encoded)


def _store(data: bytes, pixels: Pixels, format: Format) -> bytes:
    """Return what a build would store: the source's bytes, its coefficients, or its pixels."""
    codec = inspect(data).codec
    if codec == str(format):
        return data
    if codec == "jpeg" and format.codec == "sluice":
        try:
            return transcode(data, "sluice")
        except CodecError:
            return data  # a build keeps as jpeg what it cannot restore
    if codec == format.codec == "jpeg" and ":q=" not in str(format):
        return transcode(data, format)
    return encode(pixels, format)


def _compare(column: _Column, pixels: Pixels, encoded: bytes, format: Format) -> None:
    again = decode(encoded)
    if np.array_equal(again, pixels):
        column.ms_ssim.append(1.0)
        column.psnr.append(math.inf)
        return
    if find(format.codec).promise(format) is Promise.EXACT:
        raise CodecError(f"{format} does not give an image back exactly", where=str(format), fix="report this")
    column.ms_ssim.append(float(_native.ms_ssim(pixels, again)))
    column.psnr.append(float(_native.psnr(pixels, again)))


def _job(chain: Chain, pixels: Pixels, number: int) -> Callable[[bytes], object]:
    """Make a job from encoded bytes to a batch slot, like the loader: verified, and only the requested region."""
    if not chain.native:
        return lambda encoded: (_native.crc32c(encoded), decode(encoded))
    program = chain.program()
    drawn = program.draw((pixels.shape[0], pixels.shape[1]), 0, 0, number)
    region = program.region(drawn)
    channels = pixels.shape[2] if pixels.ndim == 3 else 1
    out = np.empty((*drawn.output, channels), program.output_type or pixels.dtype)

    def run(encoded: bytes) -> None:
        _native.crc32c(encoded)
        program.apply(decode(encoded, region=region), drawn, out)

    return run


def _cpu_seconds(job: Callable[[], bytes | object]) -> tuple[float, bytes]:
    begin = time.thread_time()
    result = job()
    return time.thread_time() - begin, result if isinstance(result, bytes) else b""


def _costs(column: _Column) -> FormatCosts:
    return FormatCosts(
        is_exact=all(math.isinf(value) for value in column.psnr),
        bytes=np.array(column.bytes),
        decode_seconds=np.array(column.decode_seconds),
        encode_seconds=np.array(column.encode_seconds),
        ms_ssim=np.array(column.ms_ssim),
        psnr=np.array(column.psnr),
    )


def candidates(source: str, lossy: bool, named: str = "", *, only_source: bool = True) -> list[Format]:
    """Return the formats to measure: those that keep the source, promising ones, or the named ones.

    `source` is the codec of most images. If it is not that of all (`only_source`), `sluice` gets a quality for the
    others.
    """
    if named:
        texts = [source, *(text for text in named.split(",") if text and text != source)]
    else:
        texts = [source, "raw", "weir:fast", "weir:dense", "png"]
        texts += ["jpeg:restart", "sluice" if only_source else MIXED_SLUICE] if source == "jpeg" else []
        texts += ["jpeg:q=90", "jpeg:q=75", "webp:q=80"] if lossy else []
    formats = [parse_format(text) for text in dict.fromkeys(texts)]
    for format in formats:
        if not find(format.codec).can_encode and str(format) != source:
            raise ArgumentError(f"{format} cannot be written", where="--formats", fix="name a format that can")
    return formats
