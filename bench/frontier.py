"""How many bytes does a format take for JPEG sources, and how long does it decode?

python -m bench.frontier [--record] [--limit N]

Every file of the corpus becomes every format, as a build would store it. Contenders decode all files alternately; CPU
time counts. `sluice` uses tables that were trained on the corpus, as a build does. Lossy formats lose detail again:
their MS-SSIM is recorded. AVIF and JPEG XL are decoded by imagecodecs; JPEG XL holds the JPEG losslessly. The page
docs/decisions/0012-sluice.md is drawn from these lines.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import imagecodecs
import numpy as np
import simplejpeg  # type: ignore[import-untyped]  # it ships no types

import penstock
from bench.corpus import files_of
from bench.timing import Contender, Session, arguments
from penstock import _native
from penstock.codecs.sluice import from_jpeg, register_tables, train_tables
from penstock.types import Pixels

BASELINE = "jpeg, libjpeg-turbo"
DEFAULT_LIMIT = 100
ALIKE = 2.0
"""Largest mean difference from the JPEG's pixels, in levels: JPEG XL rounds otherwise. Lossy formats may exceed it."""


@dataclass
class Stored:
    """All files in one format."""

    name: str
    decode: Callable[[bytes], object]
    files: list[bytes] = field(default_factory=list)
    is_lossy: bool = False
    ms_ssim: float = 1.0

    def run(self) -> Contender:
        """Return a function that decodes all files."""

        def all_files() -> None:
            for data in self.files:
                self.decode(data)

        return all_files


def main() -> None:
    """Encode, compare and measure."""
    options = arguments(__doc__ or "").parse_args()
    jpegs = [path.read_bytes() for path in map(Path, files_of("imagenet", options.limit or DEFAULT_LIMIT))]
    jpegs = [data for data in jpegs if penstock.inspect(data).channels == 3]
    formats = in_formats(jpegs)
    total = sum(map(len, jpegs))
    session = Session(
        "frontier",
        "How large is a format, and how fast does it decode?",
        "imagenet",
        len(jpegs),
        rounds=options.rounds,
        record=options.record,
        packages=("imagecodecs", "simplejpeg"),
    )
    with session:
        timings = session.compare({one.name: one.run() for one in formats}, verify=lambda: check_all(formats, jpegs))
        session.report(
            timings,
            baseline=BASELINE,
            bytes_shares={one.name: round(sum(map(len, one.files)) / total, 4) for one in formats},
            ms_ssim={one.name: round(one.ms_ssim, 4) for one in formats if one.is_lossy},
        )


def in_formats(jpegs: Sequence[bytes]) -> list[Stored]:
    """Convert the files to each format."""
    pixels = [penstock.decode(data) for data in jpegs]
    tables = register_tables(train_tables(jpegs))

    def turbo(data: bytes) -> object:
        return simplejpeg.decode_jpeg(data, "RGB")

    return [
        Stored(BASELINE, turbo, list(jpegs)),
        Stored("jpeg", penstock.decode, list(jpegs)),
        Stored("jpeg:restart", penstock.decode, [penstock.transcode(data, "jpeg:restart") for data in jpegs]),
        Stored("jpeg:progressive", penstock.decode, [penstock.transcode(data, "jpeg:progressive") for data in jpegs]),
        Stored("sluice", penstock.decode, [from_jpeg(data, tables=tables) for data in jpegs]),
        Stored("jpeg xl, of the jpeg", imagecodecs.jpegxl_decode, [_jpeg_xl(data) for data in jpegs]),
        Stored("webp:q=90", penstock.decode, [penstock.encode(one, "webp:q=90") for one in pixels], is_lossy=True),
        Stored("avif, level 80", imagecodecs.avif_decode, [_avif(one) for one in pixels], is_lossy=True),
        Stored("weir:dense", penstock.decode, [penstock.encode(one, "weir:dense") for one in pixels]),
        Stored("weir:fast", penstock.decode, [penstock.encode(one, "weir:fast") for one in pixels]),
        Stored("raw", penstock.decode, [penstock.encode(one, "raw") for one in pixels]),
    ]


def _jpeg_xl(jpeg: bytes) -> bytes:
    return bytes(imagecodecs.jpegxl_encode_jpeg(jpeg))


def _avif(pixels: Pixels) -> bytes:
    return bytes(imagecodecs.avif_encode(pixels, level=80, speed=6, numthreads=1))


def check_all(formats: Sequence[Stored], jpegs: Sequence[bytes]) -> None:
    """Compare every format with the JPEGs."""
    for one in formats:
        check(one, jpegs)


def check(stored: Stored, jpegs: Sequence[bytes]) -> None:
    """Compare the pixels with those of the JPEGs, and note the loss."""
    found = []
    for data, jpeg in zip(stored.files, jpegs, strict=True):
        expected, pixels = penstock.decode(jpeg), np.asarray(stored.decode(data))
        if stored.is_lossy:
            found.append(float(_native.ms_ssim(expected, np.ascontiguousarray(pixels))))
        elif np.abs(expected.astype(int) - pixels).mean() > ALIKE:
            sys.exit(f"{stored.name} has other pixels: {np.abs(expected.astype(int) - pixels).mean():.2f} levels")
    stored.ms_ssim = float(np.mean(found)) if found else 1.0


if __name__ == "__main__":
    main()
