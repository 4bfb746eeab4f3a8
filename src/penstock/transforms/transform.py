"""Base class of transforms, and checks of their arguments."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from enum import Enum
from numbers import Integral
from typing import ClassVar, TypeAlias

from penstock import _native
from penstock.errors import ArgumentError

Operation: TypeAlias = (
    _native.ResizeOperation
    | _native.CenterCropOperation
    | _native.RandomCropOperation
    | _native.RandomResizedCropOperation
    | _native.ScaleJitterOperation
    | _native.RandomHorizontalFlipOperation
    | _native.RandomVerticalFlipOperation
    | _native.PadOperation
    | _native.PadIfSmallerOperation
    | _native.LetterboxOperation
    | _native.RandomZoomOutOperation
    | _native.RandomResizeOperation
    | _native.RandomShortestSizeOperation
    | _native.RandomRotationOperation
    | _native.RandomAffineOperation
    | _native.RandomPerspectiveOperation
    | _native.ColorJitterOperation
    | _native.ToDtypeOperation
    | _native.NormalizeOperation
    | _native.RandomErasingOperation
    | _native.RemapOperation
    | _native.ChangeOperation
    | _native.GroupOperation
)

Size: TypeAlias = tuple[int, int]


class InterpolationMode(Enum):
    """Filters of a resize, with torchvision's names and values. All except nearest are antialiased."""

    NEAREST = "nearest"
    NEAREST_EXACT = "nearest-exact"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"
    BOX = "box"
    HAMMING = "hamming"
    LANCZOS = "lanczos"

    @property
    def filter(self) -> str:
        """Name of Pillow's filter. Pillow's nearest filter is the one that torchvision calls exact."""
        return "nearest" if self is InterpolationMode.NEAREST_EXACT else self.value


class Transform(ABC):
    """Step of a chain, as a frozen value. Random choices are made per sample, by (seed, epoch, id)."""

    __slots__ = ()
    runs_on_device: ClassVar[bool] = False
    """True if `decode_on="device"` has the transform."""

    @abstractmethod
    def operation(self) -> Operation:
        """Return the operation of the native core."""

    def operations(self) -> list[Operation]:
        """Return the operations of the native core: one, or those of a group."""
        return [self.operation()]


def set_fields(transform: Transform, **values: object) -> None:
    """Set fields of a frozen transform while it is made."""
    for name, value in values.items():
        object.__setattr__(transform, name, value)


def size_pair(name: str, size: int | Sequence[int]) -> Size:
    """Convert a size to (height, width); one number is a square.

    >>> size_pair("size", 224), size_pair("size", (120, 160))
    ((224, 224), (120, 160))
    """
    sides = tuple(size) if isinstance(size, Sequence) else (size,)
    if len(sides) not in (1, 2) or not all(isinstance(side, Integral) and 0 < side < 2**31 for side in sides):
        raise ArgumentError(
            f"{name}={size!r} is not a size", where="transforms", fix="pass a positive integer or (height, width)"
        )
    return int(sides[0]), int(sides[-1])


def number_range(
    name: str, values: Sequence[float], *, low: float = 0.0, high: float = math.inf
) -> tuple[float, float]:
    """Check a range (min, max): finite, in order and within [low, high]."""
    pair = tuple(float(value) for value in values) if isinstance(values, Sequence) else ()
    if len(pair) != 2 or not low <= pair[0] <= pair[1] <= high or math.isinf(pair[1]):
        limits = f"{low:g} <= min <= max" + (f" <= {high:g}" if math.isfinite(high) else "")
        raise ArgumentError(
            f"{name}={values!r} is not a range", where="transforms", fix=f"pass (min, max) with {limits}"
        )
    return pair[0], pair[1]


def check_probability(p: float, where: str) -> None:
    """Refuse numbers that are not probabilities."""
    if not 0 <= p <= 1:
        raise ArgumentError(f"p={p} is not a probability", where=where, fix="pass 0 <= p <= 1")


def interpolation_mode(mode: InterpolationMode | str | int) -> InterpolationMode:
    """Convert a mode, its value as text, or Pillow's number to the mode.

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
    """Refuse to shrink without antialiasing, because that silently loses accuracy."""
    if antialias is False and interpolation.filter != "nearest":
        raise ArgumentError(
            "antialias=False is not supported",
            where="transforms",
            fix="leave antialias at True, or choose InterpolationMode.NEAREST",
        )
