"""Header and padding of a shard. Layout: spec/dataset.md, "Shard"."""

from __future__ import annotations

import struct

import numpy as np
import numpy.typing as npt

from penstock import _native

HEADER = struct.Struct("<8sHHI16sI24sI")
MAGIC = b"PENSHARD"
VERSION = 1
PADDING = 4096


def header_problem(data: bytes, identity: str, number: int) -> str:
    """Return what is wrong with the first bytes of a shard; "" if they are correct."""
    if len(data) < HEADER.size:
        return f"it has {len(data)} bytes, less than a header"
    magic, version, kind, alignment, owner, own_number, zero, crc = HEADER.unpack_from(data)
    if magic != MAGIC:
        return "it does not begin as a shard does"
    if crc != _native.crc32c(data[: HEADER.size - 4]):
        return "its header does not match its checksum"
    if version != VERSION or kind not in (1, 2):
        return f"its version is {version} and its kind {kind}, which this Penstock does not read"
    if alignment < 1 or alignment > PADDING or alignment & (alignment - 1) or zero.strip(b"\0"):
        return "its header holds what cannot be"
    if owner.hex() != identity or own_number != number:
        return "it is a shard of another dataset, or another shard of this one"
    return ""


def number_of(file: str) -> int:
    """Return the number in the name of a shard.

    >>> number_of("shards/weir-fast-00012.shard")
    12
    """
    digits = file.removesuffix(".shard").rpartition("-")[2]
    return int(digits) if digits.isdecimal() else -1


def first_in_padding(data: bytes, offsets: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64]) -> int | None:
    """Return the first byte that is not zero and belongs to no record, or None. `offsets` are ascending."""
    ends = np.concatenate([[HEADER.size], offsets + lengths])
    begins = np.append(offsets, len(data))
    content = np.frombuffer(data, np.uint8)
    for end, begin in zip(map(int, ends), map(int, begins), strict=True):
        gap = content[end:begin]
        if gap.any():
            return end + int(np.argmax(gap != 0))
    return None
