"""Transforms do what their names say, and masks and boxes go where the image goes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import ArgumentError
from penstock.transforms import (
    CenterCrop,
    RandomCrop,
    RandomHorizontalFlip,
    RandomResizedCrop,
    Resize,
    Transform,
    apply,
)
from penstock.types import Pixels
from tests import pillow_resize


def numbered(height: int, width: int, channels: int = 3) -> Pixels:
    """Pixels that tell where they come from."""
    y, x = np.mgrid[:height, :width]
    planes = [y % 256, x % 256, (y * 7 + x * 3) % 256, (x * y) % 256][:channels]
    pixels: Pixels = np.stack(planes, -1).astype(np.uint8)
    return pixels


@given(st.integers(1, 60), st.integers(1, 60), st.integers(1, 80), st.integers(1, 80))
def test_center_crop_cuts_or_pads_the_middle(height: int, width: int, crop_height: int, crop_width: int) -> None:
    pixels = numbered(height, width)
    before = [max(0, (crop - side) // 2) for side, crop in ((height, crop_height), (width, crop_width))]
    after = [max(0, (crop - side + 1) // 2) for side, crop in ((height, crop_height), (width, crop_width))]
    padded = np.pad(pixels, [(before[0], after[0]), (before[1], after[1]), (0, 0)])
    top, left = round((padded.shape[0] - crop_height) / 2), round((padded.shape[1] - crop_width) / 2)

    result = apply(pixels, CenterCrop((crop_height, crop_width)))

    np.testing.assert_array_equal(result, padded[top : top + crop_height, left : left + crop_width])


@pytest.mark.parametrize("flip", [0.0, 1.0])
def test_resize_crop_and_flip_in_one_pass_equal_them_step_by_step(flip: float) -> None:
    pixels = numbered(97, 141)

    result = apply(pixels, [Resize(64), CenterCrop(48), RandomHorizontalFlip(flip)])

    whole = pillow_resize.resize(pixels, (64, int(64 * 141 / 97)))
    top, left = (64 - 48) // 2, round((whole.shape[1] - 48) / 2)
    expected = whole[top : top + 48, left : left + 48]
    np.testing.assert_array_equal(result, expected[:, ::-1] if flip else expected)


def test_a_flip_before_a_resize_flips_its_source() -> None:
    pixels = numbered(50, 77)

    result = apply(pixels, [RandomHorizontalFlip(1.0), Resize((31, 40))])

    np.testing.assert_array_equal(result, pillow_resize.resize(pixels[:, ::-1], (31, 40)))


def test_resize_twice_goes_through_the_image_between() -> None:
    pixels = numbered(50, 77)

    result = apply(pixels, [Resize((31, 40)), Resize((60, 20))])

    np.testing.assert_array_equal(result, pillow_resize.resize(pillow_resize.resize(pixels, (31, 40)), (60, 20)))


@pytest.mark.parametrize("transform", [RandomResizedCrop(20), RandomCrop(20), RandomHorizontalFlip()])
def test_chance_is_a_function_of_seed_epoch_and_id(transform: Transform) -> None:
    pixels = numbered(64, 64)

    def run(seed: int, epoch: int, id: int) -> bytes:  # noqa: A002
        return apply(pixels, transform, seed=seed, epoch=epoch, id=id).tobytes()

    assert run(3, 1, 7) == run(3, 1, 7)
    for keys in ([(k, 0, 0) for k in range(20)], [(0, k, 0) for k in range(20)], [(0, 0, k) for k in range(20)]):
        assert len({run(*key) for key in keys}) > 1


def test_a_crop_larger_than_the_image_says_how_to_pad() -> None:
    with pytest.raises(ArgumentError, match="larger than the padded image") as refused:
        apply(numbered(10, 10), RandomCrop(20))

    assert "pad_if_needed" in refused.value.fix


@pytest.mark.parametrize("transform", [Resize(2**31 - 1), Resize((2**20, 2**20)), CenterCrop(2**31 - 1)])
def test_results_that_no_memory_holds_are_refused(transform: Transform) -> None:
    with pytest.raises(ArgumentError, match="make an image of"):
        apply(numbered(3, 100), transform)
