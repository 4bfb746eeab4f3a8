"""Index of a plain image folder. The listing is cached in the user's cache directory, never next to the images."""

from __future__ import annotations

import io
import logging
import os
import zlib
from collections.abc import Callable
from functools import cached_property
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from penstock.errors import StorageError, printable
from penstock.index import Field, FileNames, ImageColumns, ListedIndex, Role, SampleIndex
from penstock.index.file_names import as_folder, pack_names
from penstock.sources.folder_listing import list_folder
from penstock.storage import (
    LocalStore,
    StorePath,
    changed_at,
    entries_of,
    make_folders,
    read_file,
    remove_file,
    status_of,
    write_file,
)
from penstock.types import OnProgress, no_progress
from penstock.units import left_out_text

if TYPE_CHECKING:
    import pyarrow as pa

LOG = logging.getLogger("penstock")
VERSION = 3
LEAST_KEPT = 1000  # images; a smaller folder is listed sooner than its listing is found
MOST_LISTINGS = 64
Arrays = dict[str, npt.NDArray[np.generic]]


def open_folder(
    folder: str | os.PathLike[str],
    on_progress: OnProgress = no_progress,
    otherwise: Callable[[Path], SampleIndex | None] | None = None,
) -> SampleIndex:
    """Open the images of a folder on a local disk. Lists it once; later opens only compare the folders' times.

    `otherwise` is called before a folder is listed; if the folder is another kind of source, it returns its index.
    Files that are left out are logged in one line.
    """
    place = Path(folder).absolute()
    kept = _kept_path(place)
    arrays = _read_kept(kept)
    if arrays is None or not _is_current(place, arrays):
        other = None if otherwise is None else otherwise(Path(folder))
        if other is not None:
            return other
        arrays = _list(StorePath(LocalStore(place)), on_progress)
        if len(arrays["sizes"]) >= LEAST_KEPT:
            _keep(kept, arrays)
    return _opened(StorePath(LocalStore(place)), arrays)


def open_stored_folder(folder: StorePath, on_progress: OnProgress = no_progress) -> SampleIndex:
    """Open the images of a folder in a store, which is listed each time."""
    return _opened(folder, _list(folder, on_progress))


def _opened(place: StorePath, arrays: Arrays) -> FolderIndex:
    left_out = _left_out(arrays)
    if left_out:
        LOG.info("Loader: %s: %s", printable(str(place)), left_out_text(left_out))
    return FolderIndex(place, arrays)


class FolderIndex(ListedIndex):
    """Images of a folder in the order of their paths. Arrow columns are made at their first use."""

    def __init__(self, place: StorePath, arrays: Arrays) -> None:
        self.place = str(place)
        self.kind = "folder"
        self.roles = {"image": Role.IMAGE}
        self.left_out = _left_out(arrays)
        self._arrays = arrays
        self._classes = tuple(str(name) for name in arrays["classes"]) or None
        self._store = place.foreign_store
        self._files = FileNames(
            place.references([""])[0], arrays["names"].astype(np.uint8), arrays["name_ends"].astype(np.uint64)
        )
        self.rows = np.arange(len(self._files))
        self._images = {
            "image": ImageColumns.of_files(self.rows.astype(np.int32), arrays["sizes"].astype(np.int64)),
        }

    @property
    def column_fields(self) -> list[Field]:
        """Field of the label, if there are classes."""
        return [Field("label", "label", type="int32", classes=self._classes)] if self._classes else []

    @property
    def splits(self) -> tuple[str, ...]:
        """Names of the splits."""
        return tuple(str(name) for name in self._arrays["split_names"])

    @property
    def split_numbers(self) -> npt.NDArray[np.int16]:
        """Split number of each sample; -1 for samples without a split."""
        return self._arrays["splits"].astype(np.int16)

    @property
    def labels(self) -> npt.NDArray[np.int64] | None:
        """Label of each sample, -1 for images outside class folders; None without classes."""
        return self._arrays["labels"].astype(np.int64) if self._classes else None

    @cached_property
    def fingerprint(self) -> str:
        """Digest of the names."""
        return _fingerprint(self._arrays)

    @cached_property
    def table(self) -> pa.Table:
        """Keys, splits and labels as Arrow columns."""
        import pyarrow as pa

        ends = np.concatenate([[0], self._arrays["name_ends"].astype(np.int64)])
        buffers = [None, pa.py_buffer(ends.tobytes()), pa.py_buffer(self._arrays["names"].tobytes())]
        keys = pa.LargeStringArray.from_buffers(len(ends) - 1, buffers[1], buffers[2]).cast(pa.string())
        columns: dict[str, pa.Array] = {"key": keys}
        if self.splits:
            names = pa.array([*self.splits, None], pa.string())
            columns["split"] = names.take(pa.array(self.split_numbers % len(names)))
        if self._classes:
            labels = self._arrays["labels"].astype(np.int32)
            columns["label"] = pa.array(labels, pa.int32(), mask=labels < 0)
        return pa.table(columns)


def _left_out(arrays: Arrays) -> dict[str, int]:
    return dict(zip(arrays["left_out"].tolist(), arrays["left_out_counts"].tolist(), strict=True))


def _list(place: StorePath, on_progress: OnProgress) -> Arrays:
    listing = list_folder(place, on_progress)
    names, name_ends = pack_names([os.fsencode(key) for key in listing.keys])
    folders, folder_ends = pack_names(listing.folders)
    splits, split_names = _numbered(listing.splits)
    return {
        "version": np.array(VERSION),
        "names": names,
        "name_ends": name_ends,
        "sizes": listing.sizes,
        "labels": listing.labels.astype(np.int64),
        "classes": np.array(listing.classes, dtype=np.str_),
        "splits": splits,
        "split_names": np.array(split_names, dtype=np.str_),
        "folders": folders,
        "folder_ends": folder_ends,
        "folder_times": listing.folder_times,
        "left_out": np.array(list(listing.left_out), dtype=np.str_),
        "left_out_counts": np.fromiter(listing.left_out.values(), np.int64, len(listing.left_out)),
    }


def _numbered(splits: list[str | None]) -> tuple[npt.NDArray[np.int16], list[str]]:
    names = sorted({split for split in splits if split is not None})
    number: dict[str | None, int] = {name: index for index, name in enumerate(names)}
    return np.array([number.get(split, -1) for split in splits], np.int16), names


def _fingerprint(arrays: Arrays) -> str:
    """Compute a digest of the keys, because the order of a folder is the order of its names."""
    digest = blake2b(digest_size=12)
    digest.update(np.ascontiguousarray(arrays["names"]).data)
    digest.update(np.ascontiguousarray(arrays["name_ends"]).data)
    return digest.hexdigest()


def _is_current(place: Path, arrays: Arrays) -> bool:
    """Return whether no folder has changed: adding, removing or renaming a file changes its folder's time."""
    text = arrays["folders"].tobytes()
    ends = [0, *arrays["folder_ends"].tolist()]
    root = as_folder(place)
    try:
        return all(
            status_of(root + text[begin:end]).st_mtime_ns == time
            for (begin, end), time in zip(pairwise(ends), arrays["folder_times"].tolist(), strict=True)
        )
    except OSError:
        return False


def _kept_path(place: Path) -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    name = blake2b(os.fsencode(place), digest_size=16).hexdigest()
    return Path(home) / "penstock" / "listings" / f"{name}.npz"


def _read_kept(path: Path) -> Arrays | None:
    """Read a cached listing; None if it does not exist or is unusable."""
    from zipfile import BadZipFile  # which `import penstock` can do without

    try:
        with np.load(io.BytesIO(read_file(path)), allow_pickle=False) as found:
            arrays = dict(found)
        return arrays if int(arrays["version"]) == VERSION and _is_sound(arrays) else None
    except (StorageError, OSError, ValueError, KeyError, TypeError, IndexError, EOFError, BadZipFile, zlib.error):
        return None


def _is_sound(arrays: Arrays) -> bool:
    """Check a cached listing, because native code reads names by these numbers and opens the files."""
    count = len(arrays["sizes"])
    kinds = {"names": "u", "name_ends": "u", "sizes": "i", "labels": "i", "splits": "i", "folders": "u"}
    kinds |= {
        "folder_ends": "u",
        "folder_times": "i",
        "left_out_counts": "i",
        "split_names": "U",
        "left_out": "U",
        "classes": "U",
    }
    if any(arrays[name].ndim != 1 or arrays[name].dtype.kind not in kind for name, kind in kinds.items()):
        return False
    if any(arrays[name].dtype != np.uint8 for name in ("names", "folders")):
        return False
    splits, sizes = arrays["splits"].astype(np.int64), arrays["sizes"].astype(np.int64)
    same = {len(arrays[name]) for name in ("name_ends", "labels", "splits")} == {count}
    same &= len(arrays["folder_ends"]) == len(arrays["folder_times"])
    same &= len(arrays["left_out"]) == len(arrays["left_out_counts"])
    return bool(
        same
        and count > 0
        and (arrays["labels"].astype(np.int64) < max(len(arrays["classes"]), 1)).all()
        and (sizes >= 0).all()
        and (splits >= -1).all()
        and (splits < len(arrays["split_names"])).all()
        and _are_ends(arrays["name_ends"], len(arrays["names"]), least=1)
        and _are_ends(arrays["folder_ends"], len(arrays["folders"]), least=0)
        and b"../" not in arrays["names"].tobytes()
    )


def _are_ends(ends: npt.NDArray[np.generic], length: int, *, least: int) -> bool:
    """Return whether texts of at least `least` bytes end at these offsets, in order, the last at `length`."""
    if len(ends) == 0 or int(ends[-1]) != length or int(ends.max()) > length:
        return False
    return bool((np.diff(ends.astype(np.int64), prepend=0) >= least).all())


def _keep(path: Path, arrays: Arrays) -> None:
    content = io.BytesIO()
    np.savez(content, **arrays)  # type: ignore[arg-type]  # none of them is called `allow_pickle`
    try:
        make_folders(path.parent)
        write_file(path, content.getvalue())
        _forget_oldest(path.parent)
    except OSError:
        return  # a read-only home: the folder will be listed again


def _forget_oldest(listings: Path) -> None:
    """Remove the oldest listings, so that those of unused or deleted folders do not accumulate."""
    kept = [path for path in entries_of(listings) if path.suffix == ".npz"]
    by_age = sorted(kept, key=changed_at, reverse=True)
    for path in by_age[MOST_LISTINGS:]:
        remove_file(path)
