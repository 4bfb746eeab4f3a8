"""PSNR and MS-SSIM equal a plain twin, and behave as measures of quality must."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from penstock import ArgumentError
from penstock.pixels import ms_ssim, psnr
from penstock.types import Pixels

WEIGHTS = np.array([0.0448, 0.2856, 0.3001, 0.2363, 0.1333])

Plane = npt.NDArray[np.float64]


def scene(height: int, width: int, channels: int, dtype: str, seed: int = 0) -> Pixels:
    """Something with structure at every scale: a random walk in both directions."""
    rng = np.random.default_rng(seed)
    walk = rng.normal(size=(height, width, channels)).cumsum(0).cumsum(1)
    walk -= walk.min()
    pixels: Pixels = (walk / walk.max() * np.iinfo(dtype).max).astype(dtype)
    return pixels[:, :, 0] if channels == 1 else pixels


def noisy(pixels: Pixels, level: float, seed: int = 1) -> Pixels:
    top = np.iinfo(pixels.dtype).max
    noise = np.random.default_rng(seed).normal(0, level * top, pixels.shape)
    result: Pixels = np.clip(pixels + noise, 0, top).astype(pixels.dtype.name)
    return result


def filtered(plane: Plane) -> Plane:
    """The mean over every Gaussian window that lies inside."""
    for axis in (0, 1):
        size = min(11, plane.shape[axis])
        taps = np.exp(-((np.arange(size) - (size - 1) / 2) ** 2) / (2 * 1.5**2))
        plane = np.lib.stride_tricks.sliding_window_view(plane, size, axis) @ (taps / taps.sum())
    return plane


def halved(plane: Plane) -> Plane:
    even = np.pad(plane, [(0, side % 2) for side in plane.shape], mode="edge")
    return (even[::2, ::2] + even[1::2, ::2] + even[::2, 1::2] + even[1::2, 1::2]) / 4


def plain_channel(a: Plane, b: Plane, top: float) -> float:
    scales = 1
    while scales < 5 and min(a.shape) >> scales >= 11:
        scales += 1
    c1, c2 = (0.01 * top) ** 2, (0.03 * top) ** 2
    result = 1.0
    for scale in range(scales):
        mean_a, mean_b = filtered(a), filtered(b)
        var_a, var_b = filtered(a * a) - mean_a**2, filtered(b * b) - mean_b**2
        covariance = filtered(a * b) - mean_a * mean_b
        similarity = (2 * covariance + c2) / (var_a + var_b + c2)
        if scale == scales - 1:
            similarity = similarity * (2 * mean_a * mean_b + c1) / (mean_a**2 + mean_b**2 + c1)
        result *= max(0.0, float(similarity.mean())) ** (WEIGHTS[scale] / WEIGHTS[:scales].sum())
        a, b = halved(a), halved(b)
    return result


def plain_ms_ssim(a: Pixels, b: Pixels, top: float) -> float:
    planes_a, planes_b = (np.atleast_3d(pixels).astype(float) for pixels in (a, b))
    channels = range(planes_a.shape[2])
    return float(np.mean([plain_channel(planes_a[:, :, c], planes_b[:, :, c], top) for c in channels]))


@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("level", [0.01, 0.1, 0.5])
def test_ms_ssim_equals_its_plain_twin(dtype: str, channels: int, level: float) -> None:
    a = scene(181, 203, channels, dtype)
    b = noisy(a, level)

    assert ms_ssim(a, b) == pytest.approx(plain_ms_ssim(a, b, np.iinfo(dtype).max), abs=1e-5)


@pytest.mark.parametrize("size", [(1, 1), (1, 40), (40, 3), (10, 10), (11, 11), (21, 22), (87, 89), (175, 176)])
def test_ms_ssim_of_small_images_equals_its_plain_twin(size: tuple[int, int]) -> None:
    a = scene(*size, 3, "uint8") if size != (1, 1) else np.full((1, 1, 3), 90, np.uint8)
    b = noisy(a, 0.05)

    assert ms_ssim(a, b) == pytest.approx(plain_ms_ssim(a, b, 255), abs=1e-5)


def test_flat_images_differ_in_luminance_at_the_last_scale_only() -> None:
    a, b = (np.full((200, 200), value, np.uint8) for value in (100, 150))
    c1 = 2.55**2

    assert ms_ssim(a, b) == pytest.approx(((2 * 100 * 150 + c1) / (100**2 + 150**2 + c1)) ** 0.1333, abs=1e-5)


def test_inverted_structure_is_worth_nothing_not_nan() -> None:
    a = scene(64, 64, 1, "uint8")

    assert 0 <= ms_ssim(a, np.invert(a)) < 0.2


@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
def test_psnr_equals_its_plain_twin(dtype: str) -> None:
    top = float(np.iinfo(dtype).max)
    a = scene(61, 700, 3, dtype)
    for level in (0.003, 0.3):
        b = noisy(a, level)
        mean_square = ((a.astype(float) - b.astype(float)) ** 2).mean()
        assert psnr(a, b) == pytest.approx(10 * math.log10(top * top / mean_square), abs=1e-9)


def test_opposite_extremes_do_not_overflow() -> None:
    for dtype in ("uint8", "uint16"):
        shape = (3, 30000, 3)
        assert psnr(np.zeros(shape, dtype), np.full(shape, np.iinfo(dtype).max, dtype)) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
def test_equal_images_are_perfect(dtype: str) -> None:
    a = scene(190, 180, 3, dtype)

    assert psnr(a, a.copy()) == math.inf
    assert ms_ssim(a, a.copy()) == 1.0


@pytest.mark.parametrize("measure", [psnr, ms_ssim])
def test_measures_are_symmetric_and_fall_with_noise(measure: Callable[[Pixels, Pixels], float]) -> None:
    a = scene(180, 180, 3, "uint8")
    ladder = [noisy(a, level) for level in (0.005, 0.02, 0.1, 0.4)]

    values = [measure(a, b) for b in ladder]

    assert values == sorted(values, reverse=True)
    assert values == pytest.approx([measure(b, a) for b in ladder])


def test_max_value_is_the_scale_of_twelve_bit_values() -> None:
    a: Pixels = (scene(64, 64, 1, "uint16") >> 4).astype(np.uint16)
    b = noisy(a, 0.001)

    assert psnr(a, b, max_value=4095) == pytest.approx(psnr(a, b) - 20 * math.log10(65535 / 4095))
    assert ms_ssim(a, b, max_value=4095) == pytest.approx(plain_ms_ssim(a, b, 4095), abs=1e-5)


def test_strided_views_are_read_in_place() -> None:
    a = scene(80, 90, 3, "uint8")
    b = noisy(a, 0.1)

    assert psnr(a[5:50, 7:70], b[5:50, 7:70]) == psnr(a[5:50, 7:70].copy(), b[5:50, 7:70].copy())


@pytest.mark.parametrize(
    "other", [np.zeros((8, 9), np.uint8), np.zeros((8, 8), np.uint16), np.zeros((8, 8, 3), np.uint8)]
)
def test_images_of_another_shape_or_type_are_refused(other: Pixels) -> None:
    for measure in (psnr, ms_ssim):
        with pytest.raises(ArgumentError, match="different shape"):
            measure(np.zeros((8, 8), np.uint8), other)


@pytest.mark.parametrize("max_value", [-1.0, math.inf, math.nan])
def test_impossible_max_values_are_refused(max_value: float) -> None:
    with pytest.raises(ArgumentError, match="max_value"):
        psnr(np.zeros((8, 8), np.uint8), np.zeros((8, 8), np.uint8), max_value=max_value)
