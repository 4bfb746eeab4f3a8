"""Index of files prepared for a loader: a folder, tars, a manifest, images with masks."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from penstock import _native
from penstock.codecs.table import BUILTIN, plug_ins
from penstock.errors import PenstockError, SourceError
from penstock.index import ASK, WHOLE, Field, FileNames, ImageColumns, SampleIndex
from penstock.index.source_files import sizes_of_files
from penstock.load.batch_columns import ListColumn, batch_columns
from penstock.load.engine_table import EngineTable
from penstock.load.header_probe import header_of
from penstock.sources.folder_index import FolderIndex
from penstock.storage import read_range

LOSSLESS = ("cityscapes", "masks")
"""Kinds whose images are mostly PNGs, which a command that we propose must not make lossy."""


def samples_of_files(index: SampleIndex, chosen: list[Field], fields: Sequence[str] | None) -> EngineTable:
    """Prepare images that lie in files: whole ones, parts of archives, or several files per sample."""
    images = [_placed(index, field) for field in chosen]
    reads_whole = len(images) == 1 and not images[0].offset.any()
    is_apart = any(not np.array_equal(found.file, images[0].file) for found in images[1:])
    heads = _Heads(index, images[0])
    scalars, lists = _columns(index, fields, heads)
    return EngineTable(
        place=index.place,
        index=index,
        num_samples=index.num_samples,
        table=_table(index, images, chosen, reads_whole=reads_whole, is_apart=is_apart),
        image_fields=tuple(field.name for field in chosen),
        scalars=scalars,
        lists=lists,
        formats=np.zeros(index.num_samples, np.uint8),
        splits=index.split_numbers,
        split_names=index.splits,
        sizes=_sizes(images, is_apart=is_apart),
        largest_pixel_bytes=None,
        fingerprint=index.fingerprint,
        records=None if reads_whole or is_apart else (images[0].file, images[0].offset),
        unloadable=_decoded_in_python(index.files, images) if reads_whole or is_apart else {},
        masks=frozenset(field.name for field in chosen if field.role != "image"),
        read_head=heads.read,
        reads_apart=is_apart,
    )


class _Heads:
    """First bytes and headers of images. Sizes are read once, when they are needed."""

    def __init__(self, index: SampleIndex, image: ImageColumns) -> None:
        self._files = index.files
        self._store = index.store
        self._image = image
        self._sizes: npt.NDArray[np.uint32] | None = None

    def read(self, sample: int, num_bytes: int) -> bytes:
        """Return the first bytes of an image, at most `num_bytes`."""
        path, offset = self._files.path(int(self._image.file[sample])), int(self._image.offset[sample])
        length = min(num_bytes, int(self._image.length[sample]))
        return read_range(path, offset, length) if self._store is None else self._store.read_part(path, offset, length)

    def __getitem__(self, rows: npt.NDArray[np.int64], /) -> npt.NDArray[np.uint32]:
        """Return (height, width) of some images; (1, 1) if the header cannot be read, which decoding will report."""
        if self._sizes is None:
            self._sizes = np.zeros((len(self._image), 2), np.uint32)
        for row in rows[self._sizes[rows, 0] == 0].tolist():
            info = header_of(self.read, row)
            self._sizes[row] = (1, 1) if info is None else (info.height, info.width)
        return self._sizes[rows]


def _columns(
    index: SampleIndex, fields: Sequence[str] | None, heads: _Heads
) -> tuple[dict[str, npt.NDArray[np.generic]], dict[str, ListColumn]]:
    if isinstance(index, FolderIndex) and (fields is None or "key" not in fields):
        # Without Arrow, whose import takes longer than opening a small folder. Images in no class have label -1.
        return ({} if index.labels is None else {"label": index.labels}), {}
    scalars, lists = batch_columns(index, fields, heads)
    if isinstance(index, FolderIndex) and index.labels is not None:
        scalars["label"] = index.labels
    return scalars, lists


def _placed(index: SampleIndex, field: Field) -> ImageColumns:
    """Return the places of the images of a field with their lengths; refuse images that are not in files."""
    found = index.locations(field.name)
    if (found.file == ASK).any():
        raise _not_in_files(index)
    absent = np.flatnonzero(found.file < 0)
    if len(absent):
        raise SourceError(
            f"{len(absent)} samples have no {field.name} (sample {absent[0]} is the first)",
            where=index.place,
            fix=f"leave {field.name!r} out of `fields`, or remove these samples from the source",
            code=607,
        )
    unknown = np.flatnonzero(found.length == WHOLE)
    if len(unknown) == 0:
        return found
    length = found.length.copy()
    length[unknown] = sizes_of_files(index, found.file[unknown]) - found.offset[unknown]
    return ImageColumns(file=found.file, offset=found.offset, length=length, checksum=found.checksum)


def _not_in_files(index: SampleIndex) -> PenstockError:
    place = Path(index.place)
    format = "weir:fast" if index.kind in LOSSLESS else "jpeg"
    command = shlex.join(["penstock", "build", str(place), place.with_suffix(".pen").name, "--format", format])
    return SourceError(
        f"images of a source of kind '{index.kind}' are in no files that can be read by offset, so they must be built",
        where=index.place,
        fix=f"build a dataset and load that: `{command}` (jpeg keeps JPEGs as they are; weir:fast is lossless)",
        code=606,
    )


def _table(
    index: SampleIndex, images: list[ImageColumns], chosen: list[Field], *, reads_whole: bool, is_apart: bool
) -> _native.SampleTable:
    count, files = len(images[0]), index.files
    table = _native.SampleTable(files.root, files.text, files.ends, count, [])
    if index.store is not None:
        sizes = np.zeros(len(files), np.uint64)
        for found in images:
            np.maximum.at(sizes, found.file, (found.offset + found.length).astype(np.uint64))
        table.read_from(index.store.read_part, sizes)
    if reads_whole:
        file = images[0].file
        in_turn = len(files) == count and np.array_equal(file, np.arange(count))
        table.add_field(False, None if in_turn else file.astype(np.uint32))
        return table
    for field, found in zip(chosen, images, strict=True):
        places = found.file.astype(np.uint32), found.offset.astype(np.uint64), found.length.astype(np.uint64)
        table.add_field(field.role != "image", *places)
    if is_apart:
        table.read_fields_apart()
    return table


def _sizes(images: list[ImageColumns], *, is_apart: bool) -> npt.NDArray[np.int64]:
    """Return the bytes of one read of each sample, including gaps between its images in an archive."""
    if is_apart or len(images) == 1:
        return np.asarray(np.sum([found.length for found in images], axis=0, dtype=np.int64))
    begin = np.minimum.reduce([found.offset for found in images])
    return np.asarray(np.maximum.reduce([found.offset + found.length for found in images]) - begin)


def _decoded_in_python(files: FileNames, images: list[ImageColumns]) -> dict[int, str]:
    """Return samples whose file endings name a codec that the native core does not have, and the files' names."""
    numbers = files.ending_with(sorted(python_endings()))
    if not numbers:
        return {}
    found: dict[int, str] = {}
    for image in images:
        for sample in np.flatnonzero(np.isin(image.file, numbers)).tolist():
            found.setdefault(sample, files.name(int(image.file[sample])).decode("utf-8", "surrogateescape"))
    return found


def python_endings() -> set[str]:
    """Return the endings of files that only Python decodes.

    >>> sorted(python_endings() & {".tif", ".png"})
    ['.tif']
    """
    native = set(_native.codec_names())
    codecs = (*BUILTIN, *plug_ins())
    loadable = {ending for codec in codecs if codec.name in native for ending in codec.extensions}
    return {ending for codec in codecs for ending in codec.extensions} - loadable
