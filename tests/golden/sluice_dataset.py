"""A small dataset of format `sluice` with its own table set and an image that is kept as `jpeg`."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image

import penstock
from penstock.build import build
from tests.golden.images import photo

NAME = "sluice-dataset/data.pen"
NUM_IMAGES = 64
KEPT = "kept.jpg"


def write_sources(folder: Path) -> None:
    """Write the JPEGs that the dataset is made of."""
    folder.mkdir()
    for number in range(NUM_IMAGES):
        pixels = photo(16 + number % 5, 24, 3)
        (folder / f"{number:02}.jpg").write_bytes(penstock.encode(pixels, f"jpeg:q={70 + number % 20}"))
    Image.new("CMYK", (8, 8)).save(folder / KEPT)


def write_missing(folder: Path) -> None:
    """Build the dataset, unless it is there."""
    if (folder / NAME).exists():
        return
    (folder / NAME).parent.mkdir(exist_ok=True)
    with TemporaryDirectory() as work:
        write_sources(Path(work) / "photos")
        build(Path(work) / "photos", folder / NAME, mix="sluice=1")
