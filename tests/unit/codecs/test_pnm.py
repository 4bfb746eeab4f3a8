"""PNM is read in all its seven forms; values are stretched to the full range; damage is refused by name."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

import penstock
from penstock import CodecError
from penstock.codecs import DecodeOptions, decode_counted, find
from penstock.testing.codec import sample_image
from penstock.types import Pixels


def pnm(kind: int, pixels: Pixels, max_value: int, *, comment: str = "") -> bytes:
    """P1 to P6 of samples as they are stored."""
    height, width = pixels.shape[:2]
    header = f"P{kind}\n{comment}{width} {height}\n" + ("" if kind in (1, 4) else f"{max_value}\n")
    if kind <= 3:
        return (header + "\n".join(" ".join(map(str, row.reshape(-1))) for row in pixels) + "\n").encode()
    if kind == 4:
        return header.encode() + np.packbits(pixels.astype(bool), axis=1).tobytes()
    return header.encode() + pixels.astype(">u2" if max_value > 255 else "u1").tobytes()


def pam(pixels: Pixels, max_value: int, tuple_type: str = "") -> bytes:
    height, width = pixels.shape[:2]
    depth = 1 if pixels.ndim == 2 else pixels.shape[2]
    header = f"P7\nWIDTH {width}\n# a comment\nHEIGHT {height}\nDEPTH {depth}\nMAXVAL {max_value}\n{tuple_type}ENDHDR\n"
    return header.encode() + pixels.astype(">u2" if max_value > 255 else "u1").tobytes()


def stretched(pixels: Pixels, max_value: int) -> Pixels:
    top = 255 if max_value < 256 else 65535
    scaled = (pixels.astype(np.int64) * top + max_value // 2) // max_value
    return scaled.astype(np.uint8) if top == 255 else scaled.astype(np.uint16)


def random_samples(height: int, width: int, channels: int, max_value: int) -> Pixels:
    shape = (height, width) if channels == 1 else (height, width, channels)
    return np.random.default_rng(max_value).integers(0, max_value + 1, shape).astype(np.uint16)


@pytest.mark.parametrize("kind", [2, 3, 5, 6])
@pytest.mark.parametrize("max_value", [1, 7, 100, 254, 255, 256, 1000, 4095, 65534, 65535])
def test_values_are_stretched_to_the_full_range(kind: int, max_value: int) -> None:
    samples = random_samples(7, 11, 3 if kind in (3, 6) else 1, max_value)
    data = pnm(kind, samples, max_value)
    decoded = penstock.decode(data)
    np.testing.assert_array_equal(decoded, stretched(samples, max_value))
    assert penstock.inspect(data).shape == decoded.shape
    assert penstock.inspect(data).dtype == decoded.dtype.name


@pytest.mark.parametrize("kind", [2, 5])
@pytest.mark.parametrize("max_value", [7, 99, 255, 1001, 4095, 65535])
def test_greys_equal_pillow(kind: int, max_value: int) -> None:
    data = pnm(kind, random_samples(7, 11, 1, max_value), max_value)
    np.testing.assert_array_equal(penstock.decode(data), np.asarray(Image.open(io.BytesIO(data))))


@pytest.mark.parametrize("kind", [3, 6])
@pytest.mark.parametrize("max_value", [7, 99, 255])
def test_colours_equal_pillow(kind: int, max_value: int) -> None:
    data = pnm(kind, random_samples(7, 11, 3, max_value), max_value)
    np.testing.assert_array_equal(penstock.decode(data), np.asarray(Image.open(io.BytesIO(data))))


@pytest.mark.parametrize("kind", [1, 4])
@pytest.mark.parametrize("width", [1, 7, 8, 9, 40])
def test_bitmaps_equal_pillow(kind: int, width: int) -> None:
    data = pnm(kind, random_samples(5, width, 1, 1), 1)
    np.testing.assert_array_equal(penstock.decode(data), np.asarray(Image.open(io.BytesIO(data)).convert("L")))
    assert penstock.inspect(data).depth == 1


def test_bits_of_a_text_bitmap_may_touch() -> None:
    assert penstock.decode(b"P1 3 2 010\n1#c\n01").tolist() == [[255, 0, 255], [0, 255, 0]]


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("max_value", [1, 15, 255, 4095, 65535])
def test_pam_of_any_channels_decodes(channels: int, max_value: int) -> None:
    samples = random_samples(6, 5, channels, max_value)
    data = pam(samples, max_value, "TUPLTYPE RGB_ALPHA with words\n")
    np.testing.assert_array_equal(penstock.decode(data), stretched(samples, max_value))
    assert penstock.inspect(data).channels == channels


def test_comments_stand_anywhere_in_the_header() -> None:
    data = b"P5#one\n#two\n3 # width\n#three\n 2\n255\nabcdef"
    assert penstock.decode(data).tobytes() == b"abcdef"


def test_white_space_pixels_behind_the_header_are_pixels() -> None:
    assert penstock.decode(b"P5 2 2 255\n\n# \n").tobytes() == b"\n# \n"


def test_bytes_behind_the_image_are_tolerated() -> None:
    one = pnm(5, sample_image(4, 5, 1, "uint8"), 255)
    np.testing.assert_array_equal(penstock.decode(one + one), penstock.decode(one))


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_region_equals_the_crop(data: st.DataObject) -> None:
    kind, max_value = data.draw(st.integers(1, 6)), data.draw(st.sampled_from([7, 255, 4095]))
    height, width = data.draw(st.integers(1, 20)), data.draw(st.integers(1, 20))
    samples = random_samples(height, width, 3 if kind in (3, 6) else 1, 1 if kind in (1, 4) else max_value)
    file = pnm(kind, samples, max_value)
    y, x = data.draw(st.integers(0, height - 1)), data.draw(st.integers(0, width - 1))
    h, w = data.draw(st.integers(1, height - y)), data.draw(st.integers(1, width - x))
    crop, total, decoded = decode_counted(file, region=(y, x, h, w))
    np.testing.assert_array_equal(crop, penstock.decode(file)[y : y + h, x : x + w])
    assert (total, decoded) == (height, y + h if kind <= 3 else h)


def test_decodes_into_a_strided_window() -> None:
    for kind, max_value in ((2, 4095), (4, 1), (5, 255), (6, 99)):
        data = pnm(kind, random_samples(9, 10, 3 if kind == 6 else 1, max_value), max_value)
        expected = penstock.decode(data)
        frame = np.full((11, 13, *expected.shape[2:]), 99, expected.dtype)
        penstock.decode(data, out=frame[1:-1, 1:-2])
        np.testing.assert_array_equal(frame[1:-1, 1:-2], expected)
        frame[1:-1, 1:-2] = 99
        assert (frame == 99).all()


def test_writing_is_refused() -> None:
    with pytest.raises(CodecError, match="read-only"):
        penstock.encode(np.zeros((2, 2), np.uint8), "pnm")


REFUSED = {
    "no size": (b"P5\n", "ends where a number is due"),
    "words for numbers": (b"P5 wide 2 255\n", "something else"),
    "endless number": (b"P5 99999999999999999999 2 255\n", "above 2147483647"),
    "largest value 0": (b"P5 2 2 0\n1234", "largest value 0"),
    "largest value 65536": (b"P5 2 2 65536\n1234", "largest value 65536"),
    "no width": (b"P5 0 2 255\n", "no pixels"),
    "60000 by 60000": (b"P5 60000 60000 255\n", "larger than max_pixels"),
    "16384 by 16384 in 4 bytes": (b"P5 16384 16384 255\n1234", "before its last row"),
    "header without an end": (b"P5 2 2 255", "behind its header"),
    "garbage behind the header": (b"P5 2 2 255x1234", "no white space"),
    "too few bytes": (b"P5 2 2 255\n123", "before its last row"),
    "too few numbers": (b"P2 2 2 255\n1 2 3", "ends where a number is due"),
    "number above the largest": (b"P2 2 1 9\n1 10", "sample 10 is above"),
    "byte above the largest": (b"P5 2 1 9\n1\x01", "sample 49 is above"),
    "bit of 2": (b"P1 2 1\n1 2", "a 0 or 1 is due"),
    "pam without an end": (b"P7\nWIDTH 2\nHEIGHT 1\nDEPTH 1\nMAXVAL 255\n", "ends where a number is due"),
    "pam of unknown words": (b"P7\nWIDE 2\nENDHDR\n", "no pam has"),
    "pam of 5 channels": (b"P7\nWIDTH 2\nHEIGHT 1\nDEPTH 5\nMAXVAL 255\nENDHDR\n1234567890", "5 channels"),
    "pam without channels": (b"P7\nWIDTH 2\nHEIGHT 1\nMAXVAL 255\nENDHDR\n12", "0 channels"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_by_name(case: str) -> None:
    data, words = REFUSED[case]
    with pytest.raises(CodecError) as caught:
        find("pnm").decode(data, DecodeOptions())
    assert words in caught.value.what
    assert caught.value.where
    assert caught.value.fix


def test_cuts_and_flips_give_an_image_or_a_codec_error() -> None:
    files = [pnm(kind, random_samples(3, 4, 3 if kind in (3, 6) else 1, 1), 1) for kind in range(1, 7)]
    for data in [*files, pam(random_samples(3, 4, 2, 300), 300)]:
        broken = [data[:cut] for cut in range(len(data))]
        broken += [data[:i] + bytes([data[i] ^ 0x15]) + data[i + 1 :] for i in range(len(data))]
        for damaged in broken:
            try:
                find("pnm").decode(damaged, DecodeOptions(max_pixels=2**20))
            except CodecError:
                continue
