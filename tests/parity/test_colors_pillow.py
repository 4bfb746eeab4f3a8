"""Changes of colour equal Pillow's, to the bit, on every SIMD path."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from penstock import ArgumentError, _native
from penstock.transforms import ColorJitter, apply
from penstock.types import Pixels
from tests import pillow_resize
from tests.plain_transforms import change_color
from tests.simd import PATHS

NAMES = ("brightness", "contrast", "saturation", "hue")
FACTORS = dict.fromkeys(NAMES[:3], (0.0, 0.3, 0.77, 1.0, 1.2, 1.9, 7.5)) | {"hue": (-0.5, -0.1, 0.0, 0.04, 0.3, 0.49)}
SOME = [("brightness", 1.4), ("contrast", 0.6), ("saturation", 0.2), ("hue", 0.2)]
CASES = [(name, factor) for name in NAMES for factor in FACTORS[name]]


@pytest.fixture(params=PATHS)
def path(request: pytest.FixtureRequest) -> Iterator[str]:
    _native.force_simd_path(request.param)
    yield request.param
    _native.force_simd_path(_native.best_simd_path())


def every_color(step: int) -> Pixels:
    """Every `step`-th of the 2 ** 24 colours."""
    codes = np.arange(0, 2**24, step, dtype=np.uint32)
    height = next(side for side in (4096, 512, 64, 1) if len(codes) % side == 0)
    colors: Pixels = np.stack([codes >> 16, codes >> 8 & 255, codes & 255], -1).astype(np.uint8).reshape(height, -1, 3)
    return colors


def changed(pixels: Pixels, name: str, factor: float) -> Pixels:
    # A range of one value; at the value that changes nothing, a range so narrow that it is one.
    ranges = {name: (factor, np.nextafter(factor, np.inf))}
    result: Pixels = apply(pixels, ColorJitter(**ranges))
    return result


def expected(pixels: Pixels, name: str, factor: float) -> Pixels:
    image = change_color(pillow_resize.to_image(pixels), name, float(np.float32(factor)))
    return pillow_resize.to_pixels(image, pixels)


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize(("name", "factor"), CASES)
def test_colours_equal_pillows(name: str, factor: float) -> None:
    pixels = every_color(631)

    np.testing.assert_array_equal(changed(pixels, name, factor), expected(pixels, name, factor))


@pytest.mark.long
@pytest.mark.usefixtures("path")
@pytest.mark.parametrize(("name", "factor"), CASES)
def test_every_colour_equals_pillows(name: str, factor: float) -> None:
    pixels = every_color(1)

    np.testing.assert_array_equal(changed(pixels, name, factor), expected(pixels, name, factor))


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize(
    ("name", "factor"), [("brightness", 1.4), ("contrast", 0.6), ("saturation", 0.2), ("hue", 0.2)]
)
def test_grey_keeps_its_single_channel(name: str, factor: float) -> None:
    pixels = every_color(1009)[:, :, 2]

    np.testing.assert_array_equal(changed(pixels, name, factor), expected(pixels, name, factor))


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize("channels", [2, 4])
@pytest.mark.parametrize(
    ("name", "factor"), [("brightness", 1.4), ("contrast", 0.6), ("saturation", 0.2), ("hue", 0.2)]
)
def test_alpha_stays(channels: int, name: str, factor: float) -> None:
    colors = every_color(1009)[:, :, : channels - 1]
    alpha = np.arange(colors.shape[0] * colors.shape[1]).reshape(*colors.shape[:2], 1) % 251
    pixels: Pixels = np.concatenate([colors, alpha.astype(np.uint8)], -1)

    result = changed(pixels, name, factor)

    np.testing.assert_array_equal(result[:, :, -1:], alpha)
    np.testing.assert_array_equal(result[:, :, :-1], changed(colors, name, factor))


def test_words_have_no_colours_to_change() -> None:
    with pytest.raises(ArgumentError, match="8-bit"):
        apply(np.zeros((4, 4, 3), np.uint16), ColorJitter(brightness=0.5))
