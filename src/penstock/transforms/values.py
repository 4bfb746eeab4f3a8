"""Transforms of pixel values: colours, types, ranges and labels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from penstock import _native
from penstock.errors import ArgumentError
from penstock.transforms.transform import Transform, number_range

DTYPES = ("uint8", "uint16", "float32", "float16")

Range = tuple[float, float]


@dataclass(frozen=True)
class ColorJitter(Transform):
    """Change brightness, contrast, saturation and hue by random factors, in random order, like Pillow.

    One number x means the range [max(0, 1 - x), 1 + x], and [-x, x] for hue. You can also pass (min, max).

    >>> ColorJitter(brightness=0.4, hue=(-0.1, 0.1))
    ColorJitter(brightness=(0.6, 1.4), contrast=None, saturation=None, hue=(-0.1, 0.1))
    """

    brightness: float | Sequence[float] | None = None
    contrast: float | Sequence[float] | None = None
    saturation: float | Sequence[float] | None = None
    hue: float | Sequence[float] | None = None

    def __post_init__(self) -> None:
        for name in ("brightness", "contrast", "saturation", "hue"):
            object.__setattr__(self, name, _factor_range(name, getattr(self, name)))

    def operation(self) -> _native.ColorJitterOperation:  # noqa: D102
        ranges = [_factor_range(name, getattr(self, name)) for name in ("brightness", "contrast", "saturation", "hue")]
        return _native.ColorJitterOperation(*[None if pair is None else list(pair) for pair in ranges])


@dataclass(frozen=True)
class ToDtype(Transform):
    """Convert pixels to another type. `scale=True` also scales the range (255 becomes 1.0).

    The type is a NumPy type, its name, or a torch type. Masks and boxes keep their types.

    >>> ToDtype("float32", scale=True)
    ToDtype(dtype='float32', scale=True)
    """

    runs_on_device: ClassVar[bool] = True
    dtype: object
    scale: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", _dtype_name(self.dtype))

    @property
    def is_float(self) -> bool:
        """True if the result is floating point."""
        return self.dtype in ("float32", "float16")

    def operation(self) -> _native.ToDtypeOperation:  # noqa: D102
        return _native.ToDtypeOperation(_dtype_name(self.dtype), self.scale)


@dataclass(frozen=True)
class Normalize(Transform):
    """Compute (value - mean) / std per channel, after a ToDtype to floating point.

    >>> Normalize(mean=[0.5], std=[0.25])
    Normalize(mean=(0.5,), std=(0.25,), inplace=False)
    """

    runs_on_device: ClassVar[bool] = True
    mean: Sequence[float]
    std: Sequence[float]
    inplace: bool = False

    def __post_init__(self) -> None:
        mean, std = (tuple(float(value) for value in values) for values in (self.mean, self.std))
        if len(mean) != len(std) or not 1 <= len(mean) <= 4:
            raise ArgumentError(
                f"Normalize has {len(mean)} means and {len(std)} standard deviations",
                where="Normalize",
                fix="pass as many of both as the image has channels",
            )
        if not all(map(math.isfinite, (*mean, *std))) or 0 in std:
            raise ArgumentError(
                f"mean={mean}, std={std} cannot normalise",
                where="Normalize",
                fix="pass finite numbers, no std of 0",
            )
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "std", std)

    def operation(self) -> _native.NormalizeOperation:  # noqa: D102
        return _native.NormalizeOperation(list(self.mean), list(self.std))


@dataclass(frozen=True)
class Remap(Transform):
    """Change the labels of masks: `labels[old] = new`. Other labels become `default`, or stay if it is None.

    torchvision has no such transform.

    >>> Remap({7: 0, 8: 1}, default=255).labels
    {7: 0, 8: 1}
    """

    runs_on_device: ClassVar[bool] = True
    labels: Mapping[int, int]
    default: int | None = None

    def __post_init__(self) -> None:
        labels = {int(old): int(new) for old, new in self.labels.items()}
        named = [*labels, *labels.values(), *([] if self.default is None else [self.default])]
        if not all(0 <= label <= 65535 for label in named):
            raise ArgumentError("Remap names a label outside of 0 to 65535", where="Remap", fix="use labels of a mask")
        object.__setattr__(self, "labels", labels)

    def __hash__(self) -> int:
        return hash((tuple(sorted(self.labels.items())), self.default))

    def operation(self) -> _native.RemapOperation:  # noqa: D102
        others = range(max(self.labels, default=-1) + 1)
        table = [self.labels.get(old, old if self.default is None else self.default) for old in others]
        return _native.RemapOperation(table, self.default)


def _factor_range(name: str, value: float | Sequence[float] | None) -> Range | None:
    """Return the range of a factor, or None if it changes nothing.

    >>> _factor_range("contrast", 0.5), _factor_range("hue", 0)
    ((0.5, 1.5), None)
    """
    if value is None:
        return None
    center, low, high = (0.0, -0.5, 0.5) if name == "hue" else (1.0, 0.0, math.inf)
    if isinstance(value, (int, float)):
        if value < 0:
            raise ArgumentError(f"{name}={value} is negative", where="ColorJitter", fix="pass a number of at least 0")
        value = (max(center - value, low) if name != "hue" else center - value, center + value)
    pair = number_range(name, value, low=low, high=high)
    return None if pair == (center, center) else pair


def _dtype_name(dtype: object) -> str:
    """Return the name of a type that is given as NumPy's, as torch's, or by name.

    >>> _dtype_name(np.float16), _dtype_name("torch.uint8")
    ('float16', 'uint8')
    """
    text = str(dtype)
    name = text.removeprefix("torch.") if text.startswith("torch.") else _numpy_name(dtype)
    if name not in DTYPES:
        raise ArgumentError(
            f"images cannot become {dtype!r}", where="ToDtype", fix=f"choose one of {', '.join(DTYPES)}"
        )
    return name


def _numpy_name(dtype: object) -> str:
    try:
        return np.dtype(dtype).name  # type: ignore[call-overload, no-any-return]  # anything may be asked for
    except TypeError:
        return ""
