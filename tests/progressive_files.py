"""Folders of small JPEGs, and datasets of them in blocks, for tests of fidelity."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import penstock
from penstock.build import build
from penstock.testing.codec import sample_image
from penstock.types import Pixels


def picture(number: int, *, height: int = 40, width: int = 48, channels: int = 3) -> Pixels:
    """Smooth and textured parts, another for each number."""
    pixels = sample_image(height, width, channels, "uint8", seed=number)
    return np.roll(pixels, number, axis=1)


def write_jpegs(folder: Path, count: int, *, greys: int = 0, side: int = 40) -> Path:
    """`count` JPEGs in two classes, the last `greys` of them without colour."""
    for number in range(count):
        channels = 1 if number >= count - greys else 3
        place = folder / f"class{number % 2}" / f"{number:04}.jpg"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(penstock.encode(picture(number, height=side, channels=channels), "jpeg:q=90"))
    return folder


def build_blocks(folder: Path, count: int = 70, *, greys: int = 3, side: int = 40, mix: str = "pjpeg=1") -> Path:
    """A dataset of two blocks, unless another count is given, beside its source `folder / "source"`."""
    write_jpegs(folder / "source", count, greys=greys, side=side)
    return build(folder / "source", folder / "blocks.pen", mix=mix).path
