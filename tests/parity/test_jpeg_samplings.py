"""A region of a JPEG is the crop of the whole, whatever the sampling factors and the scale."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import penstock
from penstock.codecs import DecodeOptions
from tests.jpeg_samplings import Factors, all_samplings, noise_jpeg

SCALES = (1, 2, 4, 8)
MIXED: list[Factors] = [((4, 1), (2, 1), (1, 1)), ((4, 1), (2, 1), (2, 1)), ((1, 1), (4, 1), (2, 1))]


def regions_of(height: int, width: int) -> list[tuple[int, int, int, int]]:
    return [
        (0, width // 3, height, width // 3),
        (height // 4, width // 2, height // 2, width // 4),
        (0, 0, height, width // 2),
        (height // 2, 0, 1, 1),
        (height // 3, 0, 2, 3),
        (0, width - 1, height, 1),
        (height - 1, width - 3, 1, 2),
    ]


def check_regions(data: bytes, options: DecodeOptions) -> int:
    """Compare, and give the number of regions; 0 if libjpeg cannot decode this sampling."""
    try:
        whole = penstock.decode(data, options=options)
    except penstock.CodecError:
        return 0
    regions = [region for region in regions_of(*whole.shape[:2]) if min(region[2:]) > 0]
    for y, x, height, width in regions:
        part = penstock.decode(data, options=replace(options, region=(y, x, height, width)))
        np.testing.assert_array_equal(part, whole[y : y + height, x : x + width], err_msg=str((y, x, height, width)))
    return len(regions)


@pytest.mark.parametrize("fast", [False, True], ids=["exact", "fast"])
@pytest.mark.parametrize("scale", SCALES)
def test_a_region_is_the_crop_for_every_sampling(scale: int, fast: bool) -> None:
    compared = sum(
        check_regions(noise_jpeg(120, 80, factors), DecodeOptions(scale=scale, fast=fast))
        for factors in all_samplings()
    )
    assert compared > 500


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("factors", MIXED, ids=str)
def test_narrow_regions_of_mixed_samplings_are_the_crop(factors: Factors, scale: int) -> None:
    data = noise_jpeg(97, 40, factors)
    whole = penstock.decode(data, scale=scale)
    height, width = whole.shape[:2]
    for x in range(width):
        for columns in range(1, min(6, width - x) + 1):
            part = penstock.decode(data, scale=scale, region=(0, x, height, columns))
            np.testing.assert_array_equal(part, whole[:, x : x + columns], err_msg=f"{columns} columns from {x}")


@pytest.mark.parametrize("factors", [((4, 2), (1, 1), (1, 1)), ((2, 4), (1, 1), (1, 1))], ids=str)
def test_a_scaled_region_does_not_depend_on_the_image_decoded_before(factors: Factors) -> None:
    image, first, second = (noise_jpeg(160, 160, factors, seed) for seed in (1, 2, 3))
    region = (0, 26, 80, 26)
    seen = []
    for before in (first, second):
        penstock.decode(before, scale=2, region=region)
        seen.append(penstock.decode(image, scale=2, region=region))

    np.testing.assert_array_equal(seen[0], seen[1])
