"""Places of the bytes of one image field, as arrays with one entry per sample."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt

ABSENT = -1
"""An `ImageColumns.file`: this sample has no such image; its columns become null."""

ASK = -2
"""An `ImageColumns.file`: the bytes lie in no file that can be read by offset; `Source.read` hands them out."""

WHOLE = -1
"""An `ImageColumns.length`: to the end of the file. Give the real length if it is known: estimates are made from it."""

C = TypeVar("C", bound="ImageColumns")


@dataclass(frozen=True, kw_only=True, eq=False)
class ImageColumns:
    """Places of the images of one field."""

    file: npt.NDArray[np.int32]
    """Index into the files of the index, or ABSENT, or ASK."""
    offset: npt.NDArray[np.int64]
    length: npt.NDArray[np.int64]
    checksum: npt.NDArray[np.integer] | None = None
    """CRC-32C of the bytes as recorded when they were written, -1 where it was not; None: nowhere."""

    @classmethod
    def of_files(cls, file: npt.NDArray[np.int32], length: npt.NDArray[np.int64]) -> ImageColumns:
        """Describe images that are whole files of these lengths."""
        return ImageColumns(file=file, offset=np.zeros(len(file), np.int64), length=length)

    def __len__(self) -> int:
        return len(self.offset)

    @property
    def is_absent(self) -> npt.NDArray[np.bool_]:
        """Samples that have no such image."""
        return np.asarray(self.file == ABSENT)

    def take(self, rows: npt.NDArray[np.int64]) -> ImageColumns:
        """Return the places of some samples, in this order."""
        return ImageColumns(
            file=self.file[rows].astype(np.int32),
            offset=self.offset[rows].astype(np.int64),
            length=self.length[rows].astype(np.int64),
            checksum=None if self.checksum is None else self.checksum[rows],
        )

    def asked_at(self: C, rows: npt.NDArray[np.int64] | npt.NDArray[np.bool_]) -> C:
        """Return a copy in which the images of these samples are asked for instead of read by place."""
        file = self.file.copy()
        file[rows] = ASK
        return replace(self, file=file)

    def known_checksums(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the checksums of some samples, -1 where none is known."""
        if self.checksum is None:
            return np.full(len(rows), -1, np.int64)
        return np.where(self.file[rows] < 0, -1, self.checksum[rows].astype(np.int64))


@dataclass(frozen=True, kw_only=True, eq=False)
class StoredColumns(ImageColumns):
    """Places of images in the shards of a dataset, and what the index says of their headers.

    `format` is an index into `formats`, -1 where a sample has no such image; every number is 0 there.
    """

    formats: tuple[str, ...]
    format: npt.NDArray[np.int32]
    checksum: npt.NDArray[np.uint32]
    width: npt.NDArray[np.int32]
    height: npt.NDArray[np.int32]
    channels: npt.NDArray[np.uint8]
    bits: npt.NDArray[np.uint8]
    orientation: npt.NDArray[np.uint8]
    metadata_length: npt.NDArray[np.int32]
    segments: Segments | None
    """Pieces of images in blocks; None if every image is in one piece."""
    shard_files: tuple[str, ...]
    """Names of the files, relative to the dataset's folder."""
    shard_bytes: npt.NDArray[np.int64]
    """Size of each file."""

    def metadata_offset(self, sample_id: int) -> int:
        """Return where an image's metadata begins: directly behind its bytes, or its last piece."""
        pieces = None if self.segments is None else self.segments.pieces(sample_id)
        if pieces is None or len(pieces) == 0:
            return int(self.offset[sample_id] + self.length[sample_id])
        return int(pieces[-2] + pieces[-1])


@dataclass(frozen=True)
class Segments:
    """Pieces of images that are stored interleaved: image i has pieces `begin[i]` to `begin[i + 1]`; none if whole."""

    begin: npt.NDArray[np.int64]
    offset: npt.NDArray[np.int64]
    length: npt.NDArray[np.int64]
    checksum: npt.NDArray[np.uint32]

    def pieces(self, sample_id: int) -> npt.NDArray[np.int64]:
        """Return offset, length, offset, length… of one image."""
        own = slice(int(self.begin[sample_id]), int(self.begin[sample_id + 1]))
        return np.stack([self.offset[own], self.length[own]], axis=1).reshape(-1)

    @property
    def image(self) -> npt.NDArray[np.int64]:
        """The image of each piece."""
        return np.repeat(np.arange(len(self.begin) - 1), np.diff(self.begin))
