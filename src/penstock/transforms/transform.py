"""What every transform is, and the checks of arguments that they share."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from enum import Enum
from numbers import Integral
from typing import TypeAlias

from penstock import _native
from penstock.errors import ArgumentError

Operation: TypeAlias = (
    _native.ResizeOperation
    | _native.CenterCropOperation
    | _native.RandomCropOperation
    | _native.RandomResizedCropOperation
    | _native.ScaleJitterOperation
    | _native.RandomHorizontalFlipOperation
    | _native.ColorJitterOperation
    | _native.ToDtypeOperation
    | _native.NormalizeOperation
    | _native.RemapOperation
)

Size: TypeAlias = tuple[int, int]


class InterpolationMode(Enum):
    """Filters of a resize, with torchvision's names and values; all but the nearest are antialiased."""

    NEAREST = "nearest"
    NEAREST_EXACT = "nearest-exact"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"
    BOX = "box"
    HAMMING = "hamming"
    LANCZOS = "lanczos"

    @property
    def filter(self) -> str:
        """Pillow's filter. Its nearest neighbour is what torchvision calls exact."""
        return "nearest" if self is InterpolationMode.NEAREST_EXACT else self.value


class Transform(ABC):
    """One step of a chain. A frozen value: what chance decides is decided per sample, by (seed, epoch, id)."""

    __slots__ = ()

    @abstractmethod
    def operation(self) -> Operation:
        """The same as the native core has it."""


def size_pair(name: str, size: int | Sequence[int]) -> Size:
    """(height, width) of a size: one number is a square.

    >>> size_pair("size", 224), size_pair("size", (120, 160))
    ((224, 224), (120, 160))
    """
    sides = tuple(size) if isinstance(size, Sequence) else (size,)
    if len(sides) not in (1, 2) or not all(isinstance(side, Integral) and 0 < side < 2**31 for side in sides):
        raise ArgumentError(
            f"{name}={size!r} is no size", where="transforms", fix="pass a positive integer or (height, width)"
        )
    return int(sides[0]), int(sides[-1])


def number_range(
    name: str, values: Sequence[float], *, low: float = 0.0, high: float = math.inf
) -> tuple[float, float]:
    """(min, max), finite, in order and within [low, high]."""
    pair = tuple(float(value) for value in values) if isinstance(values, Sequence) else ()
    if len(pair) != 2 or not low <= pair[0] <= pair[1] <= high or math.isinf(pair[1]):
        limits = f"{low:g} <= min <= max" + (f" <= {high:g}" if math.isfinite(high) else "")
        raise ArgumentError(f"{name}={values!r} is no range", where="transforms", fix=f"pass (min, max) with {limits}")
    return pair[0], pair[1]


def interpolation_mode(mode: InterpolationMode | str | int) -> InterpolationMode:
    """The mode; its value as text and Pillow's number are accepted as well.

    >>> interpolation_mode("bilinear"), interpolation_mode(3)
    (<InterpolationMode.BILINEAR: 'bilinear'>, <InterpolationMode.BICUBIC: 'bicubic'>)
    """
    by_number = {0: "nearest", 1: "lanczos", 2: "bilinear", 3: "bicubic", 4: "box", 5: "hamming"}
    text = by_number.get(mode, "") if isinstance(mode, int) else getattr(mode, "value", mode)
    try:
        return InterpolationMode(text)
    except ValueError:
        known = ", ".join(known.value for known in InterpolationMode)
        raise ArgumentError(
            f"no interpolation is called {mode!r}", where="transforms", fix=f"choose one of {known}"
        ) from None


def check_antialias(antialias: bool | None, interpolation: InterpolationMode) -> None:
    """Shrinking without antialiasing loses accuracy in silence; nobody gets it by accident, so nobody gets it."""
    if antialias is False and interpolation.filter != "nearest":
        raise ArgumentError(
            "antialias=False is not offered",
            where="transforms",
            fix="leave antialias at True, or choose InterpolationMode.NEAREST",
        )
