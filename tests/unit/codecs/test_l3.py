"""What is particular to l3: published files, rows of every width, patches decoded, faults by name."""

from __future__ import annotations

import numpy as np
import pytest

import penstock
from penstock.codecs.api import decode_counted
from penstock.types import Pixels
from tests import published_l3


def row_of_width(width: int, columns: int) -> list[int]:
    """Residuals that need exactly this many bits."""
    spread = (1 << width) - 1
    return [k * 37 % (spread + 1) if k > 1 else k * spread for k in range(columns)]


@pytest.mark.parametrize("width", range(9))
@pytest.mark.parametrize("columns", [8, 13, 64, 128])
def test_rows_of_every_width_come_back(width: int, columns: int) -> None:
    pixels = np.array([row_of_width(width, columns)] * 3, np.uint8)
    data = penstock.encode(pixels, "l3:patch=128")
    assert data[20 + 2 + 4] & 15 == width
    np.testing.assert_array_equal(penstock.decode(data), pixels)


def test_a_row_is_the_bits_of_the_spec() -> None:
    pixels = np.array([[130, 128, 129, 131, 128, 128, 128, 128]], np.uint8)
    data = penstock.encode(pixels, "l3:patch=8")
    deltas_then_base_then_width = "0000000011010010" + "00000000" + "0010"
    assert data[-4:] == int(deltas_then_base_then_width, 2).to_bytes(4, "little")


@pytest.mark.parametrize(("height", "width"), [(64, 64), (128, 64), (64, 192)])
def test_files_of_the_published_code_decode(height: int, width: int) -> None:
    pixels = published_l3.image(height, width, seed=height + width)
    data = published_l3.write(pixels)
    assert penstock.inspect(data).variant == "published"
    np.testing.assert_array_equal(penstock.decode(data), pixels)
    np.testing.assert_array_equal(penstock.decode(data, region=(3, 5, 50, 40)), pixels[3:53, 5:45])


def test_published_file_that_dropped_pixels_is_refused() -> None:
    data = bytearray(published_l3.write(published_l3.image(64, 64)))
    data[8:12] = (100).to_bytes(4, "little")
    with pytest.raises(penstock.CodecError, match=r"64x100 pixels is not made of whole patches of 64"):
        penstock.decode(bytes(data))


@pytest.mark.parametrize(
    ("region", "decoded"),
    [((0, 0, 1, 1), 1), ((0, 0, 64, 64), 1), ((63, 63, 2, 2), 4), ((70, 10, 20, 290), 5), ((0, 0, 200, 300), 20)],
)
def test_only_the_patches_of_a_region_are_decoded(region: tuple[int, int, int, int], decoded: int) -> None:
    pixels = gradient(200, 300)
    y, x, height, width = region
    crop, num_patches, num_decoded = decode_counted(penstock.encode(pixels, "l3"), region=region)
    np.testing.assert_array_equal(crop, pixels[y : y + height, x : x + width])
    assert (num_patches, num_decoded) == (20, decoded)


def test_a_region_ignores_damage_outside_its_patches() -> None:
    data = bytearray(penstock.encode(gradient(64, 128), "l3"))
    data[-1] ^= 1
    with pytest.raises(penstock.CodecError, match=r"patch 1 \(row 0, column 1\)"):
        penstock.decode(data)
    np.testing.assert_array_equal(penstock.decode(data, region=(0, 0, 64, 64)), gradient(64, 128)[:, :64])


def test_16_bit_pixels_are_refused() -> None:
    with pytest.raises(penstock.CodecError, match="8-bit"):
        penstock.encode(np.zeros((4, 4), np.uint16), "l3")


def gradient(height: int, width: int) -> Pixels:
    y, x, c = np.mgrid[0:height, 0:width, 0:3]
    pixels: Pixels = ((y * 5 + x * 3 + c * 50 + (x * y) % 7) % 256).astype(np.uint8)
    return pixels
