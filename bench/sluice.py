"""Measure how small Sluice files are, and how fast they decode next to libjpeg-turbo on the JPEGs they come from.

python -m bench.sluice [--record] [--limit N] [--path avx2]

Tables are trained on every second file and measured on the others. Checksums are verified. Contenders take turns over
all files, and CPU time counts; regions are those of RandomResizedCrop.
"""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import simplejpeg  # type: ignore[import-untyped]  # it ships no types
from PIL import Image

import penstock
from bench.corpus import files_of
from bench.jpeg import over, random_resized_crop, size_of
from bench.timing import Contender, Session, arguments
from penstock import _native
from penstock.codecs.sluice import from_jpeg, register_tables, to_jpeg, train_tables
from penstock.errors import CodecError
from penstock.types import Region

CORPORA = ("imagenet", "imagenet-q75", "photos")
MAX_BYTES = 0.90
"""Bytes of all files with restoration data, over those of the JPEGs; tables trained on the other half."""
WHOLE = {"avx512": {"imagenet": 3.8, "other": 2.9}, "avx2": {"imagenet": 2.3, "other": 1.9}}
REGIONS = {"avx512": 4.7, "avx2": 2.7}
MIN_ENCODE = 40e6
"""Bytes of JPEG that are encoded in a second of CPU time."""


@dataclass(frozen=True)
class Corpus:
    """JPEGs that tables were not trained on, and the Sluice files made from them."""

    name: str
    jpegs: Sequence[bytes]
    sluices: Sequence[bytes]
    ratio: float
    """Bytes of Sluice over bytes of JPEG, files that are kept as JPEG included."""
    num_kept: int
    """Files that cannot be restored and stay JPEG."""


def main() -> None:
    """Measure every corpus; exit 1 if a goal is missed."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--path", default=_native.best_simd_path(), help="SIMD path to force.")
    options = parser.parse_args()
    missed: list[str] = []
    for name in CORPORA:
        corpus = make_corpus(name, load(name, options.limit))
        print(f"{name}: {corpus.ratio:.4f} of the bytes, {len(corpus.jpegs)} files, {corpus.num_kept} kept as jpeg")
        if corpus.ratio > MAX_BYTES:
            missed.append(f"{name} takes {corpus.ratio:.3f} of the bytes > {MAX_BYTES}")
        _native.force_simd_path(options.path)
        goals = WHOLE.get(options.path, {})
        goal = goals.get(name, goals.get("other", 0.0))
        if (found := whole(corpus, rounds=options.rounds, record=options.record)) < goal:
            missed.append(f"{name}: whole decodes {found:.2f} times as fast < {goal}")
        goal = REGIONS.get(options.path, 0.0) if name == "imagenet" else 0.0
        if (found := regions(corpus, rounds=options.rounds, record=options.record)) < goal:
            missed.append(f"{name}: regions {found:.2f} times as fast < {goal}")
        _native.force_simd_path(_native.best_simd_path())
    if (speed := encode_speed(load("imagenet", options.limit))) < MIN_ENCODE:
        missed.append(f"encoding at {speed / 1e6:.1f} MB/s < {MIN_ENCODE / 1e6:.0f}")
    if missed:
        sys.exit("below the goal: " + ", ".join(missed))


def load(name: str, limit: int) -> list[bytes]:
    """Read the JPEGs of a corpus; `imagenet-q75` are copies at quality 75, 4:2:0."""
    files = [Path(path).read_bytes() for path in files_of(name.removesuffix("-q75"), limit)]
    return [copy_at(data, 75) for data in files] if name.endswith("-q75") else files


def copy_at(data: bytes, quality: int) -> bytes:
    """Encode a JPEG again at another quality, with chroma of half the resolution."""
    file = io.BytesIO()
    Image.fromarray(penstock.decode(data)).save(file, "JPEG", quality=quality, subsampling=2)
    return file.getvalue()


def make_corpus(name: str, files: Sequence[bytes]) -> Corpus:
    """Encode each half with tables of the other one; prove that every file comes back."""
    tables = [register_tables(train_tables(files[half::2])) for half in (0, 1)]
    jpegs, sluices, stored = [], [], 0
    for i, data in enumerate(files):
        try:
            coded = from_jpeg(data, tables=tables[1 - i % 2])
        except CodecError:
            stored += len(data)
            continue
        if to_jpeg(coded) != data:
            sys.exit(f"file {i} of {name} does not come back")
        jpegs.append(data)
        sluices.append(coded)
    stored += sum(map(len, sluices))
    return Corpus(name, jpegs, sluices, stored / sum(map(len, files)), len(files) - len(jpegs))


def libjpeg(data: bytes) -> object:
    """Decode with libjpeg-turbo, as many channels as the file has."""
    return simplejpeg.decode_jpeg(data, "GRAY" if penstock.inspect(data).channels == 1 else "RGB")


def libjpeg_region(data: bytes, region: Region) -> object:
    """Decode a region with libjpeg-turbo, which crops MCU columns and skips rows: the plain twin of our own decoder."""
    return _native.decode_counted(data, region, plain=True)


def whole(corpus: Corpus, *, rounds: int, record: bool) -> float:
    """Time whole decodes; gives how many times faster than libjpeg-turbo Sluice is."""

    def verify() -> None:
        for jpeg, sluice in zip(corpus.jpegs, corpus.sluices, strict=True):
            expected = np.asarray(libjpeg(jpeg))
            np.testing.assert_array_equal(penstock.decode(sluice).reshape(expected.shape), expected)

    question = "How fast do whole Sluice images decode?"
    with session(corpus, question, rounds=rounds, record=record) as timed:
        contenders: dict[str, Contender] = {
            "sluice": over(corpus.sluices, penstock.decode),
            "jpeg": over(corpus.jpegs, penstock.decode),
            "simplejpeg": over(corpus.jpegs, libjpeg),
        }
        timings = timed.compare(contenders, verify=verify)
        amount = sum(size_of(data) for data in corpus.jpegs)
        found = timed.report(timings, baseline="simplejpeg", amount_bytes=amount, bytes_ratio=corpus.ratio)
        return found["sluice"].of_best


def regions(corpus: Corpus, *, rounds: int, record: bool) -> float:
    """Time the regions of RandomResizedCrop; gives how many times faster than libjpeg-turbo Sluice is."""
    rng = np.random.default_rng(0)
    crops = [random_resized_crop(rng, data) for data in corpus.jpegs]

    def verify() -> None:
        for jpeg, sluice, (y, x, h, w) in zip(corpus.jpegs, corpus.sluices, crops, strict=True):
            crop = penstock.decode(sluice, region=(y, x, h, w))
            np.testing.assert_array_equal(crop, penstock.decode(jpeg)[y : y + h, x : x + w])

    question = "How fast do regions of Sluice images decode?"
    with session(corpus, question, rounds=rounds, record=record) as timed:
        contenders: dict[str, Contender] = {
            "sluice": cropping(corpus.sluices, crops, lambda data, crop: penstock.decode(data, region=crop)),
            "jpeg": cropping(corpus.jpegs, crops, lambda data, crop: penstock.decode(data, region=crop)),
            "libjpeg-turbo": cropping(corpus.jpegs, crops, libjpeg_region),
        }
        timings = timed.compare(contenders, verify=verify)
        return timed.report(timings, baseline="libjpeg-turbo")["sluice"].of_best


def cropping(files: Sequence[bytes], crops: Sequence[Region], decode: Callable[[bytes, Region], object]) -> Contender:
    """Decode a region of each file."""

    def run() -> None:
        for data, crop in zip(files, crops, strict=True):
            decode(data, crop)

    return run


def session(corpus: Corpus, question: str, *, rounds: int, record: bool) -> Session:
    """Open a session for this corpus."""
    return Session(
        "sluice",
        question,
        corpus.name,
        len(corpus.jpegs),
        rounds=rounds,
        record=record,
        packages=("simplejpeg",),
    )


def encode_speed(files: Sequence[bytes]) -> float:
    """Encode all files with the default tables; gives bytes of JPEG in a second of CPU time."""
    begin = time.process_time()
    for data in files:
        from_jpeg(data)
    seconds = time.process_time() - begin
    print(f"encode: {sum(map(len, files)) / seconds / 1e6:.1f} MB/s of JPEG")
    return sum(map(len, files)) / seconds


if __name__ == "__main__":
    main()
