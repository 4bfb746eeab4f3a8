"""Folder of a synthetic dataset.

OUT/class003/000013.png                              for torchvision's ImageFolder
OUT/images/class003/000013.png, OUT/masks/class003/000013.png     with masks, which are always PNG

The number is the index of the image in the whole set. No other files are written.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from penstock.errors import StorageError
from penstock.storage import entries_of, is_file, is_folder, is_link, is_taken, make_folders

CLASS_NAME = re.compile(r"class\d{3,}")
# A killed run leaves a hidden file of the image that it was about to publish.
FILE_NAME = re.compile(r"\d{6,}\.\w+|\.penstock-\d+-\d+\.part")
PARTS = ("images", "masks")


@contextmanager
def new_folders(root: Path, *, classes: int, masks: bool, force: bool) -> Iterator[tuple[Path, Path | None]]:
    """Create folders for images and masks, with their class folders.

    They are removed if the block fails or is interrupted, so that a partial dataset never looks complete.
    """
    existed = is_folder(root)
    _make_room(root, force=force)
    images = root / PARTS[0] if masks else root
    masks_folder = root / PARTS[1] if masks else None
    try:
        for folder in filter(None, (images, masks_folder)):
            for label in range(classes):
                make_folders(folder / f"class{label:03}")
        yield images, masks_folder
    except BaseException:
        for entry in _entries(root):
            shutil.rmtree(entry, ignore_errors=True)
        if not existed:
            shutil.rmtree(root, ignore_errors=True)
        raise


def _make_room(root: Path, *, force: bool) -> None:
    entries = _entries(root)
    if not entries:
        return
    if not force:
        raise StorageError(
            f"folder '{root}' is not empty",
            where=str(root),
            fix="choose another folder, or replace what synth wrote there before with --force (force=True)",
            code=430,
        )
    for entry in entries:
        foreign = _foreign(entry)
        if foreign is not None:
            raise StorageError(
                f"'{foreign}' was not written by synth, so it is not replaced",
                where=str(root),
                fix="choose another folder, or move it away",
                code=430,
            )
    for entry in entries:
        shutil.rmtree(entry)


def _entries(root: Path) -> list[Path]:
    if not is_taken(root):
        return []
    if not is_folder(root):
        raise StorageError(f"'{root}' is a file, not a folder", where=str(root), fix="choose another path", code=430)
    return entries_of(root)


def _foreign(entry: Path) -> Path | None:
    """Find the first entry at or below a path that synth did not write; None if there is no such entry."""
    if is_link(entry) or not is_folder(entry):
        return entry
    if entry.name in PARTS:
        return next((found for below in entries_of(entry) if (found := _foreign_class(below))), None)
    return _foreign_class(entry)


def _foreign_class(folder: Path) -> Path | None:
    if is_link(folder) or not is_folder(folder) or not CLASS_NAME.fullmatch(folder.name):
        return folder
    files = entries_of(folder)
    return next((file for file in files if not is_file(file) or not FILE_NAME.fullmatch(file.name)), None)
