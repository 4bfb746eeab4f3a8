"""CRC-32C: known values, continuation, and the fast paths against the table."""

from __future__ import annotations

import pytest

from penstock import _native


def test_crc_of_the_check_string_is_the_published_one(simd_path: str) -> None:
    assert _native.crc32c(b"123456789") == 0xE3069283


@pytest.mark.parametrize(("byte", "expected"), [(0x00, 0x8A9136AA), (0xFF, 0x62A8AB43)])
def test_crc_of_32_equal_bytes_is_that_of_rfc_3720(simd_path: str, byte: int, expected: int) -> None:
    assert _native.crc32c(bytes([byte]) * 32) == expected


def test_crc_of_two_parts_is_that_of_the_whole(simd_path: str) -> None:
    data = bytes(range(256))
    for cut in (0, 1, 7, 8, 9, 100, 256):
        assert _native.crc32c(data[cut:], _native.crc32c(data[:cut])) == _native.crc32c(data)


def test_every_path_gives_the_same_crc_at_every_length(simd_path: str) -> None:
    data = bytes((i * i * 31 + i) % 251 for i in range(1500))
    lengths = [*range(0, 1100, 7), 63, 64, 127, 128, 255, 256, 511, 512, 513, 1500]
    found = [_native.crc32c(data[:length], 77) for length in lengths]
    _native.force_simd_path("portable")
    assert found == [_native.crc32c(data[:length], 77) for length in lengths]
