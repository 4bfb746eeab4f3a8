"""Metadata of Weir files: read it, or replace it without changing a pixel. spec/weir.md has the layout."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from penstock import _native
from penstock.codecs.weir import WEIR
from penstock.errors import ArgumentError, CodecError
from penstock.types import Buffer

HEADER_BYTES = 32
TILE_SIDE = 64
ONCE = ("ICCP", "EXIF")


@dataclass(frozen=True, slots=True)
class Entry:
    """Metadata entry: "ICCP" (an ICC profile), "EXIF" (from its TIFF header), "TEXT" (key, zero, value), or other."""

    tag: str
    content: bytes

    @classmethod
    def text(cls, key: str, value: str) -> Entry:
        r"""Make a text entry, such as a comment.

        >>> Entry.text("Comment", "at dusk")
        Entry(tag='TEXT', content=b'Comment\x00at dusk')
        """
        return cls("TEXT", key.encode() + b"\0" + value.encode())


def read_metadata(data: Buffer) -> list[Entry]:
    """Read the entries of a file, in their order."""
    content = _Tables.of(data).metadata
    entries = []
    at = 0
    while at < len(content):
        tag, size = content[at : at + 4], int.from_bytes(content[at + 4 : at + 8], "little")
        if len(content) < at + 8 + size or not tag.isascii():
            raise _damaged("a metadata entry does not fit")
        entries.append(Entry(tag.decode("ascii"), content[at + 8 : at + 8 + size]))
        at += 8 + size
    return entries


def write_metadata(data: Buffer, entries: Iterable[Entry]) -> bytes:
    r"""Return the same image with these entries instead of its own; an empty list removes them.

    >>> import numpy, penstock
    >>> image = penstock.encode(numpy.zeros((2, 3), numpy.uint8), "weir")
    >>> read_metadata(write_metadata(image, [Entry.text("Comment", "at dusk")]))
    [Entry(tag='TEXT', content=b'Comment\x00at dusk')]
    """
    kept = list(entries)
    for entry in kept:
        _check(entry, kept)
    content = b"".join(struct.pack("<4sI", entry.tag.encode(), len(entry.content)) + entry.content for entry in kept)
    return _Tables.of(data).with_metadata(content)


def tables_end(header: Buffer) -> int:
    """Return the number of bytes before the first tile, from a checked header. The file may be shorter."""
    return _Layout.of(header).end


def check_tables(data: Buffer) -> None:
    """Raise CodecError if the tables before the tiles are incomplete or do not match their checksum."""
    _Tables.of(data)


def _check(entry: Entry, entries: list[Entry]) -> None:
    if len(entry.tag) != 4 or not entry.tag.isascii():
        problem = f"tag '{entry.tag}' is not four ASCII characters"
    elif entry.tag in ONCE and sum(other.tag == entry.tag for other in entries) > 1:
        problem = f"there is more than one {entry.tag} entry"
    elif entry.tag == "TEXT" and b"\0" not in entry.content:
        problem = "a TEXT entry has no zero byte between key and value"
    else:
        return
    raise ArgumentError(problem, where="metadata", fix="see spec/weir.md; Entry.text makes texts", code=130)


def _damaged(what: str, code: int = 320) -> CodecError:
    return CodecError(what, where="tables of the weir data", fix="the file is damaged: restore it", code=code)


@dataclass(frozen=True, slots=True)
class _Layout:
    """Positions of the tables of a file, from its checked header."""

    offset_bytes: int
    num_tiles: int
    metadata_bytes: int

    @classmethod
    def of(cls, data: Buffer) -> _Layout:
        width, height, metadata_bytes = (int.from_bytes(data[at : at + 4], "little") for at in (8, 12, 20))
        num_tiles = -(-width // TILE_SIDE) * -(-height // TILE_SIDE)
        return cls(8 if data[18] & 1 else 4, num_tiles, metadata_bytes)

    @property
    def checksums(self) -> int:
        return HEADER_BYTES + self.offset_bytes * (self.num_tiles + 1)

    @property
    def metadata(self) -> int:
        return self.checksums + 4 * self.num_tiles

    @property
    def end(self) -> int:
        return self.metadata + self.metadata_bytes


@dataclass(frozen=True)
class _Tables:
    """Checked tables of a file: everything before the tiles."""

    header: bytes
    offsets: np.ndarray[tuple[int], np.dtype[np.uint64]]
    checksums: bytes
    metadata: bytes
    tiles: memoryview

    @classmethod
    def of(cls, data: Buffer) -> _Tables:
        view = memoryview(data).cast("B")
        WEIR.inspect(view, max_pixels=2**63)
        at = _Layout.of(view)
        if len(view) < at.end:
            raise _damaged(f"weir data of {len(view)} bytes ends before its first tile, at byte {at.end}", code=310)
        if _native.crc32c(view[HEADER_BYTES : at.end]) != int.from_bytes(view[24:28], "little"):
            raise _damaged("tables of the weir image do not match their checksum", code=330)
        offsets = np.frombuffer(view, f"<u{at.offset_bytes}", at.num_tiles + 1, HEADER_BYTES).astype(np.uint64)
        parts = (view[:20], view[at.checksums : at.metadata], view[at.metadata : at.end])
        header, checksums, metadata = map(bytes, parts)
        return cls(header, offsets, checksums, metadata, view[at.end :])

    def with_metadata(self, metadata: bytes) -> bytes:
        """Return the file with other metadata. Offsets grow to eight bytes only if necessary."""
        relative = self.offsets - self.offsets[0]
        rest = len(self.checksums) + len(metadata)
        wide = HEADER_BYTES + 8 * len(relative) + rest + int(relative[-1]) >= 2**32
        offset_type = np.dtype("<u8" if wide else "<u4")
        begin = HEADER_BYTES + offset_type.itemsize * len(relative) + rest
        tables = (relative + np.uint64(begin)).astype(offset_type).tobytes() + self.checksums + metadata
        header = self.header[:18] + bytes([int(wide), 0])
        header += struct.pack("<II", len(metadata), _native.crc32c(tables))
        header += struct.pack("<I", _native.crc32c(header))
        return b"".join([header, tables, self.tiles])
