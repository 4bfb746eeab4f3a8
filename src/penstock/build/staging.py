"""Staging of bytes from a source in one work file, so that the native core can read them by offset."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from penstock.errors import DatasetError
from penstock.index import ASK, FileNames, ImageColumns, ListedIndex
from penstock.sources.source import Source
from penstock.storage import AppendFile, file_size, is_file, make_folders, read_file, write_file
from penstock.types import OnProgress

BATCH_ROWS = 64


def stage(source: Source, index: ListedIndex, folder: Path, on_progress: OnProgress) -> ListedIndex:
    """Return the index with every ASK replaced by a place in a work file; the same index without ASK.

    Bytes that a killed build staged are used again if they are complete.
    """
    files = list(index.files)
    images: dict[str, ImageColumns] = {}
    for name in index.roles:
        place = index.locations(name)
        asked = np.flatnonzero(place.file == ASK)
        if len(asked) == 0:
            continue
        make_folders(folder)
        path = folder / f"staged-{name}.bin"
        offsets = _stage_field(source, name, index.rows[asked], path, on_progress)
        file, offset, length = place.file.copy(), place.offset.copy(), place.length.copy()
        file[asked] = len(files)
        order = np.argsort(index.rows[asked], kind="stable")
        offset[asked[order]] = offsets[:-1]
        length[asked[order]] = np.diff(offsets)
        files.append(bytes(path.absolute()))
        checksum = place.known_checksums(np.arange(len(place)))
        images[name] = ImageColumns(file=file, offset=offset, length=length, checksum=checksum)
    return index.moved(FileNames.of(files), images) if images else index


def _stage_field(
    source: Source, name: str, rows: npt.NDArray[np.int64], path: Path, on_progress: OnProgress
) -> npt.NDArray[np.int64]:
    """Return the offset of each row, in ascending order, and the end of the last one."""
    ends = path.with_suffix(".ends")
    if is_file(path) and is_file(ends):
        known = np.frombuffer(read_file(ends), np.int64)
        if len(known) == len(rows) + 1 and file_size(path) == known[-1]:
            return known
    lengths = []
    with AppendFile(path.with_suffix(".part")) as file:
        for number, data in enumerate(_contents(source, name, np.sort(rows))):
            file.append(data)
            lengths.append(len(data))
            on_progress(f"reading {name}", number + 1, len(rows))
        if len(lengths) != len(rows):
            raise DatasetError(
                f"the source gave {len(lengths)} images for {len(rows)} samples",
                where=f"field '{name}' of the source",
                fix="this is a mistake in the source's code",
                code=203,
            )
        file.publish(path)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    write_file(ends, offsets.tobytes(), durable=True)
    return offsets


def _contents(source: Source, name: str, rows: npt.NDArray[np.int64]) -> Iterator[bytes]:
    for begin in range(0, len(rows), BATCH_ROWS):
        yield from source.read(name, rows[begin : begin + BATCH_ROWS])
