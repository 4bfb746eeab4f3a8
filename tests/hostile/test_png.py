"""Damaged and malicious PNGs: each gives a `CodecError` that says what, where and how to fix it; never more."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock
from penstock import CodecError
from penstock.codecs import DecodeOptions, find
from penstock.testing.codec import sample_image
from tests.png_writer import GREY, PALETTE, RGB, RGB_ALPHA, SIGNATURE, Chunk, Png, read_chunks, write_chunks

SAMPLES = np.arange(12, dtype=np.uint16).reshape(3, 4, 1)
GOOD = Png(SAMPLES, GREY, 8, filters=(4,)).encode()
HEADER, PIXELS, END = read_chunks(GOOD)


def header(width: int = 4, height: int = 3, depth: int = 8, color: int = GREY, rest: bytes = b"\0\0\0") -> Chunk:
    return b"IHDR", struct.pack(">IIBB", width, height, depth, color) + rest


def refused(data: bytes, *, max_pixels: int = 2**28) -> CodecError:
    with pytest.raises(CodecError) as caught:
        find("png").decode(data, DecodeOptions(max_pixels=max_pixels))
    error = caught.value
    assert error.what
    assert error.where
    assert error.fix
    return error


ABUSES: dict[str, tuple[list[Chunk], str]] = {
    "no chunks": ([], "ends inside a chunk"),
    "no header": ([PIXELS, END], "first chunk is IDAT"),
    "two headers": ([HEADER, HEADER, PIXELS, END], "a second IHDR"),
    "short header": ([(b"IHDR", HEADER[1][:12]), PIXELS, END], "not 13 bytes"),
    "no pixels": ([HEADER, END], "no IDAT"),
    "no end": ([HEADER, PIXELS], "ends inside a chunk"),
    "empty IDAT": ([HEADER, (b"IDAT", b""), END], "not a valid zlib stream"),
    "no width": ([header(width=0), PIXELS, END], "no pixels"),
    "no height": ([header(height=0), PIXELS, END], "no pixels"),
    "endless width": ([header(width=2**31), PIXELS, END], "longer than"),
    "60000 by 60000": ([header(60000, 60000), PIXELS, END], "larger than max_pixels"),
    "16384 by 16384 in 20 bytes": ([header(16384, 16384), PIXELS, END], "cannot hold"),
    "depth 3": ([header(depth=3), PIXELS, END], "does not exist"),
    "16-bit palette": ([header(depth=16, color=PALETTE), PIXELS, END], "does not exist"),
    "4-bit colour": ([header(depth=4, color=RGB), PIXELS, END], "does not exist"),
    "colour type 5": ([header(color=5), PIXELS, END], "does not exist"),
    "unknown compression": ([header(rest=b"\1\0\0"), PIXELS, END], "unknown"),
    "unknown interlace": ([header(rest=b"\0\0\2"), PIXELS, END], "unknown"),
    "unknown critical chunk": ([HEADER, (b"CgBI", b"1234"), PIXELS, END], "CgBI is critical"),
    "chunk type of digits": ([HEADER, (b"12\0\0", b""), PIXELS, END], "letters"),
    "palette image without palette": ([header(color=PALETTE), PIXELS, END], "no PLTE"),
    "palette behind the pixels": ([header(color=PALETTE), PIXELS, (b"PLTE", b"abc"), END], "no PLTE"),
    "palette of 4 bytes": ([header(color=PALETTE), (b"PLTE", b"abcd"), PIXELS, END], "PLTE has 4 bytes"),
    "palette of 257 colours": ([header(color=PALETTE), (b"PLTE", bytes(771)), PIXELS, END], "PLTE has 771"),
    "two palettes": ([header(color=PALETTE), (b"PLTE", b"abc"), (b"PLTE", b"abc"), PIXELS, END], "a second PLTE"),
    "pixels in two places": ([HEADER, PIXELS, (b"tEXt", b"a\0b"), PIXELS, END], "do not follow each other"),
    "not zlib": ([HEADER, (b"IDAT", b"\xff" * 30), END], "not a valid zlib stream"),
    "wrong Adler-32": ([HEADER, (b"IDAT", PIXELS[1][:-1] + b"\x55"), END], "not a valid zlib stream"),
    "a row too few": ([HEADER, (b"IDAT", zlib.compress(bytes(10))), END], "ends before the last row"),
    "a row too many": ([HEADER, (b"IDAT", zlib.compress(bytes(20))), END], "goes on behind the last row"),
    "bomb of 64 MB": ([HEADER, (b"IDAT", zlib.compress(bytes(2**26))), END], "goes on behind the last row"),
    "filter 5": ([HEADER, (b"IDAT", zlib.compress(b"\5\0\0\0\0" * 3)), END], "filter type 5"),
}


@pytest.mark.parametrize("abuse", ABUSES)
def test_abuse_is_refused_by_name(abuse: str) -> None:
    chunks, words = ABUSES[abuse]
    assert words in refused(write_chunks(chunks)).what


def test_good_file_decodes() -> None:
    np.testing.assert_array_equal(penstock.decode(GOOD), SAMPLES[:, :, 0])


@pytest.mark.parametrize("chunk", ["IHDR", "tEXt", "PLTE", "IDAT", "IEND"])
def test_wrong_crc_of_any_chunk_is_found(chunk: str) -> None:
    data = bytearray(write_chunks([HEADER, (b"tEXt", b"a\0b"), (b"PLTE", bytes(6)), PIXELS, END]))
    start = data.index(chunk.encode()) - 4
    length = int.from_bytes(data[start : start + 4], "big")
    data[start + 8 + length] ^= 1
    assert f"{chunk} does not match its checksum" in refused(bytes(data)).what


def test_every_flipped_byte_is_found() -> None:
    data = penstock.encode(sample_image(21, 30, 3, "uint8"), "png")
    for position in range(len(data)):
        refused(data[:position] + bytes([data[position] ^ 0x10]) + data[position + 1 :])


def test_every_cut_is_found(shared_data: Path) -> None:
    file = next((shared_data / "cityscapes/gtFine").rglob("*.png"))
    data = file.read_bytes()
    for cut in range(0, len(data), 64):
        refused(data[:cut])


@pytest.mark.parametrize("side", [2**31 - 1, 1518500250])
def test_absurd_limits_do_not_overflow(side: int) -> None:
    """The second side squared, times eight bytes a pixel, is just above 2^64."""
    huge = write_chunks([header(side, side, 16, RGB_ALPHA), PIXELS, END])
    assert "larger than" in refused(huge, max_pixels=2**64 - 1).what


@settings(deadline=None, max_examples=150)
@given(st.binary(max_size=200))
def test_any_bytes_behind_a_signature_are_refused(tail: bytes) -> None:
    refused(SIGNATURE + tail)


@settings(deadline=None, max_examples=150)
@given(st.binary(max_size=60), st.integers(0, 255), st.sampled_from([GREY, RGB, PALETTE]), st.booleans())
def test_any_pixel_stream_gives_an_image_or_a_codec_error(body: bytes, cut: int, color: int, raw: bool) -> None:
    """Valid chunks around arbitrary pixel data: the checksums of the container do not protect the decoder here."""
    stream = body if raw else zlib.compress(body)[: cut + 1]
    chunks = [header(3, 3, 8, color), (b"PLTE", bytes(6)), (b"IDAT", stream), END]
    try:
        penstock.decode(write_chunks(chunks))
    except CodecError:
        return
