"""JPEGs, each beside the restoration data that was made of it: both must be read, and give the file, for ever."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from penstock import _native
from spec.reference.jpeg_restoration import LONGEST, SINGLE, ZEROS, Notes
from tests.jpeg_kinds import (
    SAMPLINGS,
    Scan,
    noise_fills,
    noise_image,
    pillow_jpeg,
    progressive_scans,
    restart,
    with_listed_padding,
    with_listed_runs,
    written,
)

COLOUR = (0, 1, 2)
IMAGE = noise_image(29, 23, SAMPLINGS["420"])
BANDS = [Scan(COLOUR, 0, 0), Scan((0,), 1, 63, 0, 1), Scan((0,), 1, 63, 1, 0), Scan((1,), 1, 63), Scan((2,), 1, 63)]


def short_blocks(notes: Notes) -> bytes:
    """Blocks with few coefficients, in a band that is written as the notes say."""
    image = noise_image(29, 23, SAMPLINGS["grey"])
    for row in image.components[0].blocks:
        for block in row:
            block[1:] = [0] * 63
    return written(image, [Scan((0,), 0, 0), Scan((0,), 1, 63, notes=notes)])


def in_bands(notes: Notes) -> bytes:
    """A progressive file whose bands are all written as the notes say."""
    return written(IMAGE, [Scan(s.components, s.first, s.last, s.high, s.low, notes) for s in BANDS])


JPEGS: dict[str, Callable[[], bytes]] = {
    "baseline": lambda: pillow_jpeg(24, 30),
    "metadata": lambda: pillow_jpeg(24, 30, comment=b"words " * 20, dpi=(72, 72)) + b"behind the end",
    "progressive": lambda: pillow_jpeg(24, 30, progressive=True),
    "script": lambda: written(IMAGE, progressive_scans(3, 1)),
    "restart-padding-listed": lambda: written(
        IMAGE, [Scan(COLOUR, before=restart(1), notes=with_listed_padding(Notes(), [0, 1, 1] * 99))]
    ),
    "padding-zeros-runs-longest": lambda: in_bands(Notes(padding=ZEROS, end_runs=LONGEST)),
    "runs-single": lambda: in_bands(Notes(end_runs=SINGLE)),
    "runs-listed": lambda: short_blocks(with_listed_runs(Notes(), [5, 4, 3])),
    "extra-zeros": lambda: short_blocks(Notes(extra_zeros={0: 1, 3: 2, 7: 3})),
    "fill-blocks": lambda: written(IMAGE, [Scan(COLOUR)], noise_fills(IMAGE)),
}


def paths(name: str, folder: Path) -> tuple[Path, Path]:
    """Give the places of a file and its restoration data."""
    base = folder / "jpeg-restoration" / name
    return base.with_suffix(".jpg"), base.with_suffix(".restoration")


def write_missing(folder: Path) -> None:
    """Write the pairs that are missing."""
    for name, make in JPEGS.items():
        file, restoration = paths(name, folder)
        if file.exists():
            continue
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(make())
        restoration.write_bytes(_native.jpeg_take_apart(file.read_bytes())[1])
