"""Places and target formats of the images of a dataset, as arrays by position in the selection."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from penstock import _native
from penstock.codecs import Format, find, parse_format
from penstock.errors import ArgumentError
from penstock.index import Segments
from penstock.records import Dataset, Field

SOURCE_ROLE = "source"

AS_STORED, ENCODED, AS_JPEG = 0, 1, 2
"""Ways to export: the stored bytes; pixels, encoded again; the JPEG inside a `pjpeg` or `sluice` record."""


@dataclass(frozen=True)
class FieldImages:
    """One image field of the selected samples."""

    name: str
    role: str
    file: npt.NDArray[np.int32]
    """Index into the dataset's shards; -1 if a sample has no such image."""
    offset: npt.NDArray[np.int64]
    length: npt.NDArray[np.int64]
    checksum: npt.NDArray[np.uint32]
    metadata_length: npt.NDArray[np.int64]
    segments: Segments | None
    """Pieces of all samples of the dataset, whatever is selected."""
    ids: npt.NDArray[np.int64]
    way: npt.NDArray[np.uint8]
    """Way to export each image: AS_STORED, ENCODED or AS_JPEG."""
    codec: npt.NDArray[np.int16]
    """Codec of each exported file, as an index into `codecs`."""
    codecs: tuple[str, ...]
    num_restored: int
    """Number of JPEG files that are restored from `sluice`."""

    def pieces(self, position: int) -> npt.NDArray[np.int64]:
        """Return offset, length, offset, length… of an image in a block; empty if it is in one piece."""
        return np.empty(0, np.int64) if self.segments is None else self.segments.pieces(int(self.ids[position]))

    def endings(self, position: int) -> tuple[str, ...]:
        """Return the endings that the exported file of a sample may have, the preferred one first."""
        return find(self.codecs[self.codec[position]]).extensions


def image_format(text: str) -> Format:
    """Parse the format for images without a source file to restore."""
    format = parse_format(text)
    if format.codec not in _native.codec_names() or not find(format.codec).can_encode:
        raise ArgumentError(
            f"an export cannot write '{format.codec}'",
            where="image format",
            fix="choose a codec of Penstock's own that writes, such as png, webp:lossless or weir",
            code=130,
        )
    return format


def field_images(dataset: Dataset, target: Format) -> list[FieldImages]:
    """Return every image field, `image` first. If the source's bytes were stored, they are used."""
    fields = dataset.manifest.image_fields
    source = next((field for field in fields if field.role == SOURCE_ROLE), None)
    found = []
    for field in fields:
        if field.role != SOURCE_ROLE:
            stored = source if field.name == "image" and source is not None else field
            found.append(_images_of(dataset, stored, field, target))
    return found


def _images_of(dataset: Dataset, stored: Field, field: Field, target: Format) -> FieldImages:
    places = dataset.locations(stored.name)
    ids = dataset.ids
    present = places.file[ids] >= 0
    kept = dataset.column(f"{stored.name}.kept").fill_null(False).to_numpy(zero_copy_only=False).astype(bool)
    names = tuple(parse_format(text).codec for text in places.formats)
    # A JPEG has no more than its coefficients, and what is in the wanted format already need not be made anew.
    as_stored = np.array([name in ("jpeg", "pjpeg", target.codec) for name in (*names, "")])
    codec = places.format[ids].astype(np.int16)  # -1, where there is no image, is the last of `as_stored`
    # A sluice record restores a JPEG, unless its source was a sluice file or one is wanted.
    sluice = np.array([name == "sluice" and target.codec != "sluice" for name in (*names, "")])
    restore = present & ~kept & sluice[codec]
    encode = present & ~kept & ~restore & ~as_stored[codec]
    progressive = np.array([name == "pjpeg" for name in (*names, "")])
    way = np.where(encode, ENCODED, np.where(restore | progressive[codec], AS_JPEG, AS_STORED)).astype(np.uint8)
    return FieldImages(
        field.name,
        field.role,
        places.file[ids],
        places.offset[ids],
        places.length[ids],
        places.checksum[ids],
        places.metadata_length[ids].astype(np.int64),
        places.segments,
        ids,
        way,
        np.where(restore, len(names) + 1, np.where(encode, len(names), codec)).astype(np.int16),
        (*names, target.codec, "jpeg"),
        int(restore.sum()),
    )
