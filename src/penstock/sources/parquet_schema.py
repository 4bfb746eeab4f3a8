"""Schema of Parquet files with images: which columns are images, labels, or fit into an index."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock import _native
from penstock.errors import SourceError
from penstock.sources.names import field_name

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

BATCH_ROWS = 32
READ_BYTES = 1 << 20
IMAGE_NAMES = ("image", "img", "jpg", "png", "pixel_values")


@dataclass(frozen=True)
class ImageColumn:
    """Column whose values are image files."""

    name: str
    bytes_path: str
    """Leaf with the bytes: `image.bytes`, or the column itself."""
    has_paths: bool


def open_parquet(path: str) -> pq.ParquetFile:
    """Open a file; reads only its footer."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.ParquetFile(path, buffer_size=READ_BYTES, pre_buffer=False)
    except (OSError, pa.ArrowException) as error:
        raise _broken(path, error) from error


def read_columns(file: pq.ParquetFile, columns: list[str], path: str) -> pa.Table:
    """Read whole columns of a file."""
    import pyarrow as pa

    try:
        return file.read(columns=columns)
    except (OSError, pa.ArrowException) as error:
        raise _broken(path, error) from error


def read_batches(file: pq.ParquetFile, groups: Iterable[int], leaf: str, path: str) -> Iterator[pa.RecordBatch]:
    """Yield one leaf of these row groups, a few rows at a time."""
    import pyarrow as pa

    try:
        yield from file.iter_batches(BATCH_ROWS, row_groups=list(groups), columns=[leaf], use_threads=False)
    except (OSError, pa.ArrowException) as error:
        raise _broken(path, error) from error


def _broken(path: str, error: Exception) -> SourceError:
    return SourceError(
        f"the Parquet file cannot be read: {error}", where=path, fix="restore it from where it came", code=640
    )


def bytes_of(batch: pa.RecordBatch) -> pa.Array:
    """Return the bytes in a batch of `read_batches`."""
    import pyarrow as pa

    column = batch.column(0)
    return column.flatten()[0] if pa.types.is_struct(column.type) else column


def find_leaf(file: pq.ParquetFile, group: int, leaf: str) -> pq.ColumnChunkMetaData:
    """Return the metadata of one leaf of one row group."""
    metadata = file.metadata.row_group(group)
    chunks = (metadata.column(index) for index in range(metadata.num_columns))
    return next(chunk for chunk in chunks if chunk.path_in_schema == leaf)


def features_of(schema: pa.Schema) -> dict[str, dict[str, object]]:
    """Return what `datasets` recorded about the columns; empty if it did not write the file."""
    try:
        told = json.loads((schema.metadata or {}).get(b"huggingface", b"{}"))
        features = told["info"]["features"]
    except (ValueError, KeyError, TypeError):
        return {}
    return (
        {name: kind for name, kind in features.items() if isinstance(kind, dict)} if isinstance(features, dict) else {}
    )


def find_images(files: list[pq.ParquetFile], where: str) -> dict[str, ImageColumn]:
    """Return the image fields of files that have one schema, `image` first."""
    found = {column.name: column for field in files[0].schema_arrow if (column := _as_image(files, field)) is not None}
    main = next((name for name in IMAGE_NAMES if name in found), next(iter(found), None))
    if main is None:
        names = ", ".join(files[0].schema_arrow.names)
        raise SourceError(
            f"no column holds images; there are {names or 'no columns'}",
            where=where,
            fix="an image is a struct of bytes and path, or plain bytes of an image file",
            code=640,
        )
    return {"image": found.pop(main), **{field_name(name): column for name, column in found.items()}}


def _as_image(files: list[pq.ParquetFile], field: pa.Field) -> ImageColumn | None:
    import pyarrow as pa

    if pa.types.is_struct(field.type):
        names = [inner.name for inner in field.type]
        if "bytes" in names and _is_binary(field.type.field("bytes").type):
            return ImageColumn(field.name, f"{field.name}.bytes", "path" in names)
        return None
    if not _is_binary(field.type):
        return None
    told = features_of(files[0].schema_arrow).get(field.name, {}).get("_type")
    column = ImageColumn(field.name, field.name, False)
    return column if told == "Image" or _first_is_image(files, column) else None


def _first_is_image(files: list[pq.ParquetFile], column: ImageColumn) -> bool:
    for file in files:
        for batch in read_batches(file, range(file.num_row_groups), column.bytes_path, ""):
            for value in bytes_of(batch):
                if value.is_valid:
                    return _native.sniff(value.as_py()) is not None
    return False


def _is_binary(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def is_safe_key(path: object) -> bool:
    """Return whether a path next to an image's bytes can be the key of its sample."""
    return isinstance(path, str) and bool(path) and not path.startswith("/") and ".." not in path.split("/")


def as_plain(column: pa.ChunkedArray) -> pa.Array | None:
    """Return a column in a form that an index can hold, or None."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_large_string(column.type):
        column = column.cast(pa.string())
    return column.combine_chunks() if _is_plain(column.type) else None


def _is_plain(kind: pa.DataType) -> bool:
    import pyarrow as pa

    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _is_plain(kind.value_type)
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind) or pa.types.is_string(kind)
    )


def without_unknown(labels: pa.Array) -> pa.Array:
    """Convert class -1, which `datasets` writes for an unknown label, to null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_integer(labels.type):
        return labels
    return pc.if_else(pc.less(labels, 0), pa.scalar(None, labels.type), labels)
