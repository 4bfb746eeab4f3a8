"""Prefixes that decode: layers of Sluice beside scans of progressive JPEGs. Bytes, quality and CPU time.

`bench.fidelity` runs this as its part `layers`. Every second file is used: the others trained the tables of Sluice.
Contenders take turns, and each is timed on the AVX-512 path and on the AVX2 path. Times are CPU times of one thread
that decodes whole images into arrays it has already.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench.circumstances import busy_seconds, own_seconds
from penstock import _native, decode, transcode
from penstock.codecs import DecodeOptions, find
from penstock.codecs.pjpeg import scan_ends
from penstock.codecs.sluice import first_layer_bytes
from penstock.pixels import ms_ssim
from penstock.types import Pixels

SCANS = (5, 6, None)
BASELINE = "pjpeg, 5 scans"
FIRST_LAYER = "sluice:layers=2, 1 layer"
MOST_SHARE = 0.40
MOST_DECIBELS = 0.6
LEAST_FASTER = {"avx512": 4.0, "avx2": 2.5}
SIMILARITY_STEP = 5
ROUNDS = 9


@dataclass(frozen=True)
class Contender:
    """A way to store and read the images."""

    format: str
    fidelity: int | None
    codec: str
    files: list[bytes]

    @property
    def name(self) -> str:
        """Name as lines show it."""
        if self.format == "sluice":
            return self.format
        unit = "scans" if self.format == "pjpeg" else f"layer{'' if self.fidelity == 1 else 's'}"
        return f"{self.format}, {self.fidelity or 'all'} {unit}"

    def decode(self, number: int, out: Pixels | None = None) -> Pixels:
        """Decode one image."""
        return find(self.codec).decode(self.files[number], DecodeOptions(), out=out)


def contenders(sources: list[bytes]) -> list[Contender]:
    """Store the sources in every way, and cut each file to its prefix."""
    progressive = [transcode(data, "jpeg:progressive") for data in sources]
    layered = [transcode(data, "sluice:layers=2") for data in sources]
    found = []
    for scans in SCANS:
        cut = [data if scans is None else data[: prefix_end(data, scans)] for data in progressive]
        found.append(Contender("pjpeg", scans, "pjpeg", cut))
    found.append(Contender("sluice:layers=2", 1, "sluice", [data[: first_layer_bytes(data)] for data in layered]))
    found.append(Contender("sluice:layers=2", 2, "sluice", layered))
    found.append(Contender("sluice", None, "sluice", [transcode(data, "sluice") for data in sources]))
    return found


def prefix_end(data: bytes, scans: int) -> int:
    """Return where so many scans end; all of a file that has fewer."""
    ends = scan_ends(data)
    return len(data) if scans >= len(ends) else ends[scans - 1]


def layers(files: list[Path], _work: Path, _rounds: int) -> Iterator[dict[str, Any]]:
    """Compare the contenders, on each path."""
    sources = [file.read_bytes() for file in files[1::2]]
    whole = [decode(data) for data in sources]
    ways = contenders(sources)
    facts = {way.name: quality(way, whole, sources) for way in ways}
    for path in (path for path in LEAST_FASTER if path in _native.simd_paths()):
        seconds, busy = timed(ways, path, [np.empty_like(pixels) for pixels in whole])
        for way in ways:
            mine, base = facts[way.name], facts[BASELINE]
            faster = [one / other for one, other in zip(seconds[BASELINE], seconds[way.name], strict=True)]
            line: dict[str, Any] = {
                "contender": way.name,
                "path": path,
                "images": len(sources),
                **mine,
                "microseconds": [1e6 * value / len(sources) for value in seconds[way.name]],
                "microseconds_median": 1e6 * statistics.median(seconds[way.name]) / len(sources),
                "faster_than_5_scans": statistics.median(faster),
                "faster_least": min(faster),
                "faster_most": max(faster),
                "other_busy_cores": busy,
            }
            if way.name == FIRST_LAYER:
                line["decibels_below_5_scans"] = base["psnr_mean"] - mine["psnr_mean"]
                line["met"] = (
                    mine["share_of_source"] <= MOST_SHARE
                    and line["decibels_below_5_scans"] <= MOST_DECIBELS
                    and line["faster_than_5_scans"] >= LEAST_FASTER[path]
                )
            yield line


def quality(way: Contender, whole: list[Pixels], sources: list[bytes]) -> dict[str, Any]:
    """Measure bytes, PSNR of all images (None if all are exact), and MS-SSIM of some."""
    found = [way.decode(number) for number in range(len(sources))]
    decibels = [_native.psnr(one, other, 0) for one, other in zip(whole, found, strict=True)]
    some = range(0, len(whole), SIMILARITY_STEP)
    lossy = [value for value in decibels if np.isfinite(value)]
    return {
        "share_of_source": sum(map(len, way.files)) / sum(map(len, sources)),
        "psnr_mean": statistics.fmean(lossy) if lossy else None,
        "exact_images": len(decibels) - len(lossy),
        "ms_ssim_mean": statistics.fmean(ms_ssim(whole[number], found[number]) for number in some),
        "ms_ssim_images": len(some),
    }


def timed(ways: list[Contender], path: str, outs: list[Pixels]) -> tuple[dict[str, list[float]], float]:
    """Return the CPU seconds of each contender by round, and the cores that other programs used meanwhile."""
    seconds: dict[str, list[float]] = {way.name: [] for way in ways}
    begin, busy, own = time.monotonic(), busy_seconds(), own_seconds()
    _native.force_simd_path(path)
    try:
        for number in range(ROUNDS + 1):
            for way in ways:
                start = time.thread_time()
                for image, out in enumerate(outs):
                    way.decode(image, out)
                if number:  # the first round warms up
                    seconds[way.name].append(time.thread_time() - start)
    finally:
        _native.force_simd_path(_native.best_simd_path())
    others = (busy_seconds() - busy) - (own_seconds() - own)
    return seconds, max(0.0, others / (time.monotonic() - begin))
