"""Costs and quality of each fidelity of images in scans or layers: bytes, CPU seconds, MS-SSIM. Has the static tuner.

Every fidelity has `FormatCosts` like a format, with the bytes that are read per image.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from penstock import _native
from penstock.codecs import DecodeOptions, decode, find, inspect, parse_format, transcode
from penstock.codecs.pjpeg import scan_ends
from penstock.codecs.sluice import first_layer_bytes
from penstock.profile.profile_values import FormatCosts
from penstock.records.fidelity import stored_scans
from penstock.transforms import Chain
from penstock.types import OnProgress, Pixels, no_progress

DEFAULT_THRESHOLD = 0.95
"""Threshold of the mean MS-SSIM; smaller differences are hardly visible at training sizes."""
COLOUR_SCANS = 10

Job = Callable[[str, bytes], object]
"""Decodes bytes by a codec's name, as the loader would."""


def measure_fidelities(
    images: Sequence[bytes],
    format: str = "pjpeg",
    *,
    chain: Chain | None = None,
    repeats: int = 3,
    on_progress: OnProgress = no_progress,
) -> dict[int, FormatCosts]:
    """Measure the costs of images at every fidelity that `format` stores, by number of scans or layers.

    JPEGs are transcoded as in a build; other images are encoded. Distortion is relative to the full fidelity. With a
    chain of transforms, a decode covers only the region that they need, and includes them.

    >>> from penstock import encode
    >>> noise = np.random.default_rng(0).integers(0, 256, (64, 64, 3), np.uint8)
    >>> found = measure_fidelities([encode(noise, "jpeg")])
    >>> sorted(found), bool(found[1].bytes[0] < found[10].bytes[0]), float(found[10].ms_ssim[0])
    ([1, 2, 5, 10], True, 1.0)
    >>> sorted(measure_fidelities([encode(noise, "jpeg")], "sluice:layers=2"))
    [1, 2]
    """
    columns: dict[int, list[tuple[float, ...]]] = {}
    for number, data in enumerate(images):
        on_progress("fidelities", number, len(images))
        begin = time.thread_time()
        stored = _stored(data, format)
        encode_seconds = time.thread_time() - begin
        job = _job(chain, decode(data), number)
        for scans, row in _rows(stored, format, encode_seconds, job, repeats).items():
            columns.setdefault(scans, []).append(row)
    return {scans: _costs(np.array(rows)) for scans, rows in sorted(columns.items())}


def source_seconds(images: Sequence[bytes], chain: Chain | None = None, *, repeats: int = 3) -> float:
    """Measure the mean CPU seconds of decoding the unchanged images, in the same way as the fidelities."""
    least = []
    for number, data in enumerate(images):
        job, codec = _job(chain, decode(data), number), inspect(data).codec
        least.append(min(_seconds(job, codec, data) for _ in range(repeats)))
    return float(np.mean(least))


def choose_fidelity(costs: Mapping[int, FormatCosts], threshold: float = DEFAULT_THRESHOLD) -> int:
    """Return the smallest number of scans whose mean MS-SSIM reaches the threshold; the largest if none does."""
    passed = (scans for scans in sorted(costs) if float(np.mean(costs[scans].ms_ssim)) >= threshold)
    return next(passed, max(costs))


def _stored(data: bytes, format: str) -> bytes:
    parsed = parse_format(format)
    if inspect(data).codec == "jpeg":
        return transcode(data, "jpeg:progressive" if parsed.codec == "pjpeg" else parsed)
    return find(parsed.codec).encode(decode(data), parsed)


def _prefix_ends(stored: bytes, codec: str) -> list[int]:
    """Return where each scan or layer ends."""
    return scan_ends(stored) if codec == "pjpeg" else [first_layer_bytes(stored), len(stored)]


def _job(chain: Chain | None, pixels: Pixels, number: int) -> Job:
    if chain is None or not chain.native:
        return lambda codec, data: find(codec).decode(data, DecodeOptions())
    program = chain.program()
    drawn = program.draw((pixels.shape[0], pixels.shape[1]), 0, 0, number)
    options = DecodeOptions(region=program.region(drawn))
    channels = pixels.shape[2] if pixels.ndim == 3 else 1
    out = np.empty((*drawn.output, channels), program.output_type or pixels.dtype)
    return lambda codec, data: program.apply(find(codec).decode(data, options), drawn, out)


def _rows(stored: bytes, format: str, encode_seconds: float, job: Job, repeats: int) -> dict[int, tuple[float, ...]]:
    """Measure one image, by number of scans or layers: bytes, decode seconds, encode seconds, MS-SSIM, PSNR."""
    codec = find(parse_format(format).codec)
    ends = _prefix_ends(stored, codec.name)
    whole = codec.decode(stored, DecodeOptions())
    counts = [scans for scans in stored_scans(format) if scans <= COLOUR_SCANS]
    rows: dict[int, tuple[float, ...]] = {}
    for scans in counts:
        is_whole = scans == counts[-1] or scans >= len(ends)
        prefix = stored if is_whole else stored[: ends[scans - 1]]
        pixels = codec.decode(prefix, DecodeOptions())
        seconds = min(_seconds(job, codec.name, prefix) for _ in range(repeats))
        similarity, ratio = _native.ms_ssim(whole, pixels, 0), _native.psnr(whole, pixels, 0)
        rows[scans] = (float(len(prefix)), seconds, encode_seconds, similarity, ratio)
    return rows


def _seconds(job: Job, codec: str, data: bytes) -> float:
    begin = time.thread_time()
    job(codec, data)
    return time.thread_time() - begin


def _costs(rows: np.typing.NDArray[np.float64]) -> FormatCosts:
    return FormatCosts(
        is_exact=bool(np.isinf(rows[:, 4]).all()),
        bytes=rows[:, 0],
        decode_seconds=rows[:, 1],
        encode_seconds=rows[:, 2],
        ms_ssim=rows[:, 3],
        psnr=rows[:, 4],
    )
