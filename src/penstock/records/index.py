"""Index of a dataset as plain arrays, without a Python object per sample. Layout: spec/dataset.md, "index.parquet"."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import numpy.typing as npt

from penstock import _native
from penstock.errors import DatasetError
from penstock.index import Field, Segments, StoredColumns
from penstock.records.fidelity import stored_scans
from penstock.records.manifest import Manifest, checksum_text

if TYPE_CHECKING:
    import pyarrow as pa

NUMBERS = {
    "offset": np.int64,
    "length": np.int64,
    "width": np.int32,
    "height": np.int32,
    "channels": np.uint8,
    "bits": np.uint8,
    "orientation": np.uint8,
    "checksum": np.uint32,
    "metadata_length": np.int32,
}
"""Columns of an image field that become arrays directly; 0 if the field is absent."""

COLUMNS = ("format", "shard", *NUMBERS, "kept", "pixels", "segments")
"""All columns of an image field F, each named F.column."""

SIMPLE_TYPES = {
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    *("float", "double", "bool", "string"),
}
"""Column types that must match the manifest exactly. For other types, Parquet may change details."""

NEVER_NULL = ("id", "key")

LIMITS = {"width": (1, 2**31 - 1), "height": (1, 2**31 - 1), "channels": (1, 4), "orientation": (1, 8)}
MOST_PIXELS = 2**40
"""Pixel limit of one image, so that sizes in bytes fit in 64 bits."""

MOST_UNPACKED, LEAST_UNPACKED = 1000, 1 << 26
"""Largest ratio of an index in memory to its file, and a size in bytes that is always allowed."""

HEADER_BYTES = 64
"""Size of a shard's header; no record begins before its end."""


class Index:
    """Opened index. Columns are decoded at their first use."""

    def __init__(self, data: bytes, manifest: Manifest, where: str) -> None:
        """Open an index from the bytes of its file, whose checksum must be the manifest's."""
        entry = manifest.index
        if len(data) != entry.bytes:
            _refuse(f"the index has {len(data)} bytes, the manifest says {entry.bytes}", where)
        if checksum_text(_native.crc32c(data)) != entry.checksum:
            _refuse("the index does not match the checksum in the manifest", where)
        self._data = data
        self._manifest = manifest
        self._where = where
        plain = self._open([])
        check_schema(plain.schema_arrow, manifest, where)
        self._check_size(plain)

    def _check_size(self, file: pa.parquet.ParquetFile) -> None:
        """Check that the number of rows is right, and that a small file does not claim a huge table."""
        num_rows, groups = file.metadata.num_rows, range(file.metadata.num_row_groups)
        if num_rows != self._manifest.num_samples:
            _refuse(f"the index has {num_rows} rows, the manifest says {self._manifest.num_samples}", self._where)
        unpacked = sum(file.metadata.row_group(number).total_byte_size for number in groups)
        if max(num_rows, unpacked) > MOST_UNPACKED * len(self._data) + LEAST_UNPACKED:
            _refuse(f"an index of {len(self._data)} bytes cannot hold {num_rows} rows", self._where)

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the columns."""
        return self._file.schema_arrow

    def table(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Return columns as Arrow; strings except `key` become dictionaries."""
        import pyarrow as pa

        try:
            table = self._file.read(columns=None if columns is None else list(columns))
            table.validate(full=True)  # texts are UTF-8, lists end where they say
        except (pa.ArrowException, OSError) as error:
            _refuse(f"the index cannot be read: {error}", self._where)
        return table

    def column(self, name: str) -> pa.Array:
        """Return one column as one Arrow array."""
        found = one_chunk(self.table([name]).column(0))
        if name in NEVER_NULL and found.null_count:
            _refuse(f"column '{name}' has rows without a value", self._where)
        return found

    def locations(self, field: Field) -> StoredColumns:
        """Return the places of the images of a field, with every value checked against the shards."""
        wanted = [f"{field.name}.{name}" for name in ("format", "shard", *NUMBERS, "segments", "segment_checksums")]
        if wanted[-1] not in self.schema.names:
            wanted.pop()
        table = self.table(wanted)
        columns = {name.removeprefix(f"{field.name}."): one_chunk(table.column(name)) for name in wanted}
        shards = self._manifest.shards
        files = tuple(shard.file for shard in shards)
        numbers = {name: numbers_of(columns[name], dtype) for name, dtype in NUMBERS.items()}
        found = StoredColumns(
            formats=field.formats,
            shard_files=files,
            shard_bytes=np.array([shard.bytes for shard in shards], np.int64),
            format=self._codes(columns["format"], field.formats, f"{field.name}.format"),
            file=self._codes(columns["shard"], files, f"{field.name}.shard"),
            segments=self._segments(columns["segments"], columns.get("segment_checksums"), field),
            **numbers,
        )
        self._check(found, field)
        return found

    @cached_property
    def _file(self) -> pa.parquet.ParquetFile:
        names = [f"{field.name}.{name}" for field in self._manifest.image_fields for name in ("format", "shard")]
        return self._open([*names, "split"] if self._manifest.splits else names)

    def _open(self, dictionaries: list[str]) -> pa.parquet.ParquetFile:
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            return pq.ParquetFile(pa.BufferReader(self._data), read_dictionary=dictionaries)
        except (pa.ArrowException, OSError) as error:
            _refuse(f"the index is not a Parquet file: {error}", self._where)

    def _codes(self, column: pa.Array, names: tuple[str, ...], name: str) -> npt.NDArray[np.int32]:
        """Convert a dictionary column to indices into `names`; -1 for null."""
        positions = {text: number for number, text in enumerate(names)}
        try:
            table = [positions[text] for text in column.dictionary.to_pylist()]
        except KeyError as error:
            _refuse(f"column '{name}' holds '{error.args[0]}', which the manifest does not list", self._where)
        codes = numbers_of(column.indices, np.int32, absent=-1)
        found: npt.NDArray[np.int32] = np.array([*table, -1], np.int32)[codes]
        return found

    def _segments(self, column: pa.Array, checksums: pa.Array | None, field: Field) -> Segments | None:
        """Return the pieces of all images; None if every image is in one piece."""
        if column.null_count == len(column):
            return None
        import pyarrow.compute as pc

        lengths = numbers_of(pc.list_value_length(column), np.int64)
        if not lengths.any():
            return None
        if checksums is None or not np.array_equal(numbers_of(pc.list_value_length(checksums), np.int64) * 2, lengths):
            _refuse(f"field '{field.name}' has pieces without a checksum each", self._where)
        begin = np.concatenate([[0], np.cumsum(lengths)])
        flat = numbers_of(column.flatten(), np.int64)
        return Segments(begin // 2, flat[0::2], flat[1::2], numbers_of(checksums.flatten(), np.uint32))

    def _check_pieces(self, found: StoredColumns, segments: Segments) -> npt.NDArray[np.bool_]:
        """Return the images whose pieces do not lie inside their shard, or do not add up."""
        image = segments.image
        limits = np.append(found.shard_bytes, 0)[found.file][image]
        outside = (segments.offset < HEADER_BYTES) | (segments.offset > limits) | (segments.length < 0)
        outside |= segments.length > limits - segments.offset
        wrong = np.zeros(len(found), bool)
        np.logical_or.at(wrong, image, outside)
        last = segments.begin[1:] - 1
        ends = np.where(wrong, 0, segments.offset[last] + segments.length[last])
        wrong |= found.metadata_length > np.append(found.shard_bytes, 0)[found.file] - ends
        total = np.zeros(len(found), np.int64)
        np.add.at(total, image, np.where(outside, 0, segments.length))
        first = np.minimum(segments.begin[:-1], len(image) - 1)
        wrong |= (total != found.length) | (found.offset != segments.offset[first])
        # Piece 0 holds the header and the first scan: without it there would be nothing to read.
        wrong |= segments.length[first] < 1
        counts = np.diff(segments.begin)
        most = np.array([*(len(stored_scans(text)) for text in found.formats), 0], np.int64)
        wrong |= counts > most[found.format]
        wrong &= counts > 0
        return wrong

    def _check(self, found: StoredColumns, field: Field) -> None:
        """Check that all bytes lie inside their shards, behind the header."""
        present = found.file >= 0
        if not np.array_equal(present, found.format >= 0):
            self._refuse_row(field, present != (found.format >= 0), "has a shard without a format, or the reverse")
        if field.name == "image" and not present.all():
            self._refuse_row(field, ~present, "has no image")
        limits = np.append(found.shard_bytes, 0)[found.file]
        empty = (found.length < 1) & present
        if empty.any():
            self._refuse_row(field, empty, "has no bytes")
        wrong = found.metadata_length < 0
        # Subtracted, not added: the sum of two hostile numbers may be small again.
        outside = (found.offset < HEADER_BYTES) | (found.offset > limits)
        outside |= found.length > limits - found.offset - found.metadata_length
        if found.segments is not None:
            outside &= np.diff(found.segments.begin) == 0
            wrong |= self._check_pieces(found, found.segments)
        wrong = (wrong | outside) & present
        if wrong.any():
            self._refuse_row(field, wrong, "does not lie inside its shard")
        for name, (least, most) in LIMITS.items():
            value = getattr(found, name)
            odd = ((value < least) | (value > most)) & present
            if odd.any():
                self._refuse_row(field, odd, f"has {name} {int(value[np.argmax(odd)])}, not {least} to {most}")
        odd = present & ((found.bits != 8) & (found.bits != 16))
        if odd.any():
            self._refuse_row(field, odd, f"has {int(found.bits[np.argmax(odd)])} bits, not 8 or 16")
        odd = present & (found.width.astype(np.int64) * found.height > MOST_PIXELS)
        if odd.any():
            self._refuse_row(field, odd, "has more pixels than any image")

    def _refuse_row(self, field: Field, wrong: npt.NDArray[np.bool_], what: str) -> NoReturn:
        _refuse(f"sample {int(np.argmax(wrong))}, field '{field.name}': {what}", self._where)


def one_chunk(column: pa.ChunkedArray) -> pa.Array:
    """Join a column into one piece, so that its buffers are arrays."""
    import pyarrow as pa

    if column.num_chunks == 1:
        return column.chunk(0)
    if pa.types.is_dictionary(column.type):
        column = column.unify_dictionaries()
    return column.combine_chunks()


def numbers_of(column: pa.Array, dtype: npt.DTypeLike, absent: int = 0) -> npt.NDArray[Any]:
    """Convert an Arrow column of numbers to a NumPy array, with `absent` for null."""
    if column.null_count:
        column = column.fill_null(absent)
    found: npt.NDArray[Any] = column.to_numpy(zero_copy_only=False).astype(dtype, copy=False)
    return found


def check_schema(schema: pa.Schema, manifest: Manifest, where: str) -> None:
    """Refuse an index in which a column is missing, repeated, or of another type."""
    import pyarrow as pa

    names = schema.names
    needed: dict[str, str] = {"id": "int64", "key": "string", **({"split": "string"} if manifest.splits else {})}
    for field in manifest.fields:
        if not field.is_image:
            needed[field.name] = field.type if field.type in SIMPLE_TYPES else ""
            continue
        numbers = {name: str(pa.from_numpy_dtype(dtype)) for name, dtype in NUMBERS.items()}
        own = {"format": "string", "shard": "string", **numbers, "kept": "bool", "pixels": "fixed_size_binary[16]"}
        needed.update({f"{field.name}.{name}": kind for name, kind in own.items()})
        needed[f"{field.name}.segments"] = "list<int64>"
        if f"{field.name}.segment_checksums" in names:
            needed[f"{field.name}.segment_checksums"] = "list<uint32>"
    for name, wanted in needed.items():
        if name not in names:
            _refuse(f"the index has no column '{name}'", where)
        if names.count(name) > 1:
            _refuse(f"the index has column '{name}' twice", where)
        found = schema.field(name).type
        is_list = pa.types.is_list(found)
        told = f"list<{found.value_type}>" if is_list else str(found)
        if wanted and told != wanted:
            _refuse(f"column '{name}' is of type {told}, not {wanted}", where)


def _refuse(what: str, where: str) -> NoReturn:
    raise DatasetError(what, where=where, fix="restore the file from a copy, or build the dataset again", code=220)
