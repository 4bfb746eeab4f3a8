"""The index of a source as it was listed. It is sorted by key, so ids are those of a dataset built from the source."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt

from penstock.errors import ArgumentError, DatasetError, SourceError
from penstock.index.fields import Field, Role
from penstock.index.file_names import FileNames
from penstock.index.image_columns import ABSENT, ASK, WHOLE, ImageColumns
from penstock.index.listing import Listing
from penstock.index.sample_index import SampleIndex
from penstock.storage import Store, read_file, read_range

if TYPE_CHECKING:
    import pyarrow as pa

L = TypeVar("L", bound="ListedIndex")


class ListedIndex(SampleIndex):
    """Samples of a folder, tars, a manifest or another source, read from the files where they lie."""

    def __init__(self, place: str, kind: str, listing: Listing) -> None:
        """Sort and check what a source found."""
        import pyarrow as pa
        import pyarrow.compute as pc

        listing.check()
        # Arrow sorts strings by their bytes, which for UTF-8 is the order of code points.
        order = pc.sort_indices(listing.keys)
        columns = {"key": listing.keys}
        if listing.splits is not None:
            columns["split"] = listing.splits
        columns.update(listing.columns)
        self.place = place
        self.kind = kind
        self.left_out = listing.left_out
        self.roles: Mapping[str, Role] = listing.roles
        """Meaning of every image field; `image` first."""
        self.table: pa.Table = pa.table(columns).take(order).combine_chunks()
        """`key`, `split` if there are splits, then the source's own columns; all samples."""
        self.rows: npt.NDArray[np.int64] = order.to_numpy(zero_copy_only=False).astype(np.int64)
        """The row of the source's listing that each sample was."""
        self._images = {name: listing.images[name].take(self.rows) for name in listing.roles}
        self._files = FileNames.of(listing.files)
        self._store = listing.store
        self._classes = listing.classes
        _check_unique(self._column("key"))

    @property
    def num_samples(self) -> int:
        """The number of all samples."""
        return len(self.rows)

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """Image fields, then columns, as a dataset built from the source has them."""
        images = [Field(name, role.value) for name, role in self.roles.items()]
        return (*images, *self.column_fields)

    @property
    def column_fields(self) -> list[Field]:
        """Fields that hold no images."""
        schema = self.table.schema
        return [
            Field(
                name,
                "label" if name == "label" else "column",
                type=str(schema.field(name).type),
                classes=self._classes if name == "label" else None,
            )
            for name in schema.names
            if name not in ("key", "split")
        ]

    @cached_property
    def splits(self) -> tuple[str, ...]:
        """Names that `split` takes, sorted."""
        if "split" not in self.table.column_names:
            return ()
        return tuple(sorted(name for name in self._column("split").unique().to_pylist() if name is not None))

    @property
    def files(self) -> FileNames:
        """Files that hold the images."""
        return self._files

    @property
    def store(self) -> Store | None:
        """The store that holds the files; None if they are files of a local disk."""
        return self._store

    @cached_property
    def fingerprint(self) -> str:
        """A digest of the keys: the order of a source is the order of its keys."""
        text, ends = _packed(self._column("key"))
        digest = blake2b(digest_size=12)
        digest.update(text.data)
        digest.update(ends.data)
        return digest.hexdigest()

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """Encoded bytes of each sample's images; a length that is not known counts as 0."""
        known = [np.where(found.is_absent, 0, np.maximum(found.length, 0)) for found in self._images.values()]
        return np.asarray(np.sum(known, axis=0, dtype=np.int64))

    def locations(self, field: str = "image") -> ImageColumns:
        """Return where the bytes of an image field lie, by id."""
        if field not in self._images:
            known = ", ".join(self._images)
            raise ArgumentError(f"there is no image field '{field}'", where=self.place, fix=f"choose of: {known}")
        return self._images[field]

    def without(self: L, names: frozenset[str]) -> L:
        """Return a copy without some image fields. `image` cannot be left out."""
        further = [name for name in self.roles if name != "image"]
        unknown = sorted(names - set(further))
        if unknown:
            raise ArgumentError(
                f"no further image field is named '{unknown[0]}'",
                where="fields to leave out",
                fix=f"choose of: {', '.join(further) or 'none'}",
                code=130,
            )
        other = self.selected(self.selection)
        other.__dict__.pop("fields", None)
        other.roles = {name: role for name, role in self.roles.items() if name not in names}
        other._images = {name: self._images[name] for name in other.roles}
        return other

    def moved(self: L, files: FileNames, images: Mapping[str, ImageColumns]) -> L:
        """Return a copy whose images lie at other places, in other files."""
        other = self.selected(self.selection)
        other._files = files
        other._images = {name: images.get(name, found) for name, found in self._images.items()}
        return other

    def _column(self, name: str) -> pa.Array:
        if name not in self.table.column_names:
            known = ", ".join(self.table.column_names)
            raise ArgumentError(f"there is no column '{name}'", where=self.place, fix=f"choose of: {known}", code=100)
        column = self.table.column(name)
        return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()

    def _read(self, sample_id: int, field: str, fidelity: int | None) -> bytes:
        found = self.locations(field)
        file, offset, length = (int(column[sample_id]) for column in (found.file, found.offset, found.length))
        if file == ABSENT:
            return b""
        if file == ASK:
            raise SourceError(
                f"the images of this source ({self.kind}) are not in files that can be read by position",
                where=self.place,
                fix="build a dataset from it, and open that",
                code=606,
            )
        path = self.files.path(file)
        if self._store is not None and not path.startswith("/"):  # otherwise a work file of a build
            return self._store.read(path) if length == WHOLE else self._store.read_part(path, offset, length)
        return read_file(path) if length == WHOLE else read_range(path, offset, length)


def _check_unique(keys: pa.Array) -> None:
    import pyarrow.compute as pc

    repeated = pc.equal(keys.slice(1), keys.slice(0, len(keys) - 1)).to_numpy(zero_copy_only=False)
    if repeated.any():
        key = keys[int(np.argmax(repeated))].as_py()
        raise DatasetError(f"two samples have the key '{key}'", where="source", fix="rename one of them", code=203)


def _packed(keys: pa.Array) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint64]]:
    """Return the text of keys and where each ends, without an object per key."""
    import pyarrow as pa

    column = keys.cast(pa.large_string())
    _, ends, text = column.buffers()
    edges = np.frombuffer(ends, np.int64)[column.offset : column.offset + len(column) + 1]
    whole = np.frombuffer(text, np.uint8) if text is not None else np.zeros(0, np.uint8)
    return whole[int(edges[0]) : int(edges[-1])], (edges[1:] - edges[0]).astype(np.uint64)
