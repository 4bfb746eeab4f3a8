"""Folders that are made, emptied and made durable without following planted links."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from penstock.errors import StorageError
from penstock.storage.refusal import refused

FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
WRITE_FIX = "check that you may write there, and that the disk is not full or damaged"


def make_real_folder(path: str | os.PathLike[str], mode: int = 0o777) -> None:
    """Create a folder, or accept an existing one. A link, even to a folder, is refused."""
    try:
        os.mkdir(path, mode)  # noqa: PTH102
    except FileExistsError:
        check_real_folder(path)
    except OSError as error:
        raise refused(error, "create the folder", path=path, fix=WRITE_FIX, code=420) from error


def check_real_folder(path: str | os.PathLike[str]) -> None:
    """Refuse a path that is not a folder, including a link to one."""
    mode = os.lstat(path).st_mode
    if stat.S_ISDIR(mode):
        return
    raise StorageError(
        "a link is in the way, where a folder is needed" if stat.S_ISLNK(mode) else "a file is in the way of a folder",
        where=os.fsdecode(path),
        fix="find out who put it there; remove it, or choose another folder",
        code=433,
    )


def empty_folder(descriptor: int, keep: frozenset[str] = frozenset()) -> None:
    """Remove everything in an open folder, except names to `keep`. Links are removed, never followed."""
    with os.scandir(descriptor) as entries:
        found = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries if entry.name not in keep]
    for name, is_folder in found:
        if not is_folder:
            os.unlink(name, dir_fd=descriptor)
            continue
        inner = os.open(name, FOLDER_FLAGS, dir_fd=descriptor)
        try:
            empty_folder(inner)
        finally:
            os.close(inner)
        os.rmdir(name, dir_fd=descriptor)


def remove_tree(path: str | os.PathLike[str], keep: frozenset[str] = frozenset()) -> None:
    """Remove a folder and everything in it, except names to `keep`, which also keep the folder.

    A missing folder is not an error; a link to one is refused. Failures are `StorageError`s.
    """
    if not os.path.lexists(path):
        return
    check_real_folder(path)
    try:
        descriptor = os.open(path, FOLDER_FLAGS)
        try:
            empty_folder(descriptor, keep)
        finally:
            os.close(descriptor)
        if not keep:
            os.rmdir(path)  # noqa: PTH106
    except OSError as error:
        raise refused(error, "remove the folder", path=path, fix=WRITE_FIX, code=420) from error


def remove_file(path: str | os.PathLike[str]) -> None:
    """Remove a file, or a link itself, if it exists."""
    try:
        os.unlink(path)  # noqa: PTH108
    except FileNotFoundError:
        return
    except OSError as error:
        raise refused(error, "remove the file", path=path, fix=WRITE_FIX, code=420) from error


def sync_folder(path: str | os.PathLike[str]) -> None:
    """Wait until the disk holds the names in a folder, so that they survive a power cut."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        if error.errno == errno.EINVAL:
            return  # a file system that has no such call for folders
        raise refused(error, "make names durable", path=path, fix=WRITE_FIX, code=420) from error


def sync_file(path: str | os.PathLike[str]) -> None:
    """Wait until the disk holds the content of a file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise refused(error, "make the file durable", path=path, fix=WRITE_FIX, code=420) from error


def sync_names(path: str | os.PathLike[str]) -> None:
    """Wait until the disk holds the name of a path and of every folder above it, up to the root of its disk.

    Folders that may not be opened are skipped, because this process cannot have created anything in them.
    """
    place = Path(path).absolute()
    device = place.stat().st_dev
    for folder in place.parents:
        if folder.stat().st_dev != device:
            return
        if os.access(folder, os.R_OK | os.W_OK):
            sync_folder(folder)
