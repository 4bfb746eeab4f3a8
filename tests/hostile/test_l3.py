"""Damaged and lying l3 files: each gives a CodecError that says what and where, with and without checksums."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

import penstock
from penstock.codecs import DecodeOptions
from penstock.types import Pixels

SIZES = 20
PIXELS = np.arange(70 * 90 * 3).reshape(70, 90, 3).astype(np.uint8)


def good() -> bytearray:
    return bytearray(penstock.encode(PIXELS, "l3"))


def unchecked(data: bytearray) -> Pixels:
    return penstock.decode(data, options=DecodeOptions(verify=False, max_pixels=2**28))


def lie(position: int, *values: int) -> bytearray:
    data = good()
    data[position : position + len(values)] = bytes(values)
    return data


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (lie(4, 0, 0, 0, 0), "width 0"),
        (lie(4, 0, 0, 0, 0x80), "width 2147483648"),
        (lie(8, 0xFF, 0xFF, 0xFF, 0xFF), "height 4294967295"),
        (lie(12, 7), "patch 7"),
        (lie(12, 129), "patch 129"),
        (lie(13, 0), "version 256"),
        (lie(13, 2), "version 2"),
        (lie(14, 0), "patch 0"),
        (lie(14, 129), "patch 129"),
        (lie(15, 0), "channels 0"),
        (lie(15, 5), "channels 5"),
        (lie(4, 0xFF, 0xFF, 0, 0, 0xFF, 0, 0, 0), "ends inside its tables"),
        (lie(SIZES, 0xFF, 0xFF), "ends inside its patches"),
        (lie(SIZES, 0, 0), "longer than its patches"),
        (good()[:3], "no known image format"),
        (good()[:4], "ends inside its header"),
        (good()[:19], "ends inside its header"),
        (good()[:25], "ends inside its tables"),
        (good()[:-1], "ends inside its patches"),
        (good() + b"x", "longer than its patches"),
    ],
)
def test_lying_file_is_refused_by_name(data: bytearray, match: str) -> None:
    with pytest.raises(penstock.CodecError, match=match):
        unchecked(data)


def test_sizes_that_trade_bytes_are_found_at_the_patch() -> None:
    data = good()
    first = int.from_bytes(data[SIZES : SIZES + 2], "little")
    second = int.from_bytes(data[SIZES + 2 : SIZES + 4], "little")
    data[SIZES : SIZES + 4] = (first - 1).to_bytes(2, "little") + (second + 1).to_bytes(2, "little")
    with pytest.raises(penstock.CodecError, match=r"plane 0 of patch 0 \(row 0, column 0\) is shorter than its rows"):
        unchecked(data)
    with pytest.raises(penstock.CodecError, match="header and tables do not match their checksum"):
        penstock.decode(data)


def test_every_flipped_bit_of_a_small_file_is_found() -> None:
    data = penstock.encode(PIXELS[:9, :11], "l3:patch=8")
    for bit in range(len(data) * 8):
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        with pytest.raises(penstock.CodecError):
            penstock.decode(damaged)


def test_random_bytes_behind_a_good_header_never_do_more_than_raise() -> None:
    rng = np.random.default_rng(0)
    for _ in range(300):
        data = good()
        start = int(rng.integers(SIZES, len(data)))
        count = int(rng.integers(1, 64))
        data[start : start + count] = rng.integers(0, 256, len(data[start : start + count]), np.uint8).tobytes()
        with contextlib.suppress(penstock.CodecError):
            assert unchecked(data).shape == PIXELS.shape
