"""Our way from coefficients to pixels against libjpeg-turbo's, on every path: all samplings, odd sizes, colours.

The files hold noise for coefficients, so that sums saturate and every position counts. Each scan has more bytes than
our decoder asks for, however small the image is.
"""

from __future__ import annotations

import io
import platform
import struct

import numpy as np
import pytest
from PIL import Image

import penstock
from penstock import _native
from penstock.errors import PenstockError
from penstock.types import Pixels, Region
from tests.jpeg_samplings import Factors, all_samplings, noise_jpeg

pytestmark = pytest.mark.usefixtures("simd_path")

SCALES = (1, 2, 4, 8)
COMMON: list[Factors] = [
    ((1, 1),),
    ((2, 2),),
    ((1, 1), (1, 1), (1, 1)),
    ((2, 1), (1, 1), (1, 1)),
    ((1, 2), (1, 1), (1, 1)),
    ((2, 2), (1, 1), (1, 1)),
    ((4, 1), (1, 1), (1, 1)),
    ((4, 2), (1, 1), (1, 1)),
    ((2, 2), (2, 1), (1, 2)),
]
SIZES = [(1, 1), (1, 40), (40, 1), (3, 2), (8, 8), (17, 33), (9, 600), (70, 5), (33, 1030)]


def libjpegs(data: bytes, scale: int = 1, region: Region | None = None) -> Pixels:
    return _native.decode_counted(data, region, scale, plain=True)[0]


def regions_of(height: int, width: int, seed: int) -> list[Region]:
    rng = np.random.default_rng(seed)
    corners = [(0, 0, 1, 1), (height - 1, width - 1, 1, 1), (height // 2, 0, 1, width), (0, width // 2, height, 1)]
    drawn = []
    for _ in range(6):
        y, x = int(rng.integers(height)), int(rng.integers(width))
        drawn.append((y, x, int(rng.integers(1, height - y + 1)), int(rng.integers(1, width - x + 1))))
    return corners + drawn


def check_whole_and_regions(data: bytes, scale: int) -> None:
    expected = libjpegs(data, scale)
    np.testing.assert_array_equal(penstock.decode(data, scale=scale), expected)
    for y, x, height, width in regions_of(expected.shape[0], expected.shape[1], scale):
        part = penstock.decode(data, scale=scale, region=(y, x, height, width))
        np.testing.assert_array_equal(part, expected[y : y + height, x : x + width], err_msg=f"{(y, x, height, width)}")


@pytest.mark.parametrize("scale", SCALES)
def test_every_sampling_has_libjpegs_pixels(scale: int) -> None:
    compared = 0
    for factors in all_samplings():
        data = noise_jpeg(71, 45, factors)
        try:
            expected = libjpegs(data, scale)
        except PenstockError:
            with pytest.raises(PenstockError):
                penstock.decode(data, scale=scale)
            continue
        np.testing.assert_array_equal(penstock.decode(data, scale=scale), expected, err_msg=str(factors))
        compared += 1
    assert compared > 150


@pytest.mark.parametrize("factors", COMMON, ids=str)
def test_odd_sizes_and_their_regions_have_libjpegs_pixels_at_every_scale(factors: Factors) -> None:
    for height, width in SIZES:
        data = noise_jpeg(width, height, factors, seed=height)
        for scale in SCALES:
            check_whole_and_regions(data, scale)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="elsewhere libjpeg-turbo treats such values otherwise")
@pytest.mark.parametrize("subsampling", [0, 1, 2])
@pytest.mark.parametrize("kind", ["flat blocks", "stripes", "slopes"])
def test_coefficients_that_no_image_has_give_libjpegs_pixels(kind: str, subsampling: int) -> None:
    y, x = np.mgrid[:120, :200]
    shade = {"flat blocks": x // 8 * 37 + y // 8 * 91, "stripes": x * 53 + y // 8 * 7, "slopes": 3 * x + y}[kind]
    file = io.BytesIO()
    Image.fromarray(np.repeat(shade[:, :, None] % 256, 3, axis=2).astype(np.uint8)).save(
        file, "JPEG", quality=100, subsampling=subsampling
    )
    for steps in (bytes([255]) * 64, bytes(range(1, 128, 2)), bytes(range(255, 127, -2))):
        data = with_quantisation(file.getvalue(), steps) + bytes(4096)
        for scale in SCALES:
            check_whole_and_regions(data, scale)


def with_quantisation(data: bytes, steps: bytes) -> bytes:
    """The same coefficients with other steps: products leave the range that images have."""
    at, changed = data.index(b"\xff\xdb"), data
    while at >= 0:
        changed = changed[: at + 5] + steps + changed[at + 69 :]
        at = data.find(b"\xff\xdb", at + 69)
    return changed


@pytest.mark.parametrize("factors", [factors for factors in COMMON if len(factors) == 3], ids=str)
def test_rgb_files_have_libjpegs_pixels(factors: Factors) -> None:
    adobe = b"\xff\xee\x00\x0eAdobe\x00\x64\x00\x00\x00\x00\x00"  # its last byte says that colours are RGB
    data = noise_jpeg(50, 37, factors)
    data = data[:2] + adobe + data[2:]
    for scale in SCALES:
        check_whole_and_regions(data, scale)


@pytest.mark.parametrize("interval", [1, 3, 4, 5, 20])
def test_restart_intervals_of_any_length_have_libjpegs_pixels(interval: int) -> None:
    pixels = np.random.default_rng(interval).integers(0, 256, (90, 150, 3), np.uint8)
    plain = penstock.encode(pixels, "jpeg:q=90")  # ten MCUs a row
    data = with_restarts(plain, interval)
    for scale in SCALES:
        check_whole_and_regions(data, scale)


def with_restarts(data: bytes, interval: int) -> bytes:
    """The same pixels with a marker every so many MCUs, as Pillow writes them."""
    file = io.BytesIO()
    image = Image.open(io.BytesIO(data))
    image.save(file, "JPEG", quality=95, subsampling=2, restart_marker_blocks=interval)
    return file.getvalue()


def outcome(data: bytes, plain: bool) -> int:
    try:
        _native.decode_counted(data, None, 1, plain)
    except PenstockError as error:
        return error.code
    return 0


def without_last(data: bytes, marker: bytes) -> bytes:
    """The file without the last of its tables of a kind."""
    at = data.rindex(marker, 0, data.index(b"\xff\xc0"))
    return data[:at] + data[at + 2 + int.from_bytes(data[at + 2 : at + 4], "big") :]


def test_a_missing_quantisation_table_is_the_error_that_it_is_for_libjpeg() -> None:
    data = without_last(noise_jpeg(50, 37, ((2, 2), (1, 1), (1, 1))), b"\xff\xdb")

    assert outcome(data, plain=False) == outcome(data, plain=True) != 0


def test_a_missing_huffman_table_is_the_standards_as_it_is_for_libjpeg() -> None:
    data = without_last(noise_jpeg(50, 37, ((2, 2), (1, 1), (1, 1))), b"\xff\xc4")

    check_whole_and_regions(data, 1)


def test_a_code_with_too_many_symbols_is_the_error_that_it_is_for_libjpeg() -> None:
    data = bytearray(noise_jpeg(50, 37, ((2, 2), (1, 1), (1, 1))))
    at = data.index(b"\xff\xc4")
    length = struct.unpack(">H", data[at + 2 : at + 4])[0]
    counts = data[at + 5 : at + 21]
    assert length >= 19 + sum(counts)
    counts[0], counts[15] = 2, max(0, counts[15] - 2)  # two codes of one bit leave none for the others
    data[at + 5 : at + 21] = counts

    assert outcome(bytes(data), plain=False) == outcome(bytes(data), plain=True) != 0
