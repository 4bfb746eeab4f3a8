"""Index of a dataset, made from the notes of all shards: rows sorted by id, one column per fact."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from penstock.build.shard_notes import PIECE, ROW, ShardNotes
from penstock.records.index import NUMBERS

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class WrittenShard:
    """Written shard with its notes; `format` is that of its images."""

    file: str
    format: str
    notes: ShardNotes


@dataclass(frozen=True)
class WrittenField:
    """Image field of the dataset: its position in the records and its format."""

    name: str
    format: str | None
    """Format of the field; None if formats differ: `image` has its shard's, kept bytes have their own."""


class Rows:
    """Rows of all shards, renumbered without the samples that were skipped."""

    def __init__(self, shards: Sequence[WrittenShard], num_listed: int) -> None:
        skipped = sorted(rank for shard in shards for rank in shard.notes.skipped)
        self.kept = np.delete(np.arange(num_listed), skipped)
        """Ranks in the source that became samples."""
        numbers = np.full(num_listed, -1, np.int64)
        numbers[self.kept] = np.arange(len(self.kept))
        self.rows: npt.NDArray[Any] = np.concatenate([shard.notes.rows for shard in shards] or [np.empty(0, ROW)])
        self.ids = numbers[self.rows["id"]]
        self.pieces: npt.NDArray[Any] = np.concatenate([shard.notes.pieces for shard in shards] or [np.empty(0, PIECE)])
        self._first_piece = np.cumsum(self.rows["num_pieces"], dtype=np.int64) - self.rows["num_pieces"]
        counts = [len(shard.notes.rows) for shard in shards]
        self.shard = np.repeat(np.arange(len(shards), dtype=np.int32), counts)

    def of_field(self, number: int) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64], npt.NDArray[np.int32]]:
        """Return rows, ids and shards of one image field."""
        chosen = self.rows["field"] == number
        return self.rows[chosen], self.ids[chosen], self.shard[chosen]

    def first_pieces(self, number: int) -> npt.NDArray[np.int64]:
        """Return the first entry in `pieces` of each row of a field."""
        first: npt.NDArray[np.int64] = self._first_piece[self.rows["field"] == number]
        return first


def index_table(
    columns: pa.Table, rows: Rows, fields: Sequence[WrittenField], shards: Sequence[WrittenShard]
) -> pa.Table:
    """Make the whole index."""
    import pyarrow as pa

    count = len(rows.kept)
    own = columns if count == len(columns) else columns.take(pa.array(rows.kept))
    table = pa.table({"id": pa.array(np.arange(count, dtype=np.int64))})
    for name in own.column_names:
        table = table.append_column(name, own.column(name))
    for number, field in enumerate(fields):
        for name, column in _field_columns(field, number, rows, shards, count).items():
            table = table.append_column(f"{field.name}.{name}", column)
    return table


def write_index(table: pa.Table) -> bytes:
    """Serialize the index to the bytes of `index.parquet`."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    strings = [
        name
        for name, kind in zip(table.schema.names, table.schema.types, strict=True)
        if name != "key" and (pa.types.is_string(kind) or pa.types.is_dictionary(kind))
    ]
    sink = pa.BufferOutputStream()
    pq.write_table(
        table.replace_schema_metadata(None),
        sink,
        compression="zstd",
        use_dictionary=strings,
        write_page_checksum=True,
        store_schema=False,
    )
    return bytes(sink.getvalue())


def _field_columns(
    field: WrittenField, number: int, rows: Rows, shards: Sequence[WrittenShard], count: int
) -> dict[str, pa.Array]:
    import pyarrow as pa

    own, ids, shard = rows.of_field(number)
    absent = np.ones(count, bool)
    absent[ids] = False

    def spread(values: npt.NDArray[Any], dtype: npt.DTypeLike) -> pa.Array:
        filled = np.zeros(count, dtype)
        filled[ids] = values
        return pa.array(filled, mask=absent)

    files = pa.array([entry.file for entry in shards])
    names, codes = _formats(field, own, shard, shards)
    columns: dict[str, pa.Array] = {
        "format": pa.DictionaryArray.from_arrays(spread(codes, np.int32), pa.array(names, pa.string())),
        "shard": pa.DictionaryArray.from_arrays(spread(shard, np.int32), files),
    }
    columns.update({name: spread(own[name], dtype) for name, dtype in NUMBERS.items()})
    columns["kept"] = spread(own["origin"] == 0, bool)
    columns["pixels"] = _pixels(own, ids, count)
    columns.update(_segments(rows, number, count))
    return columns


def _formats(
    field: WrittenField, own: npt.NDArray[Any], shard: npt.NDArray[np.int32], shards: Sequence[WrittenShard]
) -> tuple[list[str], npt.NDArray[np.int32]]:
    """Return the formats of a field, and the format number of each row."""
    if field.format is not None:
        return [field.format], np.zeros(len(own), np.int32)
    if field.name == "image":
        names = list(dict.fromkeys(entry.format for entry in shards))  # every format of the mix that has samples
        of_shard = np.array([names.index(entry.format) for entry in shards], np.int32)
        return names, of_shard[shard]
    codecs, codes = np.unique(own["codec"], return_inverse=True)
    return [codec.decode("ascii") for codec in codecs], codes.astype(np.int32)


def _segments(rows: Rows, number: int, count: int) -> dict[str, pa.Array]:
    """Return places and checksums of the pieces of images in blocks; empty if there is no such image."""
    import pyarrow as pa

    own, ids, _ = rows.of_field(number)
    counts, first = np.zeros(count, np.int64), np.zeros(count, np.int64)
    counts[ids], first[ids] = own["num_pieces"], rows.first_pieces(number)
    if not counts.any():
        return {"segments": pa.nulls(count, pa.list_(pa.int64()))}
    begin = np.concatenate([[0], np.cumsum(counts)])
    pieces = rows.pieces[np.arange(begin[-1]) + np.repeat(first - begin[:-1], counts)]
    places = np.stack([pieces["offset"], pieces["length"]], axis=1).reshape(-1)
    absent = pa.array(counts == 0)
    return {
        "segments": pa.ListArray.from_arrays(pa.array(2 * begin, pa.int32()), places, mask=absent),
        "segment_checksums": pa.ListArray.from_arrays(pa.array(begin, pa.int32()), pieces["checksum"], mask=absent),
    }


def _pixels(own: npt.NDArray[Any], ids: npt.NDArray[np.int64], count: int) -> pa.Array:
    import pyarrow as pa

    has = own["has_pixels"] == 1
    hashes = np.zeros((count, 16), np.uint8)
    hashes[ids[has]] = np.frombuffer(own["pixels"][has].tobytes(), np.uint8).reshape(-1, 16)
    valid = np.zeros(count, bool)
    valid[ids[has]] = True
    bits = np.packbits(valid, bitorder="little").tobytes()
    buffers = [pa.py_buffer(bits), pa.py_buffer(hashes.tobytes())]
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(16), count, buffers)
