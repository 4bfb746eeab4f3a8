"""Dataset as the source of another one: from one mix to the next, without the files it was built from.

Bytes are read from the shards in place, and checked against the checksums of the index. If the source's own bytes were
stored (`--keep-source`), they become `image`; otherwise a lossy image keeps its loss. An image with separate metadata
is passed on with the metadata put back into its file.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from penstock import _native
from penstock.codecs import decode, encode
from penstock.index import ImageColumns, Listing, Role
from penstock.index.source_files import source_files
from penstock.records import Dataset, Field
from penstock.records.manifest import FILE_NAME, INDEX_NAME
from penstock.sources.probe import Probe
from penstock.storage import StorePath

SOURCE_ROLE = "source"
WITH_METADATA = ("jpeg", "png", "webp", "weir")
"""Codecs whose files can hold metadata; others are passed on as PNG."""


class DatasetSource:
    """Source that reads a dataset of `penstock build`."""

    kind = "dataset"

    def __init__(self, path: Path | StorePath) -> None:
        self.path = path
        self._dataset: Dataset | None = None

    @classmethod
    def detects(cls, probe: Probe) -> bool:
        """Return whether the folder has a manifest and an index."""
        return probe.named(FILE_NAME, INDEX_NAME)

    def listing(self) -> Listing:
        """List the samples from the index."""
        dataset = self._open()
        fields = {field.name: field for field in dataset.manifest.image_fields if field.role != SOURCE_ROLE}
        columns = [field.name for field in dataset.fields if not field.is_image]
        return Listing(
            keys=dataset.column("key"),
            roles={name: Role(field.role) for name, field in fields.items()},
            images={name: self._places(name) for name in fields},
            files=list(dataset.files),
            store=dataset.store,
            splits=_plain(dataset, "split") if dataset.splits else None,
            columns={name: _plain(dataset, name) for name in columns},
            classes=dataset.classes,
        )

    def read(self, field: str, rows: npt.NDArray[np.int64]) -> Iterable[bytes]:
        """Yield images in pieces, and images with separate metadata, as one file each."""
        dataset = self._open()
        stored = self._stored(field).name
        places = dataset.locations(stored)
        files = source_files(dataset)
        for row in rows.tolist():
            data = dataset.read(row, stored)
            if places.formats[places.format[row]].startswith("pjpeg"):
                data = _native.jpeg_with_segments_in_front(data)
            length = int(places.metadata_length[row])
            if length:
                begin = places.metadata_offset(row)
                data = _with_metadata(data, files.read(int(places.file[row]), begin, length))
            yield data

    def state(self) -> bytes:
        """Return the dataset's fingerprint; checksums detect all other changes."""
        return self._open().fingerprint.encode()

    def _open(self) -> Dataset:
        if self._dataset is None:
            place = StorePath.of(self.path)
            stored = place.foreign_store
            self._dataset = Dataset(self.path) if isinstance(self.path, Path) else Dataset(place.name, store=stored)
        return self._dataset

    def _stored(self, name: str) -> Field:
        """Return the field with an image's bytes: for `image`, those of the source if they were kept."""
        fields = self._open().manifest.image_fields
        kept = next((field for field in fields if field.role == SOURCE_ROLE and name == "image"), None)
        return kept or next(field for field in fields if field.name == name)

    def _places(self, name: str) -> ImageColumns:
        found = self._open().locations(self._stored(name).name)
        asked = found.metadata_length > 0
        if found.segments is not None:
            asked |= np.diff(found.segments.begin) > 0
        return found.asked_at(asked & ~found.is_absent)


def _plain(dataset: Dataset, name: str) -> object:
    """Convert a column of the index to plain strings without a dictionary."""
    import pyarrow as pa

    column = dataset.column(name)
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def _with_metadata(data: bytes, block: bytes) -> bytes:
    if _native.sniff(data) not in WITH_METADATA:
        data = encode(decode(data), "png:level=1")
    return _native.embed_metadata(data, block)[0]
