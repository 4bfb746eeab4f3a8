"""Decoding at a reduced scale: a crop cut from a smaller image is still the same crop."""

from __future__ import annotations

import numpy as np
import pytest

from penstock import ArgumentError
from penstock.transforms import CenterCrop, InterpolationMode, RandomHorizontalFlip, RandomResizedCrop, Resize, split
from penstock.types import Pixels
from tests import pillow_resize


def smooth(height: int, width: int) -> Pixels:
    y, x = np.mgrid[:height, :width]
    planes = [
        127 + 120 * np.sin(y / 47 + x / 61),
        127 + 120 * np.cos(x / 53 - y / 71),
        (x + y) * 200 / (height + width),
    ]
    pixels: Pixels = np.stack(planes, -1).astype(np.uint8)
    return pixels


def halved(pixels: Pixels, scale: int) -> Pixels:
    """What a decoder gives at 1 / `scale`: means of squares, the sides rounded up."""
    height, width = pixels.shape[:2]
    padded = np.pad(pixels, [(0, -height % scale), (0, -width % scale), (0, 0)], mode="edge").astype(float)
    blocks = padded.reshape(padded.shape[0] // scale, scale, padded.shape[1] // scale, scale, -1)
    means: Pixels = (blocks.mean((1, 3)) + 0.5).astype(np.uint8)
    return means


@pytest.mark.parametrize("scale", [2, 4, 8])
@pytest.mark.parametrize("flip", [0.0, 1.0])
@pytest.mark.parametrize("flip_first", [False, True])
def test_crops_of_smaller_decodes_are_the_same_crops(scale: int, flip: float, flip_first: bool) -> None:
    pixels = smooth(1003, 1501)
    mirror, crop = RandomHorizontalFlip(flip), RandomResizedCrop(48, scale=(0.3, 1.0))
    program = split([mirror, crop] if flip_first else [crop, mirror]).program()
    small = halved(pixels, scale)
    for index in range(12):
        draw = program.draw((1003, 1501), 1, 2, index)
        assert program.max_scale(draw) == 8
        results = []
        for source, factor in ((pixels, 1), (small, scale)):
            y, x, height, width = program.region(draw, factor)
            assert y + height <= source.shape[0]
            assert x + width <= source.shape[1]
            out = np.empty((48, 48, 3), np.uint8)
            program.apply(source[y : y + height, x : x + width], draw, out, scale=factor)
            results.append(out.astype(int))
        assert np.abs(results[0] - results[1]).max() <= 2 * scale  # at the border other pixels are left out
        assert np.abs(results[0] - results[1]).mean() < 0.7


def test_the_scale_leaves_as_many_pixels_as_the_result_has() -> None:
    def max_scale(height: int, width: int) -> int:
        program = split(Resize((100, 100))).program()
        return program.max_scale(program.draw((height, width), 0, 0, 0))

    assert [max_scale(side, 5000) for side in (90, 199, 200, 399, 400, 799, 800, 5000)] == [1, 1, 2, 2, 4, 4, 8, 8]
    assert max_scale(5000, 250) == 2


def test_nothing_but_a_filtered_resize_may_be_scaled() -> None:
    draws = [
        (split(CenterCrop(10)).program(), (500, 500)),
        (split(Resize(10, InterpolationMode.NEAREST)).program(), (500, 500)),
        (split(Resize(10)).program().for_masks(), (500, 500)),
    ]
    assert [program.max_scale(program.draw(size, 0, 0, 0)) for program, size in draws] == [1, 1, 1]


def test_pixels_of_another_region_are_refused() -> None:
    program = split(Resize((8, 8))).program()
    draw = program.draw((100, 100), 0, 0, 0)

    with pytest.raises(ArgumentError, match="the draw wants 100x100"):
        program.apply(np.zeros((99, 100, 3), np.uint8), draw, np.empty((8, 8, 3), np.uint8))
    with pytest.raises(ArgumentError, match="the result is 8x8"):
        program.apply(np.zeros((100, 100, 3), np.uint8), draw, np.empty((9, 8, 3), np.uint8))


def test_whole_pixels_are_what_pillow_cuts_and_resizes() -> None:
    pixels = smooth(300, 400)
    program = split(RandomResizedCrop((37, 53))).program()
    for index in range(10):
        draw = program.draw((300, 400), 0, 0, index)
        y, x, height, width = program.region(draw)
        crop = pixels[y : y + height, x : x + width]
        out = np.empty((37, 53, 3), np.uint8)
        program.apply(crop, draw, out)
        np.testing.assert_array_equal(out, pillow_resize.resize(crop, (37, 53)))
