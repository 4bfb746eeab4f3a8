"""Paddings, letterboxes, vertical flips, and resizes to a random size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from penstock import _native
from penstock.errors import ArgumentError
from penstock.transforms.fills import Fill, check_padding_mode, fill_of, padding_sides
from penstock.transforms.transform import (
    InterpolationMode,
    Transform,
    check_antialias,
    check_probability,
    interpolation_mode,
    number_range,
    set_fields,
    size_pair,
)


@dataclass(frozen=True)
class RandomVerticalFlip(Transform):
    """Turn the image upside down with probability `p`."""

    runs_on_device: ClassVar[bool] = True
    p: float = 0.5

    def __post_init__(self) -> None:
        check_probability(self.p, "RandomVerticalFlip")

    def operation(self) -> _native.RandomVerticalFlipOperation:  # noqa: D102
        return _native.RandomVerticalFlipOperation(self.p)


@dataclass(frozen=True)
class Pad(Transform):
    """Pad all sides of the image.

    Args:
        padding: One number, (left and right, top and bottom), or (left, top, right, bottom).
        fill: A number, one per channel, or one of these per field: `fill={"image": 0, "mask": 255}`.
        padding_mode: "constant", "edge", "reflect" or "symmetric".

    >>> Pad((1, 2)).padding
    (1, 2, 1, 2)
    """

    runs_on_device: ClassVar[bool] = True
    padding: int | Sequence[int]
    fill: Fill = 0
    padding_mode: str = "constant"

    def __post_init__(self) -> None:
        check_padding_mode(self.padding_mode, "Pad")
        set_fields(self, padding=padding_sides(self.padding, "Pad"))
        fill_of(self.fill, "image", "Pad")

    def operation(self) -> _native.PadOperation:  # noqa: D102
        sides = padding_sides(self.padding, "Pad")
        return _native.PadOperation(list(sides), self.padding_mode, *_fills(self.fill, "Pad"))


@dataclass(frozen=True)
class PadIfSmaller(Transform):
    """Pad images that are smaller than `size` at the right and at the bottom, as torchvision's segmentation recipe.

    >>> PadIfSmaller(480, fill={"image": 0, "mask": 255}).size
    (480, 480)
    """

    runs_on_device: ClassVar[bool] = True
    size: int | Sequence[int]
    fill: Fill = 0

    def __post_init__(self) -> None:
        set_fields(self, size=size_pair("size", self.size))
        fill_of(self.fill, "image", "PadIfSmaller")

    def operation(self) -> _native.PadIfSmallerOperation:  # noqa: D102
        return _native.PadIfSmallerOperation(size_pair("size", self.size), *_fills(self.fill, "PadIfSmaller"))


@dataclass(frozen=True)
class Letterbox(Transform):
    """Resize to fit into `size`, keeping the ratio, and pad to `size` on both sides, as YOLO does.

    Args:
        size: (height, width), or one number for a square.
        fill: A number, one per channel, or one of these per field. Masks get 114 too unless they have their own.
        interpolation: Filter of the resize, which is antialiased; YOLO's own, of OpenCV, is not.
        scaleup: Enlarge images that are smaller than `size`.

    >>> Letterbox(640, fill={"image": 114, "mask": 255}).size
    (640, 640)
    """

    runs_on_device: ClassVar[bool] = True
    size: int | Sequence[int]
    fill: Fill = 114
    interpolation: InterpolationMode = InterpolationMode.BILINEAR
    scaleup: bool = True

    def __post_init__(self) -> None:
        set_fields(self, size=size_pair("size", self.size), interpolation=interpolation_mode(self.interpolation))
        fill_of(self.fill, "image", "Letterbox")

    def operation(self) -> _native.LetterboxOperation:  # noqa: D102
        size = size_pair("size", self.size)
        fills = _fills(self.fill, "Letterbox")
        return _native.LetterboxOperation(size, self.interpolation.filter, self.scaleup, *fills)


@dataclass(frozen=True)
class RandomZoomOut(Transform):
    """Put the image at a random position of a larger canvas, with probability `p`.

    Args:
        fill: Colour of the canvas: a number, one per channel, or one of these per field.
        side_range: Range of the factor by which the sides of the canvas are larger, from 1.
        p: Probability of a larger canvas.

    >>> RandomZoomOut(fill=127).side_range
    (1.0, 4.0)
    """

    runs_on_device: ClassVar[bool] = True
    fill: Fill = 0
    side_range: Sequence[float] = (1.0, 4.0)
    p: float = 0.5

    def __post_init__(self) -> None:
        set_fields(self, side_range=number_range("side_range", self.side_range, low=1.0))
        check_probability(self.p, "RandomZoomOut")
        fill_of(self.fill, "image", "RandomZoomOut")

    def operation(self) -> _native.RandomZoomOutOperation:  # noqa: D102
        fills = _fills(self.fill, "RandomZoomOut")
        return _native.RandomZoomOutOperation(list(self.side_range), self.p, *fills)


@dataclass(frozen=True)
class RandomResize(Transform):
    """Resize the shorter side to a random length from `min_size` up to, but not including, `max_size`.

    >>> RandomResize(260, 1040).max_size
    1040
    """

    runs_on_device: ClassVar[bool] = True
    min_size: int
    max_size: int
    interpolation: InterpolationMode = InterpolationMode.BILINEAR
    antialias: bool | None = True

    def __post_init__(self) -> None:
        size_pair("min_size", self.min_size)
        if self.max_size <= self.min_size:
            raise ArgumentError(
                f"max_size={self.max_size} must be above min_size={self.min_size}",
                where="RandomResize",
                fix="raise max_size",
            )
        mode = interpolation_mode(self.interpolation)
        check_antialias(self.antialias, mode)
        set_fields(self, interpolation=mode)

    def operation(self) -> _native.RandomResizeOperation:  # noqa: D102
        return _native.RandomResizeOperation(self.min_size, self.max_size, self.interpolation.filter)


@dataclass(frozen=True)
class RandomShortestSize(Transform):
    """Resize the shorter side to one of several lengths, or to less if the longer side would exceed `max_size`.

    >>> RandomShortestSize(range(480, 801, 32), max_size=1333).min_size[:3]
    (480, 512, 544)
    """

    runs_on_device: ClassVar[bool] = True
    min_size: int | Sequence[int]
    max_size: int | None = None
    interpolation: InterpolationMode = InterpolationMode.BILINEAR
    antialias: bool | None = True

    def __post_init__(self) -> None:
        sizes = tuple(self.min_size) if isinstance(self.min_size, Sequence) else (self.min_size,)
        if not sizes:
            raise ArgumentError("min_size is empty", where="RandomShortestSize", fix="pass one length or more")
        for size in (*sizes, *([] if self.max_size is None else [self.max_size])):
            size_pair("min_size", size)
        mode = interpolation_mode(self.interpolation)
        check_antialias(self.antialias, mode)
        set_fields(self, min_size=sizes, interpolation=mode)

    def operation(self) -> _native.RandomShortestSizeOperation:  # noqa: D102
        sizes = [self.min_size] if isinstance(self.min_size, int) else list(self.min_size)
        return _native.RandomShortestSizeOperation(sizes, self.max_size, self.interpolation.filter)


def _fills(fill: Fill, where: str) -> tuple[list[float], list[float]]:
    return fill_of(fill, "image", where), fill_of(fill, "mask", where)
