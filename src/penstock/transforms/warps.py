"""Rotations, affine and perspective transforms, equal to torchvision's on Pillow images."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from penstock import _native
from penstock.errors import ArgumentError
from penstock.transforms.fills import Fill, fill_of
from penstock.transforms.transform import InterpolationMode, Transform, interpolation_mode, set_fields

Pair: TypeAlias = tuple[float, float]

WARP_MODES = (InterpolationMode.NEAREST, InterpolationMode.BILINEAR, InterpolationMode.BICUBIC)


@dataclass(frozen=True)
class RandomRotation(Transform):
    """Turn the image counter-clockwise by a random angle.

    Args:
        degrees: (min, max), or one number x for (-x, x).
        interpolation: Nearest, bilinear or bicubic. Masks use nearest.
        expand: Make the result large enough for the whole turned image. Sizes then differ between samples.
        center: Centre of the turn as (x, y); by default the middle of the image.
        fill: Colour outside of the image: a number, one per channel, or one of these per field:
            `fill={"image": 0, "mask": 255}`.

    >>> RandomRotation(30).degrees
    (-30.0, 30.0)
    """

    degrees: float | Sequence[float]
    interpolation: InterpolationMode = InterpolationMode.NEAREST
    expand: bool = False
    center: Sequence[float] | None = None
    fill: Fill = 0

    def __post_init__(self) -> None:
        degrees = _symmetric("degrees", self.degrees, "RandomRotation")
        mode = _warp_mode(self.interpolation, "RandomRotation")
        set_fields(self, degrees=degrees, interpolation=mode, center=_point(self.center, "RandomRotation"))
        fill_of(self.fill, "image", "RandomRotation")

    def operation(self) -> _native.RandomRotationOperation:  # noqa: D102
        return _native.RandomRotationOperation(
            list(_symmetric("degrees", self.degrees, "RandomRotation")),
            self.interpolation.filter,
            self.expand,
            None if self.center is None else list(self.center),
            fill_of(self.fill, "image", "RandomRotation"),
            fill_of(self.fill, "mask", "RandomRotation"),
        )


@dataclass(frozen=True)
class RandomAffine(Transform):
    """Turn, shift, scale and shear the image by random amounts, about its middle or `center`.

    Args:
        degrees: Range of the turn, clockwise: (min, max), or one number x for (-x, x).
        translate: Largest shifts as shares of width and height; None for no shift.
        scale: Range of the scale; None for 1.
        shear: Range of degrees along x; four numbers give the range along y too. One number x means (-x, x).
        interpolation: Nearest, bilinear or bicubic. Masks use nearest.
        fill: Colour outside of the image, as in RandomRotation.
        center: Fixed point as (x, y); by default the middle of the image.

    >>> RandomAffine(10, translate=(0.1, 0.1), shear=5).shear
    (-5.0, 5.0)
    """

    degrees: float | Sequence[float]
    translate: Sequence[float] | None = None
    scale: Sequence[float] | None = None
    shear: float | Sequence[float] | None = None
    interpolation: InterpolationMode = InterpolationMode.NEAREST
    fill: Fill = 0
    center: Sequence[float] | None = None

    def __post_init__(self) -> None:
        where = "RandomAffine"
        set_fields(
            self,
            degrees=_symmetric("degrees", self.degrees, where),
            translate=None if self.translate is None else _shares(self.translate),
            scale=None if self.scale is None else _scales(self.scale),
            shear=None if self.shear is None else _shears(self.shear),
            interpolation=_warp_mode(self.interpolation, where),
            center=_point(self.center, where),
        )
        fill_of(self.fill, "image", where)

    def operation(self) -> _native.RandomAffineOperation:  # noqa: D102
        shear = () if self.shear is None else _shears(self.shear)
        return _native.RandomAffineOperation(
            list(_symmetric("degrees", self.degrees, "RandomAffine")),
            None if self.translate is None else list(self.translate),
            None if self.scale is None else list(self.scale),
            list(shear[:2]) if shear else None,
            list(shear[2:]) if len(shear) == 4 else None,
            self.interpolation.filter,
            None if self.center is None else list(self.center),
            (fill_of(self.fill, "image", "RandomAffine"), fill_of(self.fill, "mask", "RandomAffine")),
        )


@dataclass(frozen=True)
class RandomPerspective(Transform):
    """Show the image from a random direction, with probability `p`.

    Args:
        distortion_scale: Largest shift of a corner, as a share of half a side, from 0 to 1.
        p: Probability of a distortion.
        interpolation: Nearest, bilinear or bicubic. Masks use nearest.
        fill: Colour outside of the image, as in RandomRotation.

    >>> RandomPerspective(0.3).p
    0.5
    """

    distortion_scale: float = 0.5
    p: float = 0.5
    interpolation: InterpolationMode = InterpolationMode.BILINEAR
    fill: Fill = 0

    def __post_init__(self) -> None:
        where = "RandomPerspective"
        for name in ("distortion_scale", "p"):
            if not 0 <= getattr(self, name) <= 1:
                raise ArgumentError(
                    f"{name}={getattr(self, name)} is outside of 0 to 1", where=where, fix=f"pass 0 <= {name} <= 1"
                )
        set_fields(self, interpolation=_warp_mode(self.interpolation, where))
        fill_of(self.fill, "image", where)

    def operation(self) -> _native.RandomPerspectiveOperation:  # noqa: D102
        fills = [fill_of(self.fill, field, "RandomPerspective") for field in ("image", "mask")]
        return _native.RandomPerspectiveOperation(self.distortion_scale, self.p, self.interpolation.filter, *fills)


def _warp_mode(mode: InterpolationMode | str | int, where: str) -> InterpolationMode:
    found = interpolation_mode(mode)
    if found not in WARP_MODES:
        raise ArgumentError(
            f"{where} has no interpolation {found.value!r}",
            where=where,
            fix="choose nearest, bilinear or bicubic",
        )
    return found


def _finite(values: Sequence[float]) -> bool:
    return all(isinstance(value, (int, float)) and math.isfinite(value) for value in values)


def _symmetric(name: str, values: float | Sequence[float], where: str) -> Pair:
    """Convert a range (min, max), or x for (-x, x)."""
    pair = tuple(values) if isinstance(values, Sequence) else (-values, values)
    if len(pair) != 2 or not _finite(pair) or pair[0] > pair[1]:
        raise ArgumentError(
            f"{name}={values!r} is not a range", where=where, fix="pass (min, max), or a number of at least 0"
        )
    return float(pair[0]), float(pair[1])


def _point(center: Sequence[float] | None, where: str) -> Pair | None:
    if center is None:
        return None
    if len(center) != 2 or not _finite(center):
        raise ArgumentError(f"center={center!r} is not a position", where=where, fix="pass (x, y)")
    return float(center[0]), float(center[1])


def _shares(translate: Sequence[float]) -> Pair:
    if len(translate) != 2 or not all(0 <= value <= 1 for value in translate):
        raise ArgumentError(
            f"translate={translate!r} is not a pair of shares", where="RandomAffine", fix="pass two numbers from 0 to 1"
        )
    return float(translate[0]), float(translate[1])


def _scales(scale: Sequence[float]) -> Pair:
    if len(scale) != 2 or not _finite(scale) or not 0 < scale[0] <= scale[1]:
        raise ArgumentError(
            f"scale={scale!r} is not a range", where="RandomAffine", fix="pass (min, max) with 0 < min <= max"
        )
    return float(scale[0]), float(scale[1])


def _shears(shear: float | Sequence[float]) -> tuple[float, ...]:
    if isinstance(shear, Sequence) and len(shear) == 4:
        return (*_symmetric("shear", shear[:2], "RandomAffine"), *_symmetric("shear", shear[2:], "RandomAffine"))
    return _symmetric("shear", shear, "RandomAffine")
