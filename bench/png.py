"""How fast do PNGs decode, next to libspng and kornia-rs, the fastest PNG decoder that Python has had?"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

import imagecodecs
import kornia_rs
import numpy as np

import penstock
from bench.corpus import files_of
from bench.timing import Contender, Ratio, Session, arguments
from penstock import _native
from penstock.types import Pixels

CORPORA = ("cityscapes", "cityscapes-masks", "cityscapes-full")
GOALS = {"libspng": 2.2, "kornia-rs": 1.1}
"""Required speed relative to each rival on `cityscapes`."""

Decode = Callable[[bytes], object]


def main() -> None:
    """Compare the decoders on every corpus, then our own paths; exit 1 if a goal is missed."""
    parser = arguments(__doc__ or "")
    parser.set_defaults(limit=100)
    options = parser.parse_args()
    missed: list[str] = []
    for corpus in CORPORA:
        files = [path.read_bytes() for path in files_of(corpus, options.limit)]
        ratios = compare(corpus, files, decoders(files), rounds=options.rounds, record=options.record)
        if corpus == "cityscapes":
            compare(corpus, files, paths(), rounds=options.rounds, record=options.record)
            missed = [f"{name} {found:.2f} < {GOALS[name]}" for name, found in against(ratios) if found < GOALS[name]]
    if missed:
        sys.exit("below the goal: " + ", ".join(missed))


def decoders(files: Sequence[bytes]) -> dict[str, Decode]:
    """Return the decoders, from bytes in memory to a new array; kornia-rs with both of its functions."""
    info = penstock.inspect(files[0])
    sides = (info.height, info.width)
    mode, pillow_mode = ("rgb", "RGB") if info.channels == 3 else ("mono", "L")
    return {
        "penstock": penstock.decode,
        "libspng": imagecodecs.spng_decode,
        "kornia-rs Image": lambda data: kornia_rs.image.Image.decode(data, mode=pillow_mode),
        "kornia-rs png_u8": lambda data: kornia_rs.io.decode_image_png_u8(data, sides, mode),
    }


def paths() -> dict[str, Decode]:
    """Return our own decoder on every path of this processor."""

    def on(path: str) -> Decode:
        def decode(data: bytes) -> Pixels:
            _native.force_simd_path(path)
            return penstock.decode(data)

        return decode

    return {path: on(path) for path in _native.simd_paths()}


def compare(
    corpus: str, files: Sequence[bytes], contenders: dict[str, Decode], *, rounds: int, record: bool
) -> dict[str, Ratio]:
    """Time the contenders; gives how many times faster the first of them is than each."""
    first = next(iter(contenders))
    question = "How fast do PNGs decode?" if first == "penstock" else "What do vectors buy a PNG decode?"
    packages = ("imagecodecs", "kornia-rs")
    with Session("png", question, corpus, len(files), rounds=rounds, record=record, packages=packages) as session:
        timings = session.compare(
            {name: over(files, decode) for name, decode in contenders.items()},
            verify=lambda: verify(files, contenders),
        )
        _native.force_simd_path(_native.best_simd_path())
        baseline = "libspng" if first == "penstock" else first
        amount_bytes = sum(penstock.decode(data).nbytes for data in files)
        return session.report(timings, baseline=baseline, amount_bytes=amount_bytes)


def over(files: Sequence[bytes], decode: Decode) -> Contender:
    """Make a contender that decodes all files once."""

    def run() -> None:
        for data in files:
            decode(data)

    return run


def verify(files: Sequence[bytes], contenders: dict[str, Decode]) -> None:
    """Check that all contenders give the same pixels."""
    for data in files[:10]:
        expected = imagecodecs.png_decode(data)
        for name, decode in contenders.items():
            np.testing.assert_array_equal(pixels_of(decode(data)), expected, err_msg=name)


def pixels_of(decoded: object) -> Pixels:
    """Return an array without a last axis of length 1."""
    pixels: Pixels = np.asarray(decoded.numpy() if isinstance(decoded, kornia_rs.image.Image) else decoded)
    return pixels[:, :, 0] if pixels.ndim == 3 and pixels.shape[2] == 1 else pixels


def against(ratios: dict[str, Ratio]) -> list[tuple[str, float]]:
    """Return how many times faster we are than libspng and kornia-rs's faster function."""
    ours = ratios["penstock"].of_best
    kornia = max(found.of_best for name, found in ratios.items() if name.startswith("kornia-rs"))
    return [("libspng", ours), ("kornia-rs", ours / kornia)]


if __name__ == "__main__":
    main()
