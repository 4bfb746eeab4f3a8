"""BMP is read as Pillow reads it: every depth, header and direction; what we do not read is refused by name."""

from __future__ import annotations

import io
import struct
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image

import penstock
from penstock import CodecError
from penstock.codecs import DecodeOptions, decode_counted, find
from penstock.testing.codec import sample_image
from penstock.types import Pixels

NONE, RLE8, RLE4, FIELDS, JPEG, PNG, ALPHA_FIELDS = range(7)
MASKS_565 = (0xF800, 0x07E0, 0x001F)
MASKS_555 = (0x7C00, 0x03E0, 0x001F)
MASKS_RGBA = (0xFF, 0xFF00, 0xFF0000, 0xFF000000)


def bmp(
    width: int,
    height: int,
    bits: int,
    pixels: bytes,
    *,
    compression: int = NONE,
    header_bytes: int = 40,
    masks: tuple[int, ...] = (),
    palette: bytes = b"",
) -> bytes:
    """A file from its parts; masks stand in the header where it has room for them, else behind it."""
    if header_bytes == 12:
        info = struct.pack("<IHHHH", 12, width, height, 1, bits)
    else:
        colors = len(palette) // 4
        fields = struct.pack(
            "<IiiHHIIiiII", header_bytes, width, height, 1, bits, compression, len(pixels), 0, 0, colors, 0
        )
        info = fields[:header_bytes].ljust(header_bytes, b"\0")
        if masks:
            info = info[:40] + struct.pack(f"<{len(masks)}I", *masks) + info[40 + 4 * len(masks) :]
    offset = 14 + len(info) + len(palette)
    return b"BM" + struct.pack("<IHHI", offset + len(pixels), 0, 0, offset) + info + palette + pixels


def rows(values: npt.NDArray[np.unsignedinteger[Any]], *, top_down: bool = False) -> bytes:
    """Rows of bytes, padded to four, bottom first."""
    stored = values.reshape(len(values), -1).view(np.uint8)
    padded = np.pad(stored, ((0, 0), (0, -stored.shape[1] % 4)))
    return (padded if top_down else padded[::-1]).tobytes()


def pillow(data: bytes, mode: str) -> Pixels:
    return np.asarray(Image.open(io.BytesIO(data)).convert(mode))


def saved_by_pillow(image: Image.Image) -> bytes:
    file = io.BytesIO()
    image.save(file, "BMP")
    return file.getvalue()


COLOR_MAP = np.random.default_rng(3).integers(0, 256, (256, 4), np.uint8)


@pytest.mark.parametrize("width", [1, 2, 3, 4, 7, 8, 9, 33])
@pytest.mark.parametrize("mode", ["1", "L", "RGB", "RGBA"])
def test_files_of_pillow_decode_to_its_pixels(mode: str, width: int) -> None:
    channels = {"1": 1, "L": 1, "RGB": 3, "RGBA": 4}[mode]
    image = Image.fromarray(sample_image(13, width, channels, "uint8")).convert(mode)
    data = saved_by_pillow(image)
    # The fourth byte of a pixel is alpha only where the file says so, and Pillow's do not.
    expected = pillow(data, "L" if channels == 1 else "RGB")
    np.testing.assert_array_equal(penstock.decode(data), expected)
    assert penstock.inspect(data).shape == expected.shape


@pytest.mark.parametrize("bits", [1, 4, 8])
@pytest.mark.parametrize("header_bytes", [12, 40, 64, 108, 124])
def test_palettes_decode_to_colours_or_indices(bits: int, header_bytes: int) -> None:
    rng = np.random.default_rng(bits)
    indices = rng.integers(0, 2**bits, (9, 21), np.uint8)
    digits = np.unpackbits(indices[:, :, None], axis=2)[:, :, 8 - bits :]
    packed = np.packbits(digits.reshape(9, -1), axis=1)
    entry = 3 if header_bytes == 12 else 4
    palette = np.ascontiguousarray(COLOR_MAP[: 2**bits, :entry])
    data = bmp(21, 9, bits, rows(packed), header_bytes=header_bytes, palette=palette.tobytes())
    np.testing.assert_array_equal(penstock.decode(data), palette[:, 2::-1][indices])
    np.testing.assert_array_equal(penstock.decode(data), pillow(data, "RGB"))
    np.testing.assert_array_equal(find("bmp").decode(data, DecodeOptions(palette="indices")), indices)
    assert penstock.inspect(data).color == "palette"


def test_palette_of_greys_in_order_gives_one_channel() -> None:
    grey = sample_image(5, 6, 1, "uint8")
    ramp = np.repeat(np.arange(256, dtype=np.uint8)[:, None], 4, 1).tobytes()
    data = bmp(6, 5, 8, rows(grey), palette=ramp)
    np.testing.assert_array_equal(penstock.decode(data), grey)
    assert penstock.inspect(data).color == "grey"


@pytest.mark.parametrize("top_down", [False, True])
@pytest.mark.parametrize(
    ("compression", "header_bytes", "masks"),
    [(NONE, 40, ()), (FIELDS, 40, MASKS_565), (FIELDS, 40, MASKS_555), (FIELDS, 56, (*MASKS_565, 0))],
)
def test_sixteen_bits_are_stretched_as_pillow_does(
    compression: int, header_bytes: int, masks: tuple[int, ...], top_down: bool
) -> None:
    values = np.random.default_rng(1).integers(0, 2**16, (16, 31), np.uint16)
    height = -16 if top_down else 16
    packed = rows(values, top_down=top_down)
    data = bmp(31, height, 16, packed, compression=compression, header_bytes=header_bytes, masks=masks)
    np.testing.assert_array_equal(penstock.decode(data), pillow(data, "RGB"))


@pytest.mark.parametrize("top_down", [False, True])
@pytest.mark.parametrize("bits", [24, 32])
def test_true_colour_decodes_in_both_directions(bits: int, top_down: bool) -> None:
    bgr = np.random.default_rng(2).integers(0, 256, (7, 5, bits // 8), np.uint8)
    data = bmp(5, -7 if top_down else 7, bits, rows(bgr, top_down=top_down))
    np.testing.assert_array_equal(penstock.decode(data), bgr[:, :, 2::-1])
    np.testing.assert_array_equal(penstock.decode(data), pillow(data, "RGB"))


@pytest.mark.parametrize(("compression", "header_bytes"), [(FIELDS, 56), (FIELDS, 108), (FIELDS, 124)])
def test_alpha_mask_gives_a_fourth_channel(compression: int, header_bytes: int) -> None:
    rgba = np.random.default_rng(2).integers(0, 256, (7, 5, 4), np.uint8)
    data = bmp(5, 7, 32, rows(rgba), compression=compression, header_bytes=header_bytes, masks=MASKS_RGBA)
    np.testing.assert_array_equal(penstock.decode(data), rgba)
    np.testing.assert_array_equal(penstock.decode(data), pillow(data, "RGBA"))


def test_ten_bit_fields_are_stretched() -> None:
    masks = (0x3FF00000, 0x000FFC00, 0x000003FF)
    values = np.array([[0, 0x3FFFFFFF, 0x1FF << 20]], np.uint32)
    data = bmp(3, 1, 32, rows(values), compression=FIELDS, masks=masks)
    assert penstock.decode(data).tolist() == [[[0, 0, 0], [255, 255, 255], [127, 0, 0]]]


def test_run_lengths_of_bytes_decode() -> None:
    runs = bytes([3, 7, 0, 3, 1, 2, 3, 0, 0, 0])  # 7 7 7 1 2 3, end of row
    runs += bytes([0, 2, 2, 0, 2, 9, 0, 0])  # two to the right, 9 9, end of row
    runs += bytes([6, 5, 0, 1])  # 5 six times, end of image
    data = bmp(6, 3, 8, runs, compression=RLE8, palette=COLOR_MAP.tobytes())
    indices = np.array([[5] * 6, [0, 0, 9, 9, 0, 0], [7, 7, 7, 1, 2, 3]])
    np.testing.assert_array_equal(penstock.decode(data), COLOR_MAP[:, 2::-1][indices])
    np.testing.assert_array_equal(penstock.decode(data), pillow(data, "RGB"))
    np.testing.assert_array_equal(penstock.decode(data, region=(1, 2, 2, 3)), penstock.decode(data)[1:3, 2:5])


def test_run_lengths_of_nibbles_decode() -> None:
    runs = bytes([5, 0x12, 0, 0])  # 1 2 1 2 1, end of row
    runs += bytes([0, 5, 0x34, 0x56, 0x70, 0, 0, 1])  # 3 4 5 6 7, padding, end of image
    data = bmp(5, 2, 4, runs, compression=RLE4, palette=COLOR_MAP[:16].tobytes())
    indices = np.array([[3, 4, 5, 6, 7], [1, 2, 1, 2, 1]])
    np.testing.assert_array_equal(penstock.decode(data), COLOR_MAP[:, 2::-1][indices])


def test_region_reads_only_its_rows() -> None:
    data = saved_by_pillow(Image.fromarray(sample_image(40, 30, 3, "uint8")))
    crop, total, decoded = decode_counted(data, region=(5, 6, 7, 8))
    np.testing.assert_array_equal(crop, penstock.decode(data)[5:12, 6:14])
    assert (total, decoded) == (40, 7)


def test_writing_is_refused() -> None:
    with pytest.raises(CodecError, match="read-only"):
        penstock.encode(np.zeros((2, 2), np.uint8), "bmp")


REFUSED = {
    "a JPEG inside": (bmp(4, 4, 24, bytes(64), compression=JPEG), "compression 4"),
    "a PNG inside": (bmp(4, 4, 24, bytes(64), compression=PNG), "compression 5"),
    "2 bits": (bmp(4, 4, 2, bytes(64)), "2 bits"),
    "runs of the wrong depth": (bmp(4, 4, 8, bytes(64), compression=RLE4), "compression 2"),
    "runs from the top": (bmp(4, -4, 8, bytes(64), compression=RLE8), "top-down"),
    "fields with holes": (bmp(4, 4, 16, bytes(64), compression=FIELDS, masks=(0x505, 0xF0, 0xF)), "holes"),
    "empty fields": (bmp(4, 4, 16, bytes(64), compression=FIELDS, masks=(0, 0xF0, 0xF)), "empty"),
    "too few pixels": (bmp(4, 4, 24, bytes(40)), "before its last row"),
    "runs that end": (bmp(4, 4, 8, bytes([4, 1]), compression=RLE8, palette=bytes(1024)), "before its last row"),
    "negative width": (bmp(-4, 4, 24, bytes(64)), "width -4"),
    "no width": (bmp(0, 4, 24, bytes(64)), "no pixels"),
    "60000 by 60000": (bmp(60000, 60000, 24, bytes(64)), "larger than max_pixels"),
    "palette of 257 colours": (bmp(4, 4, 8, bytes(64), palette=bytes(257 * 4)), "257 colours"),
    "header of 41 bytes": (bmp(4, 4, 24, bytes(64), header_bytes=41), "does not start like a bmp"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_by_name(case: str) -> None:
    data, words = REFUSED[case]
    with pytest.raises(CodecError) as caught:
        find("bmp").decode(data, DecodeOptions())
    assert words in caught.value.what
    assert caught.value.where
    assert caught.value.fix


def test_cuts_and_flips_give_an_image_or_a_codec_error() -> None:
    runs = bytes([3, 7, 0, 3, 1, 2, 3, 0, 0, 0, 6, 5, 0, 1])
    for data in (
        saved_by_pillow(Image.fromarray(sample_image(9, 10, 3, "uint8"))),
        bmp(6, 2, 8, runs, compression=RLE8, palette=COLOR_MAP.tobytes()),
        bmp(5, 7, 32, bytes(140), compression=FIELDS, header_bytes=108, masks=MASKS_RGBA),
    ):
        broken = [data[:cut] for cut in range(len(data))]
        broken += [data[:i] + bytes([data[i] ^ 0xFF]) + data[i + 1 :] for i in range(len(data))]
        for damaged in broken:
            try:
                find("bmp").decode(damaged, DecodeOptions(max_pixels=2**20))
            except CodecError:
                continue
