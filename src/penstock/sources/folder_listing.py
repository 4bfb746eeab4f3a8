"""Listing of a plain folder of images: keys, splits and classes as a dataset built from it will have them.

FOLDER/cat/1.jpg             one class per sub-folder, numbered as in torchvision's ImageFolder
FOLDER/train/cat/1.jpg       a split above the classes, if every sub-folder has the name of a split
FOLDER/1.jpg                 no classes
"""

from __future__ import annotations

import os
import stat
from collections import Counter
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from penstock.codecs.table import BUILTIN, plug_ins
from penstock.errors import StorageError
from penstock.storage import AnyPlace, Entry, StorePath, status_in
from penstock.storage.object_tree import Status
from penstock.types import OnProgress, no_progress
from penstock.units import bytes_text, left_out_text

NO_CLASSES = {
    **dict.fromkeys(("leftImg8bit", "rightImg8bit", "gtFine", "gtCoarse", "gtBbox3d"), "Cityscapes"),
    **dict.fromkeys(("JPEGImages", "SegmentationClass", "SegmentationObject"), "Pascal VOC"),
}
"""Folders of well-known datasets, which are never classes."""
MAX_FILE_BYTES = 1 << 32
"""Largest size of an image file, so that a sparse file of terabytes reserves no memory."""
SPLIT_NAMES = ("train", "training", "val", "valid", "validation", "test", "testing")


@dataclass(frozen=True, slots=True)
class FolderListing:
    """Images of a folder, sorted by key; entry i of every column is sample i."""

    keys: list[str]
    """Paths relative to the folder, with "/" between parts, in the order of their code points: the order of ids."""
    paths: list[bytes]
    sizes: npt.NDArray[np.int64]
    """Bytes of each file."""
    splits: list[str | None]
    labels: npt.NDArray[np.int32]
    """Index into `classes`; -1 for an image that is in no class folder."""
    classes: tuple[str, ...]
    """Sorted names of the classes; empty if no image is in a sub-folder."""
    left_out: dict[str, int]
    """Number of skipped files, by ending (`.json`) or reason."""
    times: npt.NDArray[np.int64]
    """Times of the last changes of files, in nanoseconds."""
    folders: list[bytes]
    """Listed folders, relative to the first, which is empty here."""
    folder_times: npt.NDArray[np.int64]
    """Times of the last changes of folders, in nanoseconds. A listing is valid while none of them changes."""


def list_folder(folder: AnyPlace, on_progress: OnProgress = no_progress) -> FolderListing:
    """List a folder's images. Follows links, skips hidden files and folders, and opens no file.

    Folders of well-known datasets that are not classes (`leftImg8bit`, `gtFine`, `JPEGImages`…) are refused.
    """
    walk = _Walk(on_progress)
    walk.run(StorePath.of(folder))
    found, empty_folders, folders = walk.found, walk.barren, walk.folders
    if not found:
        raise StorageError(
            f"the folder holds no image ({left_out_text(walk.left_out)})"
            if walk.left_out
            else "the folder holds no image",
            where=str(StorePath.of(folder)),
            fix=f"name a folder with files that end in {', '.join(sorted(_endings()))}",
            code=440,
        )
    found.sort(key=lambda entry: entry[0])
    keys = [entry[0] for entry in found]
    parts = [tuple(key.split("/")) for key in keys]
    has_splits = all(len(part) > 1 and part[0].lower() in SPLIT_NAMES for part in parts)
    depth = 1 if has_splits else 0
    names = [part[depth] if len(part) > depth + 1 else None for part in parts]
    unfilled = {part[depth] for part in (place.split("/") for place in empty_folders) if len(part) == depth + 1}
    classes = tuple(sorted({name for name in names if name is not None} | (unfilled if any(names) else set())))
    _refuse_known_folders(classes, str(StorePath.of(folder)))
    number = {name: index for index, name in enumerate(classes)}
    return FolderListing(
        keys=keys,
        paths=[os.fsencode(entry[1]) for entry in found],
        sizes=np.array([entry[2].st_size for entry in found], np.int64),
        splits=[part[0] if has_splits else None for part in parts],
        labels=np.array([-1 if name is None else number[name] for name in names], np.int32),
        classes=classes,
        left_out=dict(sorted(walk.left_out.items())),
        times=np.array([entry[2].st_mtime_ns for entry in found], np.int64),
        folders=[os.fsencode(prefix) for prefix in folders],
        folder_times=np.fromiter(folders.values(), np.int64, len(folders)),
    )


def _endings() -> set[str]:
    return {ending for codec in (*BUILTIN, *plug_ins()) for ending in codec.extensions}


def _refuse_known_folders(classes: tuple[str, ...], folder: str) -> None:
    known = [name for name in classes if name in NO_CLASSES]
    if known:
        raise StorageError(
            f"'{known[0]}' is a folder of {NO_CLASSES[known[0]]}, not a class of images",
            where=folder,
            fix=f"name the dataset's root, or one folder of images inside of '{known[0]}'",
            code=441,
        )


class _Walk:
    """State of a walk below a folder."""

    def __init__(self, on_progress: OnProgress) -> None:
        self.found: list[tuple[str, str, Status]] = []
        """Images: key, path and status."""
        self.barren: list[str] = []
        """Folders without images."""
        self.left_out: Counter[str] = Counter()
        self.folders: dict[str, int] = {}
        """Times of all folders, taken before they are listed."""
        self._endings = _endings()
        self._on_progress = on_progress

    def run(self, root: StorePath) -> None:
        """List all files below a folder."""
        self._on_progress("listing", 0, 0)
        for folder in root.folders(_check_utf8):
            num_before = len(self.found)
            self.folders[folder.prefix] = folder.changed_at
            for entry in folder.others:
                self._take(entry, folder.prefix + entry.name)
            if folder.prefix and len(self.found) == num_before:
                self.barren.append(folder.prefix.rstrip("/"))
            self._on_progress("listing", len(self.found), 0)

    def _take(self, entry: Entry, key: str) -> None:
        ending = os.path.splitext(entry.name)[1].lower()  # noqa: PTH122  # a Path costs more than the rest
        if ending not in self._endings:
            self.left_out[ending or "without an ending"] += 1
            return
        status = status_in(entry)
        if not stat.S_ISREG(status.st_mode):  # a pipe or a device would be waited for without end
            self.left_out[f"{ending} that are pipes or devices"] += 1
        elif status.st_size > MAX_FILE_BYTES:
            self.left_out[f"{ending} of more than {bytes_text(MAX_FILE_BYTES)}"] += 1
        else:
            self.found.append((key, entry.path, status))


def _check_utf8(entry: Entry) -> None:
    """Refuse a name that is not UTF-8, because keys are text in Parquet."""
    try:
        entry.name.encode()
    except UnicodeEncodeError as error:
        raise StorageError(
            "the name of a file is not UTF-8, so it cannot be a key",
            where=repr(os.fsencode(entry.path)),
            fix="rename it",
            code=440,
        ) from error
