"""Changes of the colours of 8-bit images, each equal to Pillow's to the bit, with torchvision's names."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from penstock import _native
from penstock.errors import ArgumentError
from penstock.transforms.transform import Transform, check_probability, number_range


@dataclass(frozen=True)
class Grayscale(Transform):
    """Replace colours by their grey, repeated in three channels.

    torchvision's default of one channel is not supported natively. A loader can deliver one channel by itself.

    >>> Grayscale()
    Grayscale(num_output_channels=3)
    """

    num_output_channels: int = 3

    def __post_init__(self) -> None:
        if self.num_output_channels != 3:
            raise ArgumentError(
                f"Grayscale to {self.num_output_channels} channels does not run natively",
                where="Grayscale",
                fix="use num_output_channels=3",
            )

    def operation(self) -> _native.ChangeOperation:  # noqa: D102
        return _native.ChangeOperation("grey", 1.0)


@dataclass(frozen=True)
class RandomGrayscale(Transform):
    """Replace colours by their grey with probability `p`. The number of channels stays."""

    p: float = 0.1

    def __post_init__(self) -> None:
        check_probability(self.p, "RandomGrayscale")

    def operation(self) -> _native.ChangeOperation:  # noqa: D102
        return _native.ChangeOperation("grey", self.p)


@dataclass(frozen=True)
class RandomInvert(Transform):
    """Invert colours with probability `p`: level x becomes 255 - x."""

    p: float = 0.5

    def __post_init__(self) -> None:
        check_probability(self.p, "RandomInvert")

    def operation(self) -> _native.ChangeOperation:  # noqa: D102
        return _native.ChangeOperation("invert", self.p)


@dataclass(frozen=True)
class RandomPosterize(Transform):
    """Keep the upper `bits` bits of every level, with probability `p`. No bits give a black image."""

    bits: int
    p: float = 0.5

    def __post_init__(self) -> None:
        check_probability(self.p, "RandomPosterize")
        _check("RandomPosterize", "bits", self.bits, 0, 8)

    def operation(self) -> _native.ChangeOperation:  # noqa: D102
        return _native.ChangeOperation("posterize", self.p, (self.bits, self.bits))


@dataclass(frozen=True)
class RandomSolarize(Transform):
    """Invert the levels that are at least `threshold`, with probability `p`."""

    threshold: float
    p: float = 0.5

    def __post_init__(self) -> None:
        check_probability(self.p, "RandomSolarize")
        _check("RandomSolarize", "threshold", self.threshold, 0, 256)

    def operation(self) -> _native.ChangeOperation:  # noqa: D102
        return _native.ChangeOperation("solarize", self.p, (self.threshold, self.threshold))


@dataclass(frozen=True)
class SolarizeAdd(Transform):
    """Add `add` to the levels below `threshold`, with probability `p`, as timm does.

    >>> SolarizeAdd(99)
    SolarizeAdd(add=99, threshold=128, p=1.0)
    """

    add: int
    threshold: float = 128
    p: float = 1.0

    def __post_init__(self) -> None:
        check_probability(self.p, "SolarizeAdd")
        _check("SolarizeAdd", "add", self.add, -255, 255)

    def operation(self) -> _native.ChangeOperation:  # noqa: D102
        return _native.ChangeOperation("solarize_add", self.p, (self.add, self.add), self.threshold)


@dataclass(frozen=True)
class RandomAutocontrast(Transform):
    """Spread the levels of each channel over the whole range, with probability `p`."""

    p: float = 0.5

    def __post_init__(self) -> None:
        check_probability(self.p, "RandomAutocontrast")

    def operation(self) -> _native.ChangeOperation:  # noqa: D102
        return _native.ChangeOperation("autocontrast", self.p)


@dataclass(frozen=True)
class RandomEqualize(Transform):
    """Equalise the histogram of each channel, with probability `p`."""

    p: float = 0.5

    def __post_init__(self) -> None:
        check_probability(self.p, "RandomEqualize")

    def operation(self) -> _native.ChangeOperation:  # noqa: D102
        return _native.ChangeOperation("equalize", self.p)


@dataclass(frozen=True)
class RandomAdjustSharpness(Transform):
    """Sharpen (factor above 1) or smooth (below 1) with probability `p`."""

    sharpness_factor: float
    p: float = 0.5

    def __post_init__(self) -> None:
        check_probability(self.p, "RandomAdjustSharpness")
        _check("RandomAdjustSharpness", "sharpness_factor", self.sharpness_factor, 0, math.inf)

    def operation(self) -> _native.ChangeOperation:  # noqa: D102
        return _native.ChangeOperation("sharpness", self.p, (self.sharpness_factor, self.sharpness_factor))


@dataclass(frozen=True)
class PillowGaussianBlur(Transform):
    """Blur as Pillow's `ImageFilter.GaussianBlur(radius=sigma)` does, with three box filters in each direction.

    DINO, MoCo, SimCLR and timm use this one. The radius is drawn from the range `sigma`; one number fixes it.
    torchvision's `GaussianBlur` gives other pixels.

    >>> PillowGaussianBlur(sigma=1.5)
    PillowGaussianBlur(sigma=(1.5, 1.5))
    """

    sigma: float | Sequence[float] = (0.1, 2.0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", _sigma_range("PillowGaussianBlur", self.sigma, 0.0))

    def operation(self) -> _native.ChangeOperation:  # noqa: D102
        return _native.ChangeOperation("pillow_blur", 1.0, _sigma_range("PillowGaussianBlur", self.sigma, 0.0))


@dataclass(frozen=True)
class GaussianBlur(Transform):
    """Blur with torchvision's Gaussian kernel; results are within one level of torchvision's.

    Args:
        kernel_size: Odd width of the kernel, or (width, height), in pixels.
        sigma: Range of the standard deviation, or one number.

    >>> GaussianBlur(9)
    GaussianBlur(kernel_size=(9, 9), sigma=(0.1, 2.0))
    """

    kernel_size: int | Sequence[int]
    sigma: float | Sequence[float] = (0.1, 2.0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "kernel_size", _kernel_size(self.kernel_size))
        object.__setattr__(self, "sigma", _sigma_range("GaussianBlur", self.sigma, 1e-3))

    def operation(self) -> _native.ChangeOperation:  # noqa: D102
        width, height = _kernel_size(self.kernel_size)
        sigma = _sigma_range("GaussianBlur", self.sigma, 1e-3)
        return _native.ChangeOperation("gaussian_blur", 1.0, sigma, kernel=(height, width))


def _check(where: str, name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high or math.isinf(value):
        limits = f"at least {low:g}" if math.isinf(high) else f"from {low:g} to {high:g}"
        raise ArgumentError(f"{name}={value!r} is out of range", where=where, fix=f"pass a number {limits}")


def _kernel_size(size: int | Sequence[int]) -> tuple[int, int]:
    sides = tuple(size) if isinstance(size, Sequence) else (size, size)
    if len(sides) != 2 or not all(isinstance(side, int) and side % 2 == 1 and 0 < side < 10_000 for side in sides):
        raise ArgumentError(
            f"kernel_size={size!r} is not a kernel", where="GaussianBlur", fix="pass an odd number of pixels, or two"
        )
    return sides[0], sides[1]


def _sigma_range(where: str, sigma: float | Sequence[float], least: float) -> tuple[float, float]:
    pair = tuple(sigma) if isinstance(sigma, Sequence) else (sigma, sigma)
    low, high = number_range("sigma", pair, low=least)
    _check(where, "sigma", high, least, 1000)
    return low, high
