"""Opened dataset, as `penstock.open` returns it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from penstock import _native
from penstock.codecs import DecodeOptions, parse_format
from penstock.codecs.table import find
from penstock.errors import ArgumentError, DatasetError, PenstockError, StorageError
from penstock.index import Field, FileNames, SampleIndex, StoredColumns
from penstock.index.fields import LOADED_ROLES
from penstock.records.fidelity import check_fidelity, pieces_for, stored_scans
from penstock.records.index import Index
from penstock.records.manifest import FILE_NAME, MAX_BYTES, Manifest, read_manifest
from penstock.records.table_sets import hold_tables
from penstock.storage import ByteRange, LocalStore, Store, is_folder
from penstock.storage.store import ENDS_EARLY
from penstock.types import Pixels

if TYPE_CHECKING:
    import pyarrow as pa

UNFINISHED = ".build"
"""Folder of a build that has not ended."""


def open_dataset(path: str | os.PathLike[str]) -> Dataset:
    """Open a dataset that `penstock build` wrote. Reads manifest and index, runs no code and writes nothing.

    >>> import tempfile, penstock
    >>> from penstock.build import build
    >>> from penstock.synth import Scenes, write
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     done = write(f"{folder}/images", images=4, scenes=Scenes(width=32, height=32, classes=2))
    ...     built = build(f"{folder}/images", f"{folder}/data.pen", mix="weir:fast=0.5,raw=0.5")
    ...     dataset = penstock.open(f"{folder}/data.pen")
    ...     sample = dataset[3]
    >>> len(dataset), sample["key"], sample["label"], sample["image"].shape
    (4, 'class001/000003.png', 1, (32, 32, 3))
    """
    return Dataset(path)


class Dataset(SampleIndex):
    """The samples of a dataset that `penstock build` wrote.

    Everything that `SampleIndex` has, and the manifest, the formats of images and their checksums. It is pickled as its
    path and selection.
    """

    kind = "dataset"

    def __init__(self, path: str | os.PathLike[str] = "", *, store: Store | None = None) -> None:
        """Open the dataset in a folder, or the one whose names begin with `path` in a store."""
        self.path = Path(path)
        self.left_out = {}
        self._store = store
        self._opened = _Opened(self.path, store)
        self.place = self._opened.place

    @property
    def manifest(self) -> Manifest:
        """Manifest of the dataset; it describes all samples, whatever is selected."""
        return self._opened.manifest

    @property
    def num_samples(self) -> int:
        """Number of all samples."""
        return self.manifest.num_samples

    @property
    def fields(self) -> tuple[Field, ...]:
        """Fields of a sample."""
        return self.manifest.fields

    @property
    def formats(self) -> tuple[str, ...]:
        """Formats of the field `image`."""
        return self.manifest.field("image").formats

    @property
    def splits(self) -> tuple[str, ...]:
        """Names of the splits, for `split`."""
        return tuple(self.manifest.splits)

    @property
    def store(self) -> Store | None:
        """The store that holds the dataset; None if it is a local folder."""
        return self._store

    @cached_property
    def files(self) -> FileNames:
        """Names of the shards."""
        names = [shard.file for shard in self.manifest.shards]
        return FileNames.of(names, root=self.path if self._store is None or self.path.parts else "")

    @property
    def fingerprint(self) -> str:
        """Fingerprint that is equal for datasets with equal samples in equal records; part of a loader's state."""
        return f"{self.manifest.identity}-{self.manifest.index.checksum.removeprefix('crc32c:')}"

    @property
    def columns(self) -> pa.Table:
        """Index of the selected samples as an Arrow table. For one column, use `column`."""
        table = self._opened.index.table()
        return table if self._ids is None else table.take(self._ids)

    @cached_property
    def sizes(self) -> npt.NDArray[np.int64]:
        """Encoded bytes of each sample as it is read: its record, or its images if they are in pieces."""
        return record_sizes([self.locations(field.name) for field in self.image_fields if field.role in LOADED_ROLES])

    def locations(self, field: str = "image") -> StoredColumns:
        """Return where the bytes of an image field lie: arrays by id, for all samples whatever is selected."""
        return self._opened.locations(field)

    def shard_paths(self) -> list[Path]:
        """Return the paths of the shards, in the order of `files`."""
        return [self.path / shard.file for shard in self.manifest.shards]

    def with_format(self, format: str) -> Dataset:
        """Select the samples whose image is in this format."""
        wanted = str(parse_format(format))
        if wanted not in self.formats:
            raise ArgumentError(
                f"no image is in format '{wanted}'", where=str(self.path), fix=f"choose of: {', '.join(self.formats)}"
            )
        return self._narrowed(np.flatnonzero(self.locations().format == self.formats.index(wanted)))

    def __getstate__(self) -> dict[str, object]:
        return {"path": self.path, "ids": self._ids, "store": self._store}

    def __setstate__(self, state: dict[str, Any]) -> None:
        Dataset.__init__(self, state["path"], store=state["store"])
        self._ids = state["ids"]

    def __copy__(self) -> Dataset:
        other = object.__new__(Dataset)
        other.__dict__.update(self.__dict__)
        return other

    def _column(self, name: str) -> pa.Array:
        return self._opened.column(name)

    def _read(self, sample_id: int, field: str, fidelity: int | None) -> bytes:
        return self._opened.read(sample_id, field, check_fidelity(fidelity))

    def _decode(self, sample_id: int, field: Field) -> Pixels | None:
        return self._opened.decode(sample_id, field)


class _Opened:
    """Manifest and index of a dataset, shared by all its selections."""

    def __init__(self, path: Path, store: Store | None) -> None:
        self._prefix = "" if store is None or not path.parts else f"{path.as_posix()}/"
        self._store = LocalStore(path) if store is None else store
        self.place = str(path) if store is None else store.where(path.as_posix() if path.parts else "")
        try:
            data = self._store.read(self._prefix + FILE_NAME, max_bytes=MAX_BYTES)
        except StorageError as error:
            is_unfinished = store is None and is_folder(path / UNFINISHED)
            raise _no_dataset(self.place, error, is_unfinished=is_unfinished) from error
        self.manifest = read_manifest(data, self._where(FILE_NAME))
        self._tables = hold_tables(self.manifest, self._where(FILE_NAME))
        self._columns: dict[str, pa.Array] = {}
        self._locations: dict[str, StoredColumns] = {}

    @cached_property
    def index(self) -> Index:
        name = self.manifest.index.file
        try:
            data = self._store.read(self._prefix + name, max_bytes=self.manifest.index.bytes)
        except StorageError as error:
            if error.errno:
                raise
            # A pipe, or longer than the manifest says.
            raise DatasetError(
                error.what, where=error.where, fix="restore the index, or build again", code=202
            ) from error
        return Index(data, self.manifest, self._where(name))

    def _where(self, name: str) -> str:
        return self._store.where(self._prefix + name)

    def column(self, name: str) -> pa.Array:
        if name not in self._columns:
            if name not in self.index.schema.names:
                known = ", ".join(self.index.schema.names)
                raise ArgumentError(f"the index has no column '{name}'", where=self.place, fix=f"it has {known}")
            self._columns[name] = self.index.column(name)
        return self._columns[name]

    def locations(self, field: str) -> StoredColumns:
        if field not in self._locations:
            known = {entry.name: entry for entry in self.manifest.image_fields}
            if field not in known:
                raise ArgumentError(
                    f"there is no image field '{field}'", where=self.place, fix=f"choose of: {', '.join(known)}"
                )
            self._locations[field] = self.index.locations(known[field])
        return self._locations[field]

    def read(self, sample_id: int, field: str, fidelity: int | None = None) -> bytes:
        found = self.locations(field)
        shard = int(found.file[sample_id])
        if shard < 0:
            return b""
        name = found.shard_files[shard]
        pieces = _pieces(found, sample_id, fidelity)
        try:
            joined = self._store.read_ranges(
                self._prefix + name, [ByteRange(offset, length) for offset, length, _ in pieces]
            )
        except StorageError as error:
            if error.code != ENDS_EARLY:
                raise
            joined = [b""]  # which matches no checksum
        for data, (offset, _, checksum) in zip(joined, pieces, strict=False):
            if _native.crc32c(data) != checksum:
                key = self.column("key")[sample_id].as_py()
                raise DatasetError(
                    f"the {field} of sample {sample_id} ('{key}') does not match its checksum",
                    where=f"{self._where(name)}, byte {offset}",
                    fix=f"the shard is damaged: restore it, or find all damage with `penstock verify {self.place}`",
                    code=230,
                )
        return b"".join(joined)

    def decode(self, sample_id: int, field: Field) -> Pixels | None:
        data = self.read(sample_id, field.name)
        if not data:
            return None
        found = self.locations(field.name)
        codec = find(parse_format(found.formats[found.format[sample_id]]).codec)
        palette = "indices" if field.role == "mask" else "colours"
        try:
            return codec.decode(data, DecodeOptions(palette=palette))
        except PenstockError as error:
            place = f"{field.name} of sample {sample_id} in {self._where(found.shard_files[found.file[sample_id]])}"
            raise error.within(place) from error


def record_sizes(locations: Sequence[StoredColumns]) -> npt.NDArray[np.int64]:
    """Return the bytes of each sample's record, which holds the images of these fields side by side."""
    if locations[0].segments is not None:
        return np.asarray(np.sum([found.length for found in locations], axis=0, dtype=np.int64))
    image = locations[0]
    begin, end = image.offset, image.offset + image.length
    for found in locations[1:]:
        begin = np.where(found.is_absent, begin, np.minimum(begin, found.offset))
        end = np.where(found.is_absent, end, np.maximum(end, found.offset + found.length))
    return np.asarray(end - begin)


def _pieces(found: StoredColumns, sample_id: int, fidelity: int | None) -> list[tuple[int, int, int]]:
    """Return offset, length and checksum of the pieces that a fidelity needs."""
    segments = found.segments
    if segments is None or segments.begin[sample_id] == segments.begin[sample_id + 1]:
        return [(int(found.offset[sample_id]), int(found.length[sample_id]), int(found.checksum[sample_id]))]
    own = slice(int(segments.begin[sample_id]), int(segments.begin[sample_id + 1]))
    columns = (segments.offset[own], segments.length[own], segments.checksum[own])
    pieces = list(zip(*(column.tolist() for column in columns), strict=True))
    return pieces[: pieces_for(stored_scans(found.formats[found.format[sample_id]]), fidelity)]


def _no_dataset(place: str, error: StorageError, *, is_unfinished: bool) -> DatasetError:
    if is_unfinished:
        return DatasetError(
            "the dataset is not finished: its build was interrupted",
            where=place,
            fix="run the same `penstock build` again; it goes on where it stopped",
            code=201,
        )
    return DatasetError(
        f"there is no dataset here: {error.what}",
        where=place,
        fix="name the folder that `penstock build` wrote, with a manifest.json inside",
        code=200,
    )
