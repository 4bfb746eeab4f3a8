"""Where the images of a dataset lie, and as what they are given back: arrays by position in the selection."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from penstock import _native
from penstock.codecs import Format, find, parse_format
from penstock.errors import ArgumentError
from penstock.records import Dataset, Field

SOURCE_ROLE = "source"


@dataclass(frozen=True)
class FieldImages:
    """One image field of the selected samples."""

    name: str
    role: str
    file: npt.NDArray[np.int32]
    """Index into the dataset's shards; -1 where a sample has no such image."""
    offset: npt.NDArray[np.int64]
    length: npt.NDArray[np.int64]
    checksum: npt.NDArray[np.uint32]
    metadata_length: npt.NDArray[np.int64]
    encode: npt.NDArray[np.uint8]
    """1 where pixels are decoded and encoded anew, 0 where the stored bytes are given back."""
    codec: npt.NDArray[np.int16]
    """Index into `codecs`: what the exported file will be."""
    codecs: tuple[str, ...]

    def endings(self, position: int) -> tuple[str, ...]:
        """Endings that the exported file of a sample may have, the preferred one first."""
        return find(self.codecs[self.codec[position]]).extensions


def image_format(text: str) -> Format:
    """The format of pixels that have no file of their own to go back to."""
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
    """Every image field, `image` first. If the source's bytes were stored beside it, they are what it is."""
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
    if places.segments is not None:
        raise ArgumentError(
            f"images of '{field.name}' are stored in pieces, which an export cannot join yet",
            where=str(dataset.path),
            fix="build the dataset to another mix first",
            code=130,
        )
    ids = dataset.ids
    present = places.shard[ids] >= 0
    kept = dataset.column(f"{stored.name}.kept").fill_null(False).to_numpy(zero_copy_only=False).astype(bool)
    names = tuple(parse_format(text).codec for text in places.formats)
    # A JPEG has no more than its coefficients, and what is in the wanted format already need not be made anew.
    as_stored = np.array([name in ("jpeg", target.codec) for name in (*names, "")])
    codec = places.format[ids].astype(np.int16)  # -1, where there is no image, is the last of `as_stored`
    encode = present & ~kept & ~as_stored[codec]
    return FieldImages(
        field.name,
        field.role,
        places.shard[ids],
        places.offset[ids],
        places.length[ids],
        places.checksum[ids],
        places.metadata_length[ids].astype(np.int64),
        encode.astype(np.uint8),
        np.where(encode, len(names), codec).astype(np.int16),
        (*names, target.codec),
    )
