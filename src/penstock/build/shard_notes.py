"""Notes of a build about its finished shards. native/records/rows.cpp writes them; its header has the layout."""

from __future__ import annotations

import struct
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock import _native
from penstock.errors import DatasetError

ROW = np.dtype(
    [
        ("id", "<i8"),
        ("offset", "<i8"),
        ("length", "<i8"),
        ("width", "<u4"),
        ("height", "<u4"),
        ("checksum", "<u4"),
        ("metadata_length", "<u4"),
        ("pixels", "V16"),
        ("codec", "S8"),
        ("field", "<u2"),
        ("origin", "u1"),
        ("channels", "u1"),
        ("bits", "u1"),
        ("orientation", "u1"),
        ("has_pixels", "u1"),
        ("num_pieces", "u1"),
    ]
)
PIECE = np.dtype([("offset", "<i8"), ("length", "<i8"), ("checksum", "<u4"), ("unused", "<u4")])
MAGIC = b"PENROWS2"
HEADER = struct.Struct("<8sQQIIII")
ORIGINS = ("kept", "transcoded", "encoded")


@dataclass(frozen=True, slots=True)
class ShardNotes:
    """Notes about a finished shard."""

    num_samples: int
    """Number of samples of the order, including those left out."""
    num_records: int
    shard_bytes: int
    shard_checksum: int
    rows: npt.NDArray[Any]
    pieces: npt.NDArray[Any]
    """Pieces of the rows that have any (`num_pieces`), in their order."""
    metadata_kept: Counter[str]
    metadata_dropped: Counter[str]
    skipped: dict[int, str]
    fallbacks: dict[int, str]
    """JPEGs that are stored as `jpeg`, because `sluice` cannot restore them, and why."""


def read_notes(data: bytes, where: str) -> ShardNotes:
    """Parse a work file, and refuse a damaged one."""
    if len(data) < HEADER.size + 4 or _native.crc32c(data[:-4]) != int.from_bytes(data[-4:], "little"):
        raise DatasetError("a work file of the build is damaged", where=where, fix="start over with --force", code=202)
    if data[: len(MAGIC)] != MAGIC:
        raise DatasetError("another version began this build", where=where, fix="start over with --force", code=202)
    _, num_samples, shard_bytes, num_rows, num_records, checksum, _ = HEADER.unpack_from(data)
    rows = np.frombuffer(data, ROW, num_rows, HEADER.size)
    pieces = np.frombuffer(data, PIECE, int(rows["num_pieces"].sum()), HEADER.size + rows.nbytes)
    kept: Counter[str] = Counter()
    dropped: Counter[str] = Counter()
    skipped: dict[int, str] = {}
    fallbacks: dict[int, str] = {}
    for line in data[HEADER.size + rows.nbytes + pieces.nbytes : -4].decode(errors="backslashreplace").split("\n"):
        kind, _, rest = line.partition(" ")
        if kind in ("skipped", "fallback"):
            rank, _, reason = rest.partition(" ")
            (skipped if kind == "skipped" else fallbacks)[int(rank)] = reason
        elif kind:
            tag, _, count = rest.rpartition(" ")
            (kept if kind == "kept" else dropped)[tag] += int(count)
    return ShardNotes(num_samples, num_records, shard_bytes, checksum, rows, pieces, kept, dropped, skipped, fallbacks)
