"""Colours outside of an image, per field, and paddings around it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from penstock.errors import ArgumentError

Color: TypeAlias = float | Sequence[float]
Fill: TypeAlias = Color | Mapping[str, Color]
"""Number, one number per channel, or one of these per field: {"image": (124, 116, 104), "mask": 255}."""

FILL_FIELDS = ("image", "mask")
PADDING_MODES = ("constant", "edge", "reflect", "symmetric")


def fill_of(fill: Fill, field: str, where: str) -> list[float]:
    """Return the fill of a field, one number or one per channel. Masks get the number for all fields, else 0.

    >>> fill_of({"image": 114, "mask": 255}, "mask", "Pad"), fill_of((1, 2, 3), "mask", "Pad")
    ([255.0], [0.0])
    """
    if isinstance(fill, Mapping):
        unknown = set(fill) - set(FILL_FIELDS)
        if unknown:
            raise ArgumentError(
                f"fill names {sorted(unknown)}", where=where, fix=f"use the keys {', '.join(FILL_FIELDS)}"
            )
        fill = fill.get(field, 0)
    elif field == "mask":
        fill = fill if isinstance(fill, (int, float)) else 0
    values = [float(fill)] if isinstance(fill, (int, float)) else [float(value) for value in fill]
    if not 1 <= len(values) <= 4:
        raise ArgumentError(f"fill={fill!r} is not a colour", where=where, fix="pass one number, or one per channel")
    return values


def padding_sides(padding: int | Sequence[int], where: str) -> tuple[int, int, int, int]:
    """Convert the padding that torchvision accepts to (left, top, right, bottom).

    >>> padding_sides((1, 2), "Pad")
    (1, 2, 1, 2)
    """
    sides = tuple(padding) if isinstance(padding, Sequence) else (padding,)
    if len(sides) not in (1, 2, 4) or not all(isinstance(side, int) and 0 <= side < 2**30 for side in sides):
        raise ArgumentError(
            f"padding={padding!r} is not a padding", where=where, fix="pass 1, 2 or 4 integers of at least 0"
        )
    left, top, right, bottom = (*sides, *sides, *sides, *sides)[:4]
    return left, top, right, bottom


def check_padding_mode(mode: str, where: str) -> None:
    """Refuse unknown padding modes."""
    if mode not in PADDING_MODES:
        raise ArgumentError(
            f"no padding mode is called {mode!r}", where=where, fix=f"choose one of {', '.join(PADDING_MODES)}"
        )
