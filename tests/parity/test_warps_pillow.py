"""Rotations, affine and perspective warps equal Pillow's, to the bit, on every SIMD path."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from penstock import ArgumentError, _native
from penstock.transforms import (
    InterpolationMode,
    RandomAffine,
    RandomPerspective,
    RandomRotation,
    Transform,
    apply,
    apply_boxes,
    split,
)
from penstock.types import Pixels
from tests.plain_transforms import Sample, run
from tests.plain_warps import warp_pixels
from tests.simd import PATHS

FILL = (124, 116, 104)
MODES = [InterpolationMode.NEAREST, InterpolationMode.BILINEAR, InterpolationMode.BICUBIC]
SIZES = [(37, 53), (5, 80), (90, 3), (1, 1), (2, 2), (96, 96)]


@pytest.fixture(params=PATHS)
def path(request: pytest.FixtureRequest) -> Iterator[str]:
    _native.force_simd_path(request.param)
    yield request.param
    _native.force_simd_path(_native.best_simd_path())


def images(height: int, width: int) -> list[Pixels]:
    """Noise, ramps and a flat image."""
    rng = np.random.default_rng(height * 1000 + width)
    ramp = np.mgrid[0:height, 0:width][1][..., None] * [1, 2, 3] % 200 + 20
    return [
        rng.integers(0, 256, (height, width, 3)).astype(np.uint8),
        ramp.astype(np.uint8),
        np.full((height, width, 3), 90, np.uint8),
    ]


def warps(mode: InterpolationMode) -> list[Transform]:
    return [
        RandomRotation((-30, 60), mode, fill=FILL),
        RandomRotation((0, 360), mode, expand=True, fill=FILL),
        RandomRotation((13.3, 13.3), mode, center=(3.5, 9), fill=FILL),
        RandomAffine(0, shear=(0, 45), interpolation=mode, fill=FILL, center=(0, 0)),
        RandomAffine(0, shear=(0, 0, -30, 30), interpolation=mode, fill=FILL),
        RandomAffine(0, translate=(0.4, 0.4), interpolation=mode, fill=FILL),
        RandomAffine(0, scale=(0.2, 3), interpolation=mode, fill=FILL),
        RandomAffine(180, (0.1, 0.1), (0.5, 2), (-20, 20, -20, 20), mode, FILL),
        RandomPerspective(0.6, 1.0, mode, FILL),
    ]


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("mode", MODES)
def test_warps_equal_pillows(mode: InterpolationMode, size: tuple[int, int]) -> None:
    for number, transform in enumerate(warps(mode)):
        for pixels in images(*size):
            sample = Sample(pixels, pixels[:, :, 0], np.zeros((0, 4)))

            expected = run(sample, [transform], index=number).image

            np.testing.assert_array_equal(apply(pixels, transform, id=number), expected, err_msg=repr(transform))


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("mode", MODES)
def test_channels_are_warped_alike(mode: InterpolationMode, channels: int, dtype: type) -> None:
    pixels: Pixels = np.random.default_rng(1).integers(100, 160, (41, 67, channels)).astype(dtype)
    for transform in (RandomAffine(40, scale=(0.5, 1), shear=9, interpolation=mode, fill=(7, 8, 9, 10)[:channels]),):
        result = apply(pixels, transform, id=5)

        for channel in range(channels):
            alone = np.ascontiguousarray(pixels[:, :, channel]).astype(np.uint8)
            single = RandomAffine(40, scale=(0.5, 1), shear=9, interpolation=mode, fill=7 + channel)
            sample = Sample(alone, alone, np.zeros((0, 4)))
            np.testing.assert_array_equal(result[:, :, channel], run(sample, [single], index=5).image)


@pytest.mark.usefixtures("path")
def test_large_images_are_beyond_positions_of_16_bits() -> None:
    pixels: Pixels = np.random.default_rng(0).integers(0, 256, (2, 40000, 1)).astype(np.uint8)
    turn = RandomRotation((0.001, 0.001))
    numbers = split(turn).program().draw((2, 40000), 0, 0, 0).steps[1]["warp"][:6]

    np.testing.assert_array_equal(apply(pixels, turn), warp_pixels(pixels, (2, 40000), numbers, "nearest", 0))


@pytest.mark.parametrize("degrees", [90, 180, 270, -90, 450])
@pytest.mark.parametrize("expand", [True, False])
def test_right_angles_copy_pixels(degrees: int, expand: bool) -> None:
    pixels: Pixels = np.arange(5 * 5 * 3, dtype=np.uint8).reshape(5, 5, 3)
    turn = RandomRotation((degrees, degrees), InterpolationMode.BICUBIC, expand)

    np.testing.assert_array_equal(apply(pixels, turn), np.rot90(pixels, degrees // 90))


def test_no_angle_changes_nothing() -> None:
    program = split(RandomRotation((360, 360))).program()

    assert len(program.draw((9, 9), 0, 0, 0).steps) == 1


def test_the_size_is_not_fixed_where_the_result_grows() -> None:
    assert split(RandomRotation(30, expand=True)).program().fixed_size is None


def test_a_box_becomes_the_hull_of_its_corners() -> None:
    boxes = apply_boxes([[2, 4, 6, 8]], RandomRotation((45, 45)), size=(20, 20))

    middle, half = np.array([10 + (4 - 10 + 6 - 10) / 2**0.5, 10 + (-4 + 10 + 6 - 10) / 2**0.5]), 4 / 2**0.5
    np.testing.assert_allclose(boxes, [[*(middle - half), *(middle + half)]], atol=1e-4)


def test_device_tables_refuse_warps() -> None:
    program = split(RandomRotation(30)).program()

    with pytest.raises(ArgumentError, match="warp"):
        program.passes(np.array([[8, 8]], np.uint32), np.array([3], np.uint64), 0, 0, 1)
