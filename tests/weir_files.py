"""Takes Weir files apart and puts them together again with right checksums, so that tests can lie about one thing."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field, replace

import penstock
from penstock import _native
from penstock.types import Pixels


@dataclass(frozen=True)
class WeirFile:
    """A file in parts. `data()` writes it; fields that are None are written as they should be."""

    profile: int
    channels: int
    bits: int
    width: int
    height: int
    tiles: tuple[bytes, ...] = field(repr=False)
    metadata: bytes = b""
    magic: bytes = b"WEIR"
    version: int = 1
    tile_log2: tuple[int, int] = (6, 6)
    flags: int = 0
    zero: int = 0
    offsets: tuple[int, ...] | None = None
    tile_crcs: tuple[int, ...] | None = None
    table_crc: int | None = None
    header_crc: int | None = None

    def data(self) -> bytes:
        """The bytes of the file."""
        kind = "Q" if self.flags & 1 else "I"
        count = len(self.tiles)
        begin = 32 + struct.calcsize(kind) * (count + 1) + 4 * count + len(self.metadata)
        ends = [begin + sum(map(len, self.tiles[:i])) for i in range(count + 1)]
        crcs = self.tile_crcs or tuple(_native.crc32c(tile) for tile in self.tiles)
        table = struct.pack(f"<{count + 1}{kind}", *(self.offsets or ends)) + struct.pack(f"<{count}I", *crcs)
        table += self.metadata
        header = self.magic + bytes([self.version, self.profile, self.channels, self.bits])
        header += struct.pack("<II", self.width, self.height) + bytes([*self.tile_log2, self.flags, self.zero])
        table_crc = _native.crc32c(table) if self.table_crc is None else self.table_crc
        header += struct.pack("<II", len(self.metadata), table_crc)
        header_crc = _native.crc32c(header) if self.header_crc is None else self.header_crc
        return header + struct.pack("<I", header_crc) + table + b"".join(self.tiles)

    def with_tile(self, index: int, tile: bytes) -> WeirFile:
        """The same file with another tile; its checksum fits."""
        return replace(self, tiles=(*self.tiles[:index], tile, *self.tiles[index + 1 :]))


def split(data: bytes) -> WeirFile:
    """The parts of a file that penstock wrote."""
    _, _, profile, channels, bits, width, height, _, _, flags, _, metadata_bytes, _, _ = struct.unpack(
        "<4sBBBBIIBBBBIII", data[:32]
    )
    count = -(-width // 64) * -(-height // 64)
    kind, size = ("Q", 8) if flags & 1 else ("I", 4)
    offsets = struct.unpack_from(f"<{count + 1}{kind}", data, 32)
    metadata_begin = 32 + size * (count + 1) + 4 * count
    return WeirFile(
        profile=profile,
        channels=channels,
        bits=bits,
        width=width,
        height=height,
        tiles=tuple(data[offsets[i] : offsets[i + 1]] for i in range(count)),
        metadata=data[metadata_begin : metadata_begin + metadata_bytes],
        flags=flags,
    )


def encode_split(pixels: Pixels, variant: str) -> WeirFile:
    """An encoded image in parts."""
    return split(penstock.encode(pixels, f"weir:{variant}"))
