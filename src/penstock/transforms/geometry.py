"""Crops, resizes and flips."""

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
class Resize(Transform):
    """Resize to (height, width), or the shorter side to `size`, keeping the ratio.

    Args:
        size: (height, width), or the length of the shorter side. None, with `max_size`, sets the longer side.
        interpolation: Filter of the resize.
        max_size: Largest length of the longer side.
        antialias: Always true, except for nearest filters.

    >>> Resize(256)
    Resize(size=256, interpolation=<InterpolationMode.BILINEAR: 'bilinear'>, max_size=None, antialias=True)
    """

    runs_on_device: ClassVar[bool] = True
    size: int | Sequence[int] | None
    interpolation: InterpolationMode = InterpolationMode.BILINEAR
    max_size: int | None = None
    antialias: bool | None = True

    def __post_init__(self) -> None:
        size = self.size[0] if isinstance(self.size, Sequence) and len(self.size) == 1 else self.size
        if size is None:
            if self.max_size is None:
                raise ArgumentError("Resize has neither size nor max_size", where="Resize", fix="pass one of them")
        else:
            pair = size_pair("size", size)
            size = pair if isinstance(size, Sequence) else pair[0]
        if self.max_size is not None:
            size_pair("max_size", self.max_size)
            if isinstance(size, tuple):
                raise ArgumentError(
                    "max_size limits a ratio that (height, width) has fixed",
                    where="Resize",
                    fix="pass size as one number",
                )
            if size is not None and self.max_size <= size:
                raise ArgumentError(
                    f"max_size={self.max_size} must be above size={size}", where="Resize", fix="raise max_size"
                )
        mode = interpolation_mode(self.interpolation)
        check_antialias(self.antialias, mode)
        set_fields(self, size=size, interpolation=mode)

    def operation(self) -> _native.ResizeOperation:  # noqa: D102
        height, width = self.size if isinstance(self.size, tuple) else (self.size, None)
        assert height is None or isinstance(height, int)
        return _native.ResizeOperation(height, width, self.max_size, self.interpolation.filter)


@dataclass(frozen=True, repr=False)
class CenterCrop(Transform):
    """Crop the centre of the image, padded with `fill` if the image is smaller.

    >>> CenterCrop(224), CenterCrop(224, fill={"image": 114, "mask": 255})
    (CenterCrop(size=(224, 224)), CenterCrop(size=(224, 224), fill={'image': 114, 'mask': 255}))
    """

    runs_on_device: ClassVar[bool] = True
    size: int | Sequence[int]
    fill: Fill = 0

    def __post_init__(self) -> None:
        set_fields(self, size=size_pair("size", self.size))
        fill_of(self.fill, "image", "CenterCrop")

    def __repr__(self) -> str:
        return f"CenterCrop(size={self.size}" + (")" if self.fill == 0 else f", fill={self.fill!r})")

    def operation(self) -> _native.CenterCropOperation:  # noqa: D102
        fills = [fill_of(self.fill, field, "CenterCrop") for field in ("image", "mask")]
        return _native.CenterCropOperation(size_pair("size", self.size), *fills)


@dataclass(frozen=True)
class RandomCrop(Transform):
    """Crop a fixed size at a random position, after padding.

    Args:
        size: (height, width), or one number for a square.
        padding: One number, (left and right, top and bottom), or (left, top, right, bottom).
        pad_if_needed: Pad images that are smaller than the crop.
        fill: A number, one per channel, or one of these per field: `fill={"image": 0, "mask": 255}`. Masks get 0 by
            default.
        padding_mode: "constant", "edge", "reflect" or "symmetric".

    >>> RandomCrop(32, padding=4).padding
    (4, 4, 4, 4)
    """

    runs_on_device: ClassVar[bool] = True
    size: int | Sequence[int]
    padding: int | Sequence[int] | None = None
    pad_if_needed: bool = False
    fill: Fill = 0
    padding_mode: str = "constant"

    def __post_init__(self) -> None:
        check_padding_mode(self.padding_mode, "RandomCrop")
        padding = None if self.padding is None else padding_sides(self.padding, "RandomCrop")
        set_fields(self, size=size_pair("size", self.size), padding=padding)
        fill_of(self.fill, "image", "RandomCrop")

    def operation(self) -> _native.RandomCropOperation:  # noqa: D102
        padding = (0, 0, 0, 0) if self.padding is None else padding_sides(self.padding, "RandomCrop")
        return _native.RandomCropOperation(
            size_pair("size", self.size),
            list(padding),
            self.pad_if_needed,
            self.padding_mode,
            fill_of(self.fill, "image", "RandomCrop"),
            fill_of(self.fill, "mask", "RandomCrop"),
        )


@dataclass(frozen=True)
class RandomResizedCrop(Transform):
    """Crop a random area with a random aspect ratio, and resize it, as is usual for ImageNet.

    Tries ten times to find an area within `scale` of the image's area and a ratio (width to height, on a log scale)
    within `ratio`. If no attempt fits, it takes the largest centred crop with a valid ratio. `interpolation` may be a
    sequence of filters, of which one is chosen per sample; "random" is bilinear or bicubic, as in timm.

    >>> RandomResizedCrop(224).size
    (224, 224)
    """

    runs_on_device: ClassVar[bool] = True
    size: int | Sequence[int]
    scale: tuple[float, float] = (0.08, 1.0)
    ratio: tuple[float, float] = (3.0 / 4.0, 4.0 / 3.0)
    interpolation: InterpolationMode | Sequence[InterpolationMode] = InterpolationMode.BILINEAR
    antialias: bool | None = True

    def __post_init__(self) -> None:
        modes = _modes(self.interpolation)
        for mode in modes:
            check_antialias(self.antialias, mode)
        ratio = number_range("ratio", self.ratio)
        if ratio[0] == 0:
            raise ArgumentError("ratio begins at 0", where="RandomResizedCrop", fix="pass ratios above 0")
        scale = number_range("scale", self.scale)
        set_fields(self, size=size_pair("size", self.size), scale=scale, ratio=ratio)
        set_fields(self, interpolation=modes[0] if len(modes) == 1 else modes)

    def operation(self) -> _native.RandomResizedCropOperation:  # noqa: D102
        return _native.RandomResizedCropOperation(
            size_pair("size", self.size),
            self.scale,
            self.ratio,
            [mode.filter for mode in _modes(self.interpolation)],
        )


@dataclass(frozen=True)
class ScaleJitter(Transform):
    """Resize by a random factor relative to fitting `target_size`, keeping the ratio (large scale jitter).

    As in torchvision, the fit is min(target_size[1] / height, target_size[0] / width).

    >>> ScaleJitter((512, 512)).scale_range
    (0.1, 2.0)
    """

    runs_on_device: ClassVar[bool] = True
    target_size: int | Sequence[int]
    scale_range: tuple[float, float] = (0.1, 2.0)
    interpolation: InterpolationMode = InterpolationMode.BILINEAR
    antialias: bool | None = True

    def __post_init__(self) -> None:
        mode = interpolation_mode(self.interpolation)
        check_antialias(self.antialias, mode)
        target = size_pair("target_size", self.target_size)
        set_fields(
            self, target_size=target, scale_range=number_range("scale_range", self.scale_range), interpolation=mode
        )

    def operation(self) -> _native.ScaleJitterOperation:  # noqa: D102
        target = size_pair("target_size", self.target_size)
        return _native.ScaleJitterOperation(target, self.scale_range, self.interpolation.filter)


@dataclass(frozen=True)
class RandomHorizontalFlip(Transform):
    """Mirror the image left to right with probability `p`."""

    runs_on_device: ClassVar[bool] = True
    p: float = 0.5

    def __post_init__(self) -> None:
        check_probability(self.p, "RandomHorizontalFlip")

    def operation(self) -> _native.RandomHorizontalFlipOperation:  # noqa: D102
        return _native.RandomHorizontalFlipOperation(self.p)


def _modes(
    interpolation: InterpolationMode | str | int | Sequence[InterpolationMode | str | int],
) -> tuple[InterpolationMode, ...]:
    """Return the filters to choose from."""
    if interpolation == "random":
        return InterpolationMode.BILINEAR, InterpolationMode.BICUBIC
    if isinstance(interpolation, Sequence) and not isinstance(interpolation, str):
        if not interpolation:
            raise ArgumentError("no interpolation is given", where="RandomResizedCrop", fix="pass one or more")
        return tuple(interpolation_mode(mode) for mode in interpolation)
    return (interpolation_mode(interpolation),)
