"""A PNG writer in plain Python, for tests: every colour type, depth, filter and interlace, and deliberate mistakes.

It shares no line with the codec under test, follows the words of the specification, and is slow.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

SIGNATURE = b"\x89PNG\r\n\x1a\n"
GREY, RGB, PALETTE, GREY_ALPHA, RGB_ALPHA = 0, 2, 3, 4, 6
SAMPLES = {GREY: 1, RGB: 3, PALETTE: 1, GREY_ALPHA: 2, RGB_ALPHA: 4}
DEPTHS = {GREY: (1, 2, 4, 8, 16), RGB: (8, 16), PALETTE: (1, 2, 4, 8), GREY_ALPHA: (8, 16), RGB_ALPHA: (8, 16)}
ADAM7 = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))
"""First x, first y, x step, y step of each pass."""

Samples = npt.NDArray[np.uint16]
"""Height × width × samples, each below 2 ** depth."""

Chunk = tuple[bytes, bytes]


@dataclass(frozen=True)
class Png:
    """What to write. `filters` are taken in turn, row by row."""

    samples: Samples
    color: int
    depth: int
    interlaced: bool = False
    filters: Sequence[int] = (0,)
    palette: bytes = b""
    transparency: bytes | None = None
    before: Sequence[Chunk] = ()
    after: Sequence[Chunk] = ()
    idat_bytes: int = 2**30

    def encode(self) -> bytes:
        """The file."""
        chunks: list[Chunk] = [(b"IHDR", self.header()), *self.before]
        if self.palette:
            chunks.append((b"PLTE", self.palette))
        if self.transparency is not None:
            chunks.append((b"tRNS", self.transparency))
        stream = zlib.compress(self.filtered())
        chunks += [
            (b"IDAT", stream[begin : begin + self.idat_bytes]) for begin in range(0, len(stream), self.idat_bytes)
        ]
        return write_chunks([*chunks, *self.after, (b"IEND", b"")])

    def header(self) -> bytes:
        """The content of IHDR."""
        height, width = self.samples.shape[:2]
        return struct.pack(">IIBBBBB", width, height, self.depth, self.color, 0, 0, int(self.interlaced))

    def filtered(self) -> bytes:
        """What is deflated: every row of every pass behind its filter type."""
        passes = [self.samples]
        if self.interlaced:
            passes = [self.samples[y::y_step, x::x_step] for x, y, x_step, y_step in ADAM7]
        distance = max(1, SAMPLES[self.color] * self.depth // 8)
        return b"".join(
            filter_rows(pack_rows(part, self.depth), distance, self.filters) for part in passes if part.size
        )

    def with_chunks(self, *, before: Sequence[Chunk] = (), after: Sequence[Chunk] = ()) -> Png:
        """The same image with more chunks."""
        return replace(self, before=before, after=after)


def write_chunks(chunks: Iterable[Chunk]) -> bytes:
    """Signature and chunks, each with its length and CRC."""
    return SIGNATURE + b"".join(
        struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
        for kind, content in chunks
    )


def read_chunks(data: bytes) -> list[Chunk]:
    """The chunks of a file that is known to be good."""
    chunks: list[Chunk] = []
    offset = len(SIGNATURE)
    while offset < len(data):
        length, kind = struct.unpack(">I4s", data[offset : offset + 8])
        chunks.append((kind, data[offset + 8 : offset + 8 + length]))
        offset += 12 + length
    return chunks


def pack_rows(samples: Samples, depth: int) -> npt.NDArray[np.uint8]:
    """Rows of bytes: big-endian 16-bit samples, bytes, or bits from the top of each byte down."""
    rows = samples.reshape(len(samples), -1)
    if depth == 16:
        return np.ascontiguousarray(rows).astype(">u2").view(np.uint8)
    if depth == 8:
        return rows.astype(np.uint8)
    bits = np.unpackbits(rows.astype(np.uint8)[:, :, None], axis=2)[:, :, 8 - depth :]
    return np.packbits(bits.reshape(len(rows), -1), axis=1)


def filter_rows(rows: npt.NDArray[np.uint8], distance: int, filters: Sequence[int]) -> bytes:
    """Each row behind its filter type."""
    above = np.zeros(rows.shape[1], np.int32)
    out = b""
    for index, row in enumerate(rows.astype(np.int32)):
        kind = filters[index % len(filters)]
        left, up_left = (np.concatenate([np.zeros(distance, np.int32), line])[: row.size] for line in (row, above))
        predictor = predict(kind, left, above, up_left)
        out += bytes([kind]) + ((row - predictor) % 256).astype(np.uint8).tobytes()
        above = row
    return out


def predict(
    kind: int, left: npt.NDArray[np.int32], up: npt.NDArray[np.int32], up_left: npt.NDArray[np.int32]
) -> npt.NDArray[np.int32]:
    """The five predictors: none, left, up, their mean, Paeth's."""
    if kind == 4:
        estimate = left + up - up_left
        near_left, near_up, near_corner = (abs(estimate - line) for line in (left, up, up_left))
        vertical = np.where(near_up <= near_corner, up, up_left)
        return np.where((near_left <= near_up) & (near_left <= near_corner), left, vertical)
    return (np.zeros_like(left), left, up, (left + up) // 2)[kind]
