"""Sluice files taken apart and put together again, so that a test can tell one lie at a time."""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from itertools import pairwise

from penstock import _native

HEADER_BYTES = 48


@dataclass(frozen=True)
class SluiceFile:
    """The parts of a file; `data` computes offsets and checksums."""

    header: bytes
    """The first 32 bytes: all that stands before lengths and checksums."""
    front: bytes
    """Quantisation tables, table set and extensions."""
    segments: tuple[bytes, ...]
    restoration: bytes
    """Without its checksum."""

    def data(self) -> bytes:
        """Write the file."""
        tiles = len(self.segments)
        begin = HEADER_BYTES + 4 * (2 * tiles + 1) + len(self.front)
        ends = [begin]
        for segment in self.segments:
            ends.append(ends[-1] + len(segment))
        tables = struct.pack(f"<{tiles + 1}I", *ends)
        tables += b"".join(struct.pack("<I", _native.crc32c(segment)) for segment in self.segments) + self.front
        cold = struct.pack("<I", _native.crc32c(self.restoration)) + self.restoration if self.restoration else b""
        head = self.header + struct.pack("<III", begin, len(cold), _native.crc32c(tables))
        return head + struct.pack("<I", _native.crc32c(head)) + tables + b"".join(self.segments) + cold

    def with_segment(self, index: int, segment: bytes) -> SluiceFile:
        """Replace a segment."""
        return replace(self, segments=(*self.segments[:index], segment, *self.segments[index + 1 :]))

    def with_header(self, position: int, value: int) -> SluiceFile:
        """Replace a byte of the header."""
        return replace(self, header=self.header[:position] + bytes([value]) + self.header[position + 1 :])


def split(data: bytes, num_tiles: int) -> SluiceFile:
    """Take a valid file apart."""
    offsets = struct.unpack_from(f"<{num_tiles + 1}I", data, HEADER_BYTES)
    segments = tuple(data[begin:end] for begin, end in pairwise(offsets))
    front = data[HEADER_BYTES + 4 * (2 * num_tiles + 1) : offsets[0]]
    return SluiceFile(data[:32], front, segments, data[offsets[-1] + 4 :])
