"""Damaged and lying Weir files: each gives a CodecError that says what and names the tile, checksums or not."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import numpy as np
import pytest

import penstock
from penstock.codecs import DecodeOptions
from penstock.types import Pixels
from tests.weir_files import WeirFile, encode_split

NOISY = np.random.default_rng(1).integers(0, 60, (70, 130, 3)).astype(np.uint8)
FAST = encode_split(NOISY, "fast")
DENSE = encode_split(NOISY, "dense")
FLAT = encode_split(np.full((9, 9, 3), 7, np.uint8), "fast")
HEAD_FAST = 1 + 3 + 2
HEAD_DENSE = 1 + 3 + 2 + 2 + 4


def unchecked(data: bytes) -> Pixels:
    return penstock.decode(data, options=DecodeOptions(verify=False))


def lie(file: WeirFile, position: int, *values: int) -> bytes:
    """The file with other bytes in its first tile, checksum made to fit."""
    tile = bytearray(file.tiles[0])
    tile[position : position + len(values)] = bytes(values)
    return file.with_tile(0, bytes(tile)).data()


@pytest.mark.parametrize(
    ("data", "match", "code"),
    [
        (FAST.data()[:31], "shorter than its 32-byte header", 310),
        (replace(FAST, version=2).data(), "version 2", 350),
        (replace(FAST, profile=2).data(), "profile 2", 320),
        (replace(FAST, channels=0).data(), "0 channels", 320),
        (replace(FAST, channels=5).data(), "5 channels", 320),
        (replace(FAST, bits=12).data(), "12 bits", 320),
        (replace(FAST, width=0).data(), "side of 0 pixels", 320),
        (replace(FAST, height=2**31).data(), "side of 2147483648 pixels", 320),
        (replace(FAST, tile_log2=(7, 6)).data(), "not 64x64", 320),
        (replace(FAST, tile_log2=(6, 5)).data(), "not 64x64", 320),
        (replace(FAST, flags=2).data(), "flags that do not exist", 320),
        (replace(FAST, zero=1).data(), "flags that do not exist", 320),
        (replace(FAST, header_crc=1).data(), "header does not match its checksum", 330),
        (replace(FAST, width=2**15, height=2**13).data(), "ends before its first tile", 310),
        (FAST.data()[:60], "ends before its first tile", 310),
        (FAST.data()[:-1], "should have", 310),
        (FAST.data() + b"x", "bytes follow the last weir tile", 320),
    ],
)
def test_lying_header_is_refused_by_name(data: bytes, match: str, code: int) -> None:
    for decode in (penstock.decode, unchecked):
        with pytest.raises(penstock.CodecError, match=match) as raised:
            decode(data)
        assert raised.value.code == code


@pytest.mark.parametrize(
    ("offsets", "match"),
    [
        (lambda o: (o[0] + 1, *o[1:]), "first weir tile is at byte"),
        (lambda o: (*o[:2], o[1], *o[3:]), "weir tile 1 goes from byte"),
        (lambda o: (o[0], o[-1] + 1, *o[2:]), "weir tile 0 goes from byte"),
        (lambda o: (*o[:3], 2, *o[4:]), "weir tile 2 goes from byte"),
    ],
)
def test_lying_offsets_are_refused_by_name(offsets: object, match: str) -> None:
    good = np.frombuffer(FAST.data(), "<u4", len(FAST.tiles) + 1, 32).tolist()
    assert callable(offsets)
    with pytest.raises(penstock.CodecError, match=match):
        penstock.decode(replace(FAST, offsets=offsets(good)).data())


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (lie(FAST, 0, 0x04), "tile 0 has flags that do not exist"),
        (lie(FAST, 0, 0x08), "tile 0 has flags that do not exist"),
        (lie(FAST, 0, 0x80), "tile 0 has flags that do not exist"),
        (lie(FAST, 0, 0x70), "tile 0 has parts that do not fill it"),
        (lie(FAST, 4, 0xFF, 0xFF), "tile 0 has parts that do not fill it"),
        (lie(FAST, HEAD_FAST, 0x08), "tile 0 has a prediction mode that does not exist"),
        (lie(FAST, HEAD_FAST + 3, 0x80), "tile 0 has a prediction mode that does not exist"),
        (lie(FAST, HEAD_FAST + 24, *[0xFF] * 300), "tile 0 has a block code that does not exist"),
        (lie(FAST, 4, 40, 0), "tile 0 has"),
        (FAST.with_tile(0, FAST.tiles[0][:-1]).data(), "tile 0 has a payload of the wrong length"),
        (FAST.with_tile(0, FAST.tiles[0] + b"\0").data(), "tile 0 has a payload of the wrong length"),
        (FAST.with_tile(0, FAST.tiles[0] + bytes(40000)).data(), "tile 0 has parts that do not fill it"),
        (FAST.with_tile(0, b"\0").data(), "tile 0 has parts that do not fill it"),
        (lie(FLAT, 0, 0x00), "tile 0 has parts that do not fill it"),
        (FLAT.with_tile(0, FLAT.tiles[0] + b"\0").data(), "tile 0 has parts that do not fill it"),
        (lie(DENSE, 0, 0x10), "tile 0 has parts that do not fill it"),
        (lie(DENSE, 6, 0xFF, 0xFF), "tile 0 has parts that do not fill it"),
        (lie(DENSE, HEAD_DENSE + 24, *[0xFF] * 300), "tile 0 has a block code that does not exist"),
        (DENSE.with_tile(0, DENSE.tiles[0][:-1]).data(), "tile 0 has a unary stream of the wrong length"),
        (DENSE.with_tile(0, DENSE.tiles[0] + b"\0").data(), "tile 0 has a unary stream of the wrong length"),
        (DENSE.with_tile(0, DENSE.tiles[0] + bytes(8000)).data(), "tile 0 has parts that do not fill it"),
        (DENSE.with_tile(5, DENSE.tiles[5] + b"\0").data(), "tile 5 has a unary stream of the wrong length"),
    ],
)
def test_lying_tile_is_refused_by_name(data: bytes, match: str) -> None:
    for decode in (penstock.decode, unchecked):
        with pytest.raises(penstock.CodecError, match=match) as raised:
            decode(data)
        assert raised.value.code == 320


def test_grey_image_has_no_transform() -> None:
    grey = encode_split(NOISY[:, :, 0].copy(), "fast")
    with pytest.raises(penstock.CodecError, match="tile 0 has flags that do not exist"):
        penstock.decode(lie(grey, 0, 1))


@pytest.mark.parametrize("file", [FAST, DENSE], ids=["fast", "dense"])
def test_flipped_bit_of_a_tile_names_the_tile(file: WeirFile) -> None:
    data = bytearray(file.data())
    data[-1] ^= 0x10
    with pytest.raises(penstock.CodecError, match="tile 5 does not match its checksum") as raised:
        penstock.decode(bytes(data))
    assert raised.value.code == 330


def test_damage_in_another_tile_does_not_touch_a_region() -> None:
    data = bytearray(FAST.data())
    data[-1] ^= 0x10
    np.testing.assert_array_equal(penstock.decode(bytes(data), region=(0, 0, 60, 60)), NOISY[:60, :60])


@pytest.mark.parametrize("variant", ["fast", "dense"])
def test_every_flipped_bit_of_a_small_file_is_found(variant: str) -> None:
    data = penstock.encode(NOISY[:5, :7], f"weir:{variant}")
    for bit in range(len(data) * 8):
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        with pytest.raises(penstock.CodecError):
            penstock.decode(damaged)


@pytest.mark.parametrize("file", [FAST, DENSE], ids=["fast", "dense"])
def test_random_tiles_never_do_more_than_raise(file: WeirFile) -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        tile = bytearray(file.tiles[5])
        start, count = int(rng.integers(len(tile))), int(rng.integers(1, 64))
        tile[start : start + count] = rng.integers(0, 256, len(tile[start : start + count]), np.uint8).tobytes()
        with contextlib.suppress(penstock.CodecError):
            assert unchecked(file.with_tile(5, bytes(tile)).data()).shape == NOISY.shape
