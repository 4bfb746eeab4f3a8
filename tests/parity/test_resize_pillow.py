"""Resizes equal Pillow's, to the bit, on every SIMD path."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import _native
from penstock.transforms import InterpolationMode, Resize, apply
from penstock.types import Pixels
from tests import pillow_resize
from tests.simd import PATHS

FILTERS = sorted(pillow_resize.FILTERS)

sides = st.integers(1, 90) | st.sampled_from([1, 2, 3, 255, 400])
seeds = st.integers(0, 2**32 - 1)


@pytest.fixture(params=PATHS)
def path(request: pytest.FixtureRequest) -> Iterator[str]:
    _native.force_simd_path(request.param)
    yield request.param
    _native.force_simd_path(_native.best_simd_path())


def noise(height: int, width: int, channels: int, seed: int, dtype: str = "uint8") -> Pixels:
    """Values at both ends and anything between, so that sums reach their limits."""
    rng = np.random.default_rng(seed)
    top = np.iinfo(dtype).max
    shape = (height, width) if channels == 1 else (height, width, channels)
    values = np.where(rng.random(shape) < 0.4, rng.choice([0, top], shape), rng.integers(0, top + 1, shape))
    pixels: Pixels = values.astype(dtype)
    return pixels


def resized(pixels: Pixels, size: tuple[int, int], interpolation: str) -> Pixels:
    result: Pixels = apply(pixels, Resize(size, InterpolationMode(interpolation)))
    return result


@pytest.mark.usefixtures("path")
@settings(max_examples=25)
@given(height=sides, width=sides, to=st.tuples(sides, sides), channels=st.sampled_from([1, 3, 4]), seed=seeds)
@pytest.mark.parametrize("interpolation", FILTERS)
def test_bytes_equal_pillows(
    interpolation: str, height: int, width: int, to: tuple[int, int], channels: int, seed: int
) -> None:
    pixels = noise(height, width, channels, seed)

    np.testing.assert_array_equal(resized(pixels, to, interpolation), pillow_resize.resize(pixels, to, interpolation))


@settings(max_examples=60)
@given(height=sides, width=sides, to=st.tuples(sides, sides), seed=seeds)
def test_pillow_in_one_call_differs_by_one_level_at_most(
    height: int, width: int, to: tuple[int, int], seed: int
) -> None:
    pixels = noise(height, width, 3, seed)

    ours, theirs = resized(pixels, to, "bilinear").astype(int), pillow_resize.resize_in_one(pixels, to).astype(int)
    assert np.abs(ours - theirs).max() <= 1


@pytest.mark.usefixtures("path")
@settings(max_examples=30)
@given(height=sides, width=sides, to=st.tuples(sides, sides), seed=seeds)
def test_two_channels_are_resized_one_by_one(height: int, width: int, to: tuple[int, int], seed: int) -> None:
    pixels = noise(height, width, 2, seed)

    both = resized(pixels, to, "bilinear")
    for channel in (0, 1):
        expected = pillow_resize.resize(pixels[:, :, channel], to)
        np.testing.assert_array_equal(both[:, :, channel], expected)


@settings(max_examples=40)
@given(height=sides, width=sides, to=st.tuples(sides, sides), seed=seeds)
def test_words_equal_pillows(height: int, width: int, to: tuple[int, int], seed: int) -> None:
    pixels = noise(height, width, 1, seed, "uint16")

    np.testing.assert_array_equal(resized(pixels, to, "bilinear"), pillow_resize.resize(pixels, to))


@settings(max_examples=20)
@given(height=sides, width=sides, to=st.tuples(sides, sides), seed=seeds)
def test_the_nearest_words_are_where_the_nearest_bytes_are(
    height: int, width: int, to: tuple[int, int], seed: int
) -> None:
    pixels = noise(height, width, 1, seed, "uint16")
    low, high = (pixels & 255).astype(np.uint8), (pixels >> 8).astype(np.uint8)

    joined = resized(low, to, "nearest").astype(int) + 256 * resized(high, to, "nearest").astype(int)
    np.testing.assert_array_equal(resized(pixels, to, "nearest"), joined)


def test_words_of_three_channels_are_resized_one_by_one() -> None:
    pixels = noise(61, 75, 3, 0, "uint16")

    together = resized(pixels, (40, 90), "bilinear")
    for channel in range(3):
        expected = pillow_resize.resize(pixels[:, :, channel], (40, 90))
        np.testing.assert_array_equal(together[:, :, channel], expected)
