"""The CRC-32C of the kernels is the one of the native core."""

from __future__ import annotations

import pytest
import torch
import triton
import triton.language as tl

from penstock import _native
from penstock.kernels.device.crc import crc_bytes, crc_finish, crc_start


@triton.jit
def crc_of_parts(data, cut, size, out):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    state = crc_bytes(data, 0, cut, crc_start())
    tl.store(out, crc_finish(crc_bytes(data, cut, size, state)))


@pytest.mark.parametrize(
    ("cut", "size"), [(0, 0), (0, 1), (0, 3), (0, 4), (2, 5), (0, 255), (0, 256), (0, 257), (300, 1000), (9, 9)]
)
def test_crc_of_two_parts_is_that_of_the_native_core(cut: int, size: int) -> None:
    data = bytes(i * i % 251 for i in range(size))
    padded = torch.tensor([*data, 77], dtype=torch.uint8)
    out = torch.zeros(1, dtype=torch.int32)
    crc_of_parts[(1,)](padded, cut, size, out)
    assert int(out[0]) & 0xFFFFFFFF == _native.crc32c(data)
