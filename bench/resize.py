"""How fast does a crop of a decoded image become a training sample of 224x224, next to Pillow and OpenCV?"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from PIL import Image

import penstock
from bench.corpus import files_of
from bench.timing import Contender, Ratio, Session, arguments
from penstock import _native
from penstock.transforms import Normalize, RandomHorizontalFlip, RandomResizedCrop, ToDtype, Transform, split
from penstock.types import Pixels

SIDE = 224
TRAINING: tuple[Transform, ...] = (RandomResizedCrop(SIDE), RandomHorizontalFlip())
FLOATS = (ToDtype("float32", scale=True), Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]))
GOALS = {"avx2": 3.0, "avx512": 5.0}
"""Required speed of each path relative to Pillow's crop and resize."""


@dataclass(frozen=True)
class Crop:
    """The region that a draw wants of an image: as an array, as Pillow's image, and the draw."""

    pixels: Pixels
    image: Image.Image
    draw: _native.Draw


def main() -> None:
    """Compare our paths with the rivals, then the types and layouts of results; exit 1 if a goal is missed."""
    parser = arguments(__doc__ or "")
    parser.set_defaults(limit=200)
    options = parser.parse_args()
    crops = load(options.limit)
    found = resizes(crops, rounds=options.rounds, record=options.record)
    outputs(crops, rounds=options.rounds, record=options.record)
    slow = {path: ratio.of_best for path, ratio in found.items() if ratio.of_best < GOALS.get(path, 0)}
    if slow:
        texts = [f"{path} {times:.1f} < {GOALS[path]}" for path, times in slow.items()]
        sys.exit("times faster than Pillow, below the goal: " + ", ".join(texts))


def load(limit: int) -> list[Crop]:
    """Draw a crop of every colour image as in training; pixels are cropped before timing."""
    program = split(TRAINING).program()
    crops = []
    for index, path in enumerate(files_of("imagenet", limit)):
        whole = penstock.decode(path.read_bytes())
        if whole.ndim != 3:
            continue
        draw = program.draw((whole.shape[0], whole.shape[1]), 0, 0, index)
        y, x, height, width = program.region(draw)
        pixels: Pixels = whole[y : y + height, x : x + width].copy()
        crops.append(Crop(pixels, Image.fromarray(pixels), draw))
    return crops


def resizes(crops: Sequence[Crop], *, rounds: int, record: bool) -> dict[str, Ratio]:
    """Compare our paths, Pillow's resize, and two filters of OpenCV, of which INTER_AREA antialiases."""
    program = split(TRAINING).program()
    out = np.empty((SIDE, SIDE, 3), np.uint8)

    def ours(path: str) -> Contender:
        def run() -> None:
            _native.force_simd_path(path)
            for crop in crops:
                program.apply(crop.pixels, crop.draw, out)

        return run

    def with_opencv(method: int) -> Contender:
        return each(crops, lambda crop: cv2.resize(crop.pixels, (SIDE, SIDE), interpolation=method))

    cv2.setNumThreads(1)
    contenders = {path: ours(path) for path in _native.simd_paths()} | {
        "pillow": each(crops, lambda crop: crop.image.resize((SIDE, SIDE), Image.Resampling.BILINEAR)),
        "opencv area": with_opencv(cv2.INTER_AREA),
        "opencv linear, aliased": with_opencv(cv2.INTER_LINEAR),
    }
    question = "How fast does a crop become 224x224?"
    packages = ("pillow", "opencv-python-headless")
    with Session(
        "resize", question, "imagenet", len(crops), rounds=rounds, record=record, packages=packages
    ) as session:
        timings = session.compare(contenders, verify=lambda: verify(crops))
        _native.force_simd_path(_native.best_simd_path())
        print_each(crops, {name: timing.best for name, timing in timings.items()})
        return session.report(timings, baseline="pillow", amount_bytes=sum(crop.pixels.nbytes for crop in crops))


def outputs(crops: Sequence[Crop], *, rounds: int, record: bool) -> None:
    """Measure the cost of the type and layout of the result, on the best path."""

    def ours(transforms: Sequence[Transform], dtype: str, layout: str) -> Contender:
        program = split([*TRAINING, *transforms]).program()
        out = np.empty((SIDE, SIDE, 3) if layout == "NHWC" else (3, SIDE, SIDE), dtype)
        return each(crops, lambda crop: program.apply(crop.pixels, crop.draw, out, layout))

    halves = (ToDtype("float16", scale=True), FLOATS[1])
    contenders = {
        f"{dtype} {layout}": ours(transforms, dtype, layout)
        for transforms, dtype in (((), "uint8"), (FLOATS, "float32"), (halves, "float16"))
        for layout in ("NHWC", "NCHW")
    }
    question = "What do types and layouts cost?"
    with Session("resize", question, "imagenet", len(crops), rounds=rounds, record=record) as session:
        timings = session.compare(contenders, verify=lambda: verify(crops))
        print_each(crops, {name: timing.best for name, timing in timings.items()})
        session.report(timings, baseline="uint8 NHWC", amount_bytes=sum(crop.pixels.nbytes for crop in crops))


def each(crops: Sequence[Crop], run: Callable[[Crop], object]) -> Contender:
    """Make a contender that processes all crops once."""

    def run_all() -> None:
        for crop in crops:
            run(crop)

    return run_all


def print_each(crops: Sequence[Crop], best: dict[str, float]) -> None:
    """Print microseconds per sample."""
    print("  us a sample: " + ", ".join(f"{name} {seconds / len(crops) * 1e6:.0f}" for name, seconds in best.items()))


def verify(crops: Sequence[Crop]) -> None:
    """Check that every path gives Pillow's pixels within one level, mirrored if the draw says so."""
    program = split(TRAINING).program()
    out = np.empty((SIDE, SIDE, 3), np.uint8)
    for path in _native.simd_paths():
        _native.force_simd_path(path)
        for crop in crops[:20]:
            program.apply(crop.pixels, crop.draw, out)
            theirs = np.asarray(crop.image.resize((SIDE, SIDE), Image.Resampling.BILINEAR)).astype(int)
            mirrored = theirs[:, ::-1] if crop.draw.steps[0]["flipped"] else theirs
            np.testing.assert_allclose(out, mirrored, atol=1, err_msg=path)
    _native.force_simd_path(_native.best_simd_path())


if __name__ == "__main__":
    main()
