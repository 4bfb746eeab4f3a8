"""Files of an index as the native core reads them: paths of a local disk, or objects of a store."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from penstock import _native
from penstock.index.image_columns import WHOLE, StoredColumns
from penstock.index.sample_index import SampleIndex
from penstock.storage import file_size


def source_files(index: SampleIndex) -> _native.SourceFiles:
    """Return the files of an index for the native core. It must outlive every job that reads them."""
    names = list(index.files)
    if index.store is None:
        return _native.SourceFiles(names)
    return _native.SourceFiles(names, index.store.read_part, file_sizes(index))


def sizes_of_files(index: SampleIndex, numbers: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
    """Return the sizes of some files of an index, as the disk or the store says."""
    names = [index.files.path(number) for number in numbers.tolist()]
    if index.store is None:
        return np.fromiter(map(file_size, names), np.int64, len(names))
    found = index.store.objects(names)
    missing = next((name for name, item in zip(names, found, strict=True) if item is None), None)
    if missing is not None:
        raise index.store.missing(missing)
    return np.array([item.size for item in found if item is not None], np.int64)


def file_sizes(index: SampleIndex) -> npt.NDArray[np.int64]:
    """Return the size of each file of an index in a store, as far as its images need it.

    A name with a slash in front is not an object, but a work file on a local disk; its size is -1.
    """
    first = index.locations()
    if isinstance(first, StoredColumns):
        return first.shard_bytes.astype(np.int64)
    sizes = np.zeros(len(index.files), np.int64)
    for field in index.image_fields:
        found = index.locations(field.name)
        known = np.flatnonzero((found.file >= 0) & (found.length != WHOLE))
        np.maximum.at(sizes, found.file[known], (found.offset + found.length)[known])
        unknown = np.unique(found.file[(found.file >= 0) & (found.length == WHOLE)])
        sizes[unknown] = sizes_of_files(index, unknown)
    begins = np.concatenate(([0], index.files.ends[:-1].astype(np.int64)))
    if len(index.files) and not index.files.root:
        sizes[index.files.text[begins] == ord("/")] = -1
    return sizes
