"""Single procedural images, rendered in memory."""

from __future__ import annotations

from penstock import _native
from penstock.errors import ArgumentError
from penstock.synth.scenes import Scenes
from penstock.types import Pixels

KINDS = ("sky", "ground", "block", "tree", "stone", "object")
"""Names of the values 0 to 5 of a mask."""


def label_of(index: int, scenes: Scenes | None = None) -> int:
    """Return the class of image `index`.

    >>> [label_of(index, Scenes(classes=3)) for index in range(5)]
    [0, 1, 2, 0, 1]
    """
    return _checked(index) % (scenes or Scenes()).classes


def render(index: int, scenes: Scenes | None = None) -> Pixels:
    """Render image `index` as H×W×3 uint8, or as H×W uint16 if the scenes have 16 bits.

    >>> render(0, Scenes(width=64, height=32)).shape
    (32, 64, 3)
    """
    return _native.synth_render((scenes or Scenes()).native(), _checked(index))


def render_mask(index: int, scenes: Scenes | None = None) -> Pixels:
    """Render the mask of image `index`: what each pixel shows, as an index into `KINDS`, H×W uint8."""
    return _native.synth_render_mask((scenes or Scenes()).native(), _checked(index))


def _checked(index: int) -> int:
    if not 0 <= index < 2**64:
        raise ArgumentError(f"there is no image {index}", where="index", fix="count from 0", code=100)
    return index
