"""Types, ranges and layouts of results, against NumPy, on every SIMD path."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from penstock import ArgumentError, _native
from penstock.transforms import CenterCrop, Normalize, ToDtype, Transform, apply
from penstock.types import Pixels
from tests.simd import PATHS

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)

Array = npt.NDArray[Any]


@pytest.fixture(params=PATHS, autouse=True)
def path(request: pytest.FixtureRequest) -> Any:  # noqa: ANN401 - a generator
    _native.force_simd_path(request.param)
    yield request.param
    _native.force_simd_path(_native.best_simd_path())


def every_value(channels: int, dtype: str = "uint8", width: int = 61) -> Pixels:
    """All values of bytes in every channel; words at every distance."""
    count = width * 40 * channels
    values = np.arange(count) * (1 if dtype == "uint8" else 997) % (np.iinfo(dtype).max + 1)
    pixels: Pixels = values.reshape(40, width, channels).astype(dtype)
    return pixels


def both_layouts(pixels: Pixels, transforms: list[Transform]) -> Array:
    """The result with channels last; with channels first it has the same values."""
    last = apply(pixels, transforms)
    first = apply(pixels, transforms, layout="NCHW")
    np.testing.assert_array_equal(first.transpose(1, 2, 0), last)
    assert first.dtype == last.dtype
    return last


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("width", [1, 7, 8, 15, 16, 17, 61])
def test_bytes_stay_in_either_layout(channels: int, width: int) -> None:
    pixels = every_value(channels, width=width)

    np.testing.assert_array_equal(both_layouts(pixels, []), pixels)


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("width", [1, 7, 8, 15, 16, 17, 61])
def test_floats_are_shares_of_the_range_to_the_bit(channels: int, width: int) -> None:
    pixels = every_value(channels, width=width)

    result = both_layouts(pixels, [ToDtype("float32", scale=True)])

    np.testing.assert_array_equal(result, pixels.astype(np.float32) / np.float32(255))


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_floats_without_scale_are_the_values(channels: int) -> None:
    pixels = every_value(channels)

    np.testing.assert_array_equal(both_layouts(pixels, [ToDtype("float32")]), pixels.astype(np.float32))


@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
def test_normalised_floats_are_the_nearest_or_its_neighbour(dtype: str) -> None:
    pixels = every_value(3, dtype)

    result = both_layouts(pixels, [ToDtype("float32", scale=True), Normalize(MEAN, STD)])

    exact = (pixels / np.float64(np.iinfo(dtype).max) - MEAN) / STD
    assert (np.abs(result - exact) / np.spacing(np.abs(exact).astype(np.float32))).max() <= 1.5


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("normalised", [False, True])
def test_half_floats_are_floats_rounded_as_numpy_rounds(channels: int, normalised: bool) -> None:
    pixels = every_value(channels)
    after: list[Transform] = [Normalize(MEAN[:1], STD[:1])] if normalised else []

    halves = both_layouts(pixels, [ToDtype("float16", scale=True), *after])
    floats = both_layouts(pixels, [ToDtype("float32", scale=True), *after])

    np.testing.assert_array_equal(halves, floats.astype(np.float16))


@pytest.mark.parametrize("std", [2.0**k for k in range(-8, 32, 3)])
def test_half_floats_of_every_magnitude_are_rounded_as_numpy_rounds(std: float) -> None:
    pixels = every_value(3)
    after = Normalize([0.3, 0.1, 0.7], [std, std * 1.7, -std])

    with np.errstate(over="ignore"):
        expected = apply(pixels, [ToDtype("float32"), after]).astype(np.float16)
    np.testing.assert_array_equal(apply(pixels, [ToDtype("float16"), after]), expected)


def test_integers_are_shifted_when_scaled_and_kept_otherwise() -> None:
    pixels, words = every_value(3), every_value(3, "uint16")

    np.testing.assert_array_equal(both_layouts(pixels, [ToDtype("uint16", scale=True)]), pixels.astype(int) << 8)
    np.testing.assert_array_equal(both_layouts(pixels, [ToDtype("uint16")]), pixels)
    np.testing.assert_array_equal(both_layouts(words, [ToDtype("uint8", scale=True)]), words >> 8)
    np.testing.assert_array_equal(both_layouts(words, []), words)


def test_words_become_bytes_before_a_crop_if_said_first() -> None:
    words = every_value(3, "uint16")

    result = apply(words, [ToDtype("uint8", scale=True), CenterCrop(16), ToDtype("float32", scale=True)])

    expected = (apply(words, CenterCrop(16)) >> 8).astype(np.float32) / np.float32(255)
    np.testing.assert_array_equal(result, expected)


def test_words_do_not_become_bytes_in_silence() -> None:
    with pytest.raises(ArgumentError, match="do not fit uint8"):
        apply(every_value(3, "uint16"), ToDtype("uint8"))


def test_normalising_more_channels_than_there_are_is_refused() -> None:
    with pytest.raises(ArgumentError, match="3 channels, the image has 1"):
        apply(every_value(1), [ToDtype("float32", scale=True), Normalize(MEAN, STD)])


@pytest.mark.parametrize(("channels", "wanted"), [(1, 3), (2, 3), (2, 1), (4, 3)])
def test_grey_is_repeated_and_alpha_left_out(channels: int, wanted: int) -> None:
    pixels = every_value(channels)
    program = _native.TransformProgram([])
    out = np.empty((40, 61, wanted), np.uint8)

    program.apply(pixels, program.draw((40, 61), 0, 0, 0), out)

    np.testing.assert_array_equal(out, pixels[:, :, [0] * wanted] if channels <= 2 else pixels[:, :, :wanted])


def test_colour_does_not_become_grey() -> None:
    program = _native.TransformProgram([])
    with pytest.raises(ArgumentError, match="3 channels cannot become 1"):
        program.apply(every_value(3), program.draw((40, 61), 0, 0, 0), np.empty((40, 61, 1), np.uint8))
