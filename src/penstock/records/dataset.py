"""A dataset, opened: `penstock.open`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from penstock import _native
from penstock.codecs import DecodeOptions, parse_format
from penstock.codecs.table import find
from penstock.errors import ArgumentError, DatasetError, PenstockError, StorageError
from penstock.records.fidelity import check_fidelity, pieces_for, stored_scans
from penstock.records.index import Index, Locations
from penstock.records.manifest import FILE_NAME, MAX_BYTES, Field, Manifest, read_manifest
from penstock.storage import read_file, read_range
from penstock.types import Pixels

if TYPE_CHECKING:
    import pyarrow as pa

Ids = npt.NDArray[np.int64]


def open_dataset(path: str | os.PathLike[str]) -> Dataset:
    """Open a dataset that `penstock build` wrote. Reads the manifest and the index, runs no code, writes nothing.

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


class Dataset:
    """Samples by position: a map-style dataset for torch, and columns for everything else.

    Copies are cheap: splits, subsets and views by format share the opened index. It can be pickled (as its path and
    selection) and used after a fork: no file stays open.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._ids: Ids | None = None
        self._opened = _Opened(self.path)

    @property
    def manifest(self) -> Manifest:
        """What the dataset holds, the selection left aside."""
        return self._opened.manifest

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
        """Names for `split`."""
        return tuple(self.manifest.splits)

    @property
    def classes(self) -> tuple[str, ...] | None:
        """Names of the labels, if there are any."""
        return next((field.classes for field in self.fields if field.name == "label"), None)

    @property
    def fingerprint(self) -> str:
        """Equal for datasets with equal samples in equal records; part of a loader's state."""
        return f"{self.manifest.identity}-{self.manifest.index.checksum.removeprefix('crc32c:')}"

    @property
    def ids(self) -> Ids:
        """The id of the sample at each position."""
        return np.arange(self.manifest.num_samples) if self._ids is None else self._ids

    @property
    def columns(self) -> pa.Table:
        """The index of the selected samples, as an Arrow table. For one column use `column`."""
        table = self._opened.index.table()
        return table if self._ids is None else table.take(self._ids)

    def column(self, name: str) -> pa.Array:
        """One column of the index for the selected samples."""
        column = self._opened.column(name)
        return column if self._ids is None else column.take(self._ids)

    def locations(self, field: str = "image") -> Locations:
        """Where the bytes of an image field lie: arrays by id, for all samples whatever is selected."""
        return self._opened.locations(field)

    def shard_paths(self) -> list[Path]:
        """Paths of the shards, in the order of `Locations.shard_files`."""
        return [self.path / shard.file for shard in self.manifest.shards]

    def split(self, name: str) -> Dataset:
        """The samples of a split."""
        import pyarrow.compute as pc

        if name not in self.manifest.splits:
            known = ", ".join(self.splits) or "none"
            raise ArgumentError(f"there is no split '{name}'", where=str(self.path), fix=f"choose of: {known}")
        return self._where(pc.equal(self._opened.column("split"), name).fill_null(False))

    def with_format(self, format: str) -> Dataset:
        """The samples whose image is in this format."""
        wanted = str(parse_format(format))
        if wanted not in self.formats:
            raise ArgumentError(
                f"no image is in format '{wanted}'", where=str(self.path), fix=f"choose of: {', '.join(self.formats)}"
            )
        return self._select(np.flatnonzero(self.locations().format == self.formats.index(wanted)))

    def subset(self, ids: Sequence[int] | Ids) -> Dataset:
        """The samples of these ids, in this order; ids may repeat, and must be in the selection."""
        chosen = np.asarray(ids, np.int64).reshape(-1)
        allowed = np.zeros(self.manifest.num_samples, bool)
        allowed[self.ids] = True
        wrong = (chosen < 0) | (chosen >= self.manifest.num_samples)
        wrong |= ~allowed[np.where(wrong, 0, chosen)]
        if wrong.any():
            raise ArgumentError(
                f"sample {int(chosen[np.argmax(wrong)])} is not here", where=str(self.path), fix="choose from `ids`"
            )
        return self._copy(chosen)

    def read(self, position: int, field: str = "image", *, fidelity: int | None = None) -> bytes:
        """The stored bytes of an image, checked against their checksum; b"" if the sample has none.

        Of an image in a format that stores several (`pjpeg`), `fidelity` is the number of scans, rounded up to the next
        that is stored; None is all of them. Codec `pjpeg` decodes what has fewer.
        """
        return self._opened.read(self._id_at(position), field, check_fidelity(fidelity))

    def __len__(self) -> int:
        return self.manifest.num_samples if self._ids is None else len(self._ids)

    def __getitem__(self, position: int) -> dict[str, Any]:
        """The sample at a position: `id`, `key`, `split`, its columns, and its images decoded."""
        return self._opened.sample(self._id_at(position))

    def __getitems__(self, positions: Sequence[int]) -> list[dict[str, Any]]:
        """Several samples; torch's DataLoader asks for batches with it."""
        return [self[position] for position in positions]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (self[position] for position in range(len(self)))

    def __repr__(self) -> str:
        return f"<Dataset '{self.path}': {len(self)} samples, {', '.join(self.formats)}>"

    def __getstate__(self) -> dict[str, object]:
        return {"path": self.path, "ids": self._ids}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.path = state["path"]
        self._ids = state["ids"]
        self._opened = _Opened(self.path)

    def _id_at(self, position: int) -> int:
        count = len(self)
        if not -count <= position < count:
            raise IndexError(f"position {position} of {count} samples")
        position %= count
        return position if self._ids is None else int(self._ids[position])

    def _where(self, mask: pa.Array) -> Dataset:
        return self._select(np.flatnonzero(mask.to_numpy(zero_copy_only=False)))

    def _select(self, ids: Ids) -> Dataset:
        return self._copy(ids if self._ids is None else self._ids[np.isin(self._ids, ids)])

    def _copy(self, ids: Ids) -> Dataset:
        copy = object.__new__(Dataset)
        copy.path = self.path
        copy._ids = ids
        copy._opened = self._opened
        return copy


class _Opened:
    """Manifest and index of a dataset, shared by all its selections."""

    def __init__(self, path: Path) -> None:
        self.path = path
        place = path / FILE_NAME
        try:
            self.manifest = read_manifest(read_file(place, max_bytes=MAX_BYTES), str(place))
        except StorageError as error:
            raise _no_dataset(path, error) from error
        self._columns: dict[str, pa.Array] = {}
        self._locations: dict[str, Locations] = {}

    @cached_property
    def index(self) -> Index:
        place = self.path / self.manifest.index.file
        try:
            data = read_file(place, max_bytes=self.manifest.index.bytes)
        except StorageError as error:
            if error.errno:
                raise
            # A pipe, or longer than the manifest says.
            raise DatasetError(
                error.what, where=error.where, fix="restore the index, or build again", code=202
            ) from error
        return Index(data, self.manifest, str(place))

    def column(self, name: str) -> pa.Array:
        if name not in self._columns:
            if name not in self.index.schema.names:
                known = ", ".join(self.index.schema.names)
                raise ArgumentError(f"the index has no column '{name}'", where=str(self.path), fix=f"it has {known}")
            self._columns[name] = self.index.column(name)
        return self._columns[name]

    def locations(self, field: str) -> Locations:
        if field not in self._locations:
            known = {entry.name: entry for entry in self.manifest.image_fields}
            if field not in known:
                raise ArgumentError(
                    f"there is no image field '{field}'", where=str(self.path), fix=f"choose of: {', '.join(known)}"
                )
            self._locations[field] = self.index.locations(known[field])
        return self._locations[field]

    def read(self, sample_id: int, field: str, fidelity: int | None = None) -> bytes:
        found = self.locations(field)
        shard = int(found.shard[sample_id])
        if shard < 0:
            return b""
        place = self.path / found.shard_files[shard]
        joined = []
        for offset, length, checksum in _pieces(found, sample_id, fidelity):
            joined.append(read_range(place, offset, length))
            if len(joined[-1]) == length and _native.crc32c(joined[-1]) == checksum:
                continue
            key = self.column("key")[sample_id].as_py()
            raise DatasetError(
                f"the {field} of sample {sample_id} ('{key}') does not match its checksum",
                where=f"{place}, byte {offset}",
                fix=f"the shard is damaged: restore it, or find all damage with `penstock verify {self.path}`",
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
            place = f"{field.name} of sample {sample_id} in {self.path / found.shard_files[found.shard[sample_id]]}"
            raise error.within(place) from error

    def sample(self, sample_id: int) -> dict[str, Any]:
        sample: dict[str, Any] = {"id": sample_id, "key": self.column("key")[sample_id].as_py()}
        if self.manifest.splits:
            sample["split"] = self.column("split")[sample_id].as_py()
        for field in self.manifest.fields:
            if not field.is_image:
                sample[field.name] = self.column(field.name)[sample_id].as_py()
            elif field.role == "source":
                sample[field.name] = self.read(sample_id, field.name)
            else:
                sample[field.name] = self.decode(sample_id, field)
        return sample


def _pieces(found: Locations, sample_id: int, fidelity: int | None) -> list[tuple[int, int, int]]:
    """Offset, length and checksum of the pieces that a fidelity takes."""
    segments = found.segments
    if segments is None or segments.begin[sample_id] == segments.begin[sample_id + 1]:
        return [(int(found.offset[sample_id]), int(found.length[sample_id]), int(found.checksum[sample_id]))]
    own = slice(int(segments.begin[sample_id]), int(segments.begin[sample_id + 1]))
    columns = (segments.offset[own], segments.length[own], segments.checksum[own])
    pieces = list(zip(*(column.tolist() for column in columns), strict=True))
    return pieces[: pieces_for(stored_scans(found.formats[found.format[sample_id]]), fidelity)]


def _no_dataset(path: Path, error: StorageError) -> DatasetError:
    if (path / ".build").is_dir():
        return DatasetError(
            "the dataset is not finished: its build was interrupted",
            where=str(path),
            fix="run the same `penstock build` again; it goes on where it stopped",
            code=201,
        )
    return DatasetError(
        f"there is no dataset here: {error.what}",
        where=str(path),
        fix="name the folder that `penstock build` wrote, with a manifest.json inside",
        code=200,
    )
