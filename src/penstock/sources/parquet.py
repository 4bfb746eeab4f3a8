"""Parquet files with images, as Hugging Face's `datasets` writes them. Only needs pyarrow.

An image is a column of struct{bytes, path}, or of bytes that are an image. Class names and image columns are read from
the schema's "huggingface" metadata if it exists. Splits come from file names (train-00000-of-00002.parquet). Bytes
inside Parquet pages have no fixed place, so they are passed on in order.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from penstock.errors import SourceError
from penstock.index import ABSENT, ASK, ImageColumns, Listing, Role
from penstock.sources.assemble import assemble
from penstock.sources.files import FileFacts, by_ending, facts_of
from penstock.sources.names import role_of, split_of
from penstock.sources.parquet_schema import (
    ImageColumn,
    as_plain,
    bytes_of,
    features_of,
    find_images,
    find_leaf,
    is_safe_key,
    open_parquet,
    read_batches,
    read_columns,
    without_unknown,
)
from penstock.sources.probe import Probe
from penstock.storage import StorePath, is_folder, list_tree

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

LABEL_NAMES = ("label", "labels", "class", "target")


class ParquetImages:
    """Parquet file, or a folder of them at any depth."""

    kind = "parquet"

    def __init__(self, path: Path | StorePath) -> None:
        self.path = path if isinstance(path, Path) else path.local_path(self.kind)
        self._table: _Table | None = None
        self._readers: dict[str, _Reader] = {}

    @classmethod
    def detects(cls, probe: Probe) -> bool:
        """Return whether there are Parquet files."""
        return probe.is_made_of(".parquet")

    def listing(self) -> Listing:
        """Read every column except the bytes of images."""
        table = self._open()
        columns, splits, classes, left_out = table.small_columns()
        done = assemble(columns, fields=list(table.images), splits=splits, classes=classes, where=str(self.path))
        places = {field: table.places(column, required=field == "image") for field, column in table.images.items()}
        roles = {field: role_of(field) if field != "image" else Role.IMAGE for field in places}
        return Listing(
            keys=table.keys(),
            roles=roles,
            images=places,
            files=[],
            splits=done.splits,
            columns=done.columns,
            classes=done.classes,
            left_out=left_out,
        )

    def read(self, field: str, rows: npt.NDArray[np.int64]) -> Iterator[bytes]:
        """Yield the bytes of these rows; ascending calls read every page once."""
        table = self._open()
        reader = self._readers.get(field)
        for row in rows.tolist():
            if reader is None or row < reader.position:
                reader = self._readers[field] = _Reader(table, table.images[field])
            yield reader.seek(row)

    def state(self) -> bytes:
        """Return sizes and times of the files."""
        return self._open().facts.state()

    def _open(self) -> _Table:
        if self._table is None:
            self._table = _Table.of(self.path)
        return self._table


@dataclass(frozen=True)
class _Table:
    """Files of a source, with one schema."""

    files: list[pq.ParquetFile]
    names: list[str]
    """Names of the files, relative to the source."""
    paths: list[str]
    facts: FileFacts
    images: dict[str, ImageColumn]
    """Image columns by field; `image` first."""
    left_out: Counter[str]
    """Number of other files, by ending."""

    @classmethod
    def of(cls, path: Path) -> _Table:
        root, found = (path, list_tree(path).files) if is_folder(path) else (path.parent, [path.name])
        names = [name for name in found if name.lower().endswith(".parquet") or not is_folder(path)]
        left_out = by_ending(set(found) - set(names))
        if not names:
            raise SourceError(
                "there is no Parquet file here", where=str(path), fix="name one or a folder of them", code=640
            )
        paths = [os.path.join(root, name) for name in names]  # noqa: PTH118
        facts = facts_of(paths)
        files = [open_parquet(file) for file in paths]
        for file, name in zip(files, paths, strict=True):
            if not file.schema_arrow.equals(files[0].schema_arrow):
                raise SourceError(
                    "the file has other columns than the first one",
                    where=f"{name}, and {paths[0]}",
                    fix="build them as datasets of their own, or write them with one schema",
                    code=640,
                )
        return cls(files, names, paths, facts, find_images(files, str(path)), left_out)

    @property
    def schema(self) -> pa.Schema:
        return self.files[0].schema_arrow

    @property
    def num_rows(self) -> list[int]:
        return [file.metadata.num_rows for file in self.files]

    def places(self, image: ImageColumn, *, required: bool) -> ImageColumns:
        """Return ASK for rows with bytes. The length is the average of the row group, because Parquet has no other."""
        files: list[npt.NDArray[np.int32]] = []
        lengths: list[npt.NDArray[np.int64]] = []
        for index, file in enumerate(self.files):
            for group in range(file.num_row_groups):
                leaf = find_leaf(file, group, image.bytes_path)
                present = self._present(index, group, image)
                if required and not present.all():
                    row = int(np.flatnonzero(~present)[0])
                    raise SourceError(
                        "a row has no bytes of an image" + " (a path alone is not enough)" * image.has_paths,
                        where=f"{self.paths[index]}: row group {group}, row {row}, column '{image.name}'",
                        fix="embed the images when writing (in `datasets`: embed_table_storage), or leave the row out",
                        code=640,
                    )
                files.append(np.where(present, ASK, ABSENT).astype(np.int32))
                average = leaf.total_uncompressed_size // max(int(present.sum()), 1)
                lengths.append(np.where(present, average, 0).astype(np.int64))
        none = np.zeros(0, np.int64)
        return ImageColumns.of_files(np.concatenate([none.astype(np.int32), *files]), np.concatenate([none, *lengths]))

    def _present(self, index: int, group: int, image: ImageColumn) -> npt.NDArray[np.bool_]:
        """Return which rows of a row group have bytes; pages are read only if the statistics report nulls."""
        file = self.files[index]
        chunk = find_leaf(file, group, image.bytes_path)
        num_rows = file.metadata.row_group(group).num_rows
        statistics = chunk.statistics if chunk.is_stats_set else None
        if statistics is not None and statistics.has_null_count and statistics.null_count == 0:
            return np.ones(num_rows, bool)
        found = [
            np.array(bytes_of(batch).is_valid())
            for batch in read_batches(file, [group], image.bytes_path, self.paths[index])
        ]
        return np.concatenate([np.zeros(0, bool), *found])

    def small_columns(
        self,
    ) -> tuple[dict[str, pa.Array], pa.Array | None, tuple[str, ...] | None, Counter[str]]:
        """Return everything except images: columns, splits, classes, and what an index cannot hold."""
        import pyarrow as pa

        taken = {image.name for image in self.images.values()}
        wanted = [name for name in self.schema.names if name not in taken]
        read = [read_columns(file, wanted, path) for file, path in zip(self.files, self.paths, strict=True)]
        table = pa.concat_tables(read)
        columns: dict[str, pa.Array] = {}
        left_out = Counter(self.left_out)
        label, classes = self._label(wanted)
        while any(pa.types.is_struct(field.type) for field in table.schema):
            table = table.flatten()
        for name in table.column_names:
            column = as_plain(table[name])
            if column is None:
                left_out[f"column '{name}' of type {table[name].type}"] += 1
            elif name == label:
                columns["label"] = without_unknown(column) if classes else column
            else:
                columns[name] = column
        return columns, self._splits(), classes, left_out

    def _label(self, names: list[str]) -> tuple[str | None, tuple[str, ...] | None]:
        """Return the column of the label, and its class names."""
        features = features_of(self.schema)
        named = [name for name in names if features.get(name, {}).get("_type") == "ClassLabel"]
        label = next((name for name in LABEL_NAMES if name in names), named[0] if len(named) == 1 else None)
        classes = features.get(label, {}).get("names") if label in named else None
        return label, tuple(str(name) for name in classes) if isinstance(classes, list) else None

    def _splits(self) -> pa.Array | None:
        import pyarrow as pa

        splits = [split_of(name.removesuffix(".parquet")) for name in self.names]
        if not any(splits):
            return None
        each = [
            pa.repeat(pa.scalar(split, pa.string()), rows) for split, rows in zip(splits, self.num_rows, strict=True)
        ]
        return pa.concat_arrays(each)

    def keys(self) -> pa.Array:
        """Return the paths next to the bytes if they name every sample, else file name and row."""
        import pyarrow as pa

        image = self.images["image"]
        if image.has_paths:
            read = [
                read_columns(file, [f"{image.name}.path"], path)
                for file, path in zip(self.files, self.paths, strict=True)
            ]
            paths = pa.concat_tables(read)[image.name].combine_chunks().field("path").to_pylist()
            if all(map(is_safe_key, paths)) and len(set(paths)) == len(paths):
                return pa.array(paths, pa.string())
        numbered = (
            f"{name.removesuffix('.parquet')}/{row:08}"
            for name, rows in zip(self.names, self.num_rows, strict=True)
            for row in range(rows)
        )
        return pa.array(numbered, pa.string())


class _Reader:
    """Reader of the bytes of one column, forwards only."""

    def __init__(self, table: _Table, image: ImageColumn) -> None:
        self._batches = self._all_batches(table, image)
        self._begin = 0
        self._batch: pa.Array | None = None
        self.position = 0

    def seek(self, row: int) -> bytes:
        """Return the bytes of a row at or behind the last one."""
        while self._batch is None or row >= self._begin + len(self._batch):
            self._begin += len(self._batch) if self._batch is not None else 0
            self._batch = next(self._batches)
        self.position = row
        data: bytes = self._batch[row - self._begin].as_py()
        return data

    @staticmethod
    def _all_batches(table: _Table, image: ImageColumn) -> Iterator[pa.Array]:
        for file, path in zip(table.files, table.paths, strict=True):
            for batch in read_batches(file, range(file.num_row_groups), image.bytes_path, path):
                yield bytes_of(batch)
