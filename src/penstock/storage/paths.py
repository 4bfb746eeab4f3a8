"""Questions about paths of a local disk. Code outside of `storage/` asks them here and nowhere else.

Links are followed unless a function says otherwise. A path that may not be looked at is an error, as in `pathlib`.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from itertools import islice
from pathlib import Path

from penstock.errors import StorageError
from penstock.storage.refusal import refused

AnyPath = str | bytes | os.PathLike[str]
ABSENT_ERRORS = (errno.ENOENT, errno.ENOTDIR, errno.EBADF, errno.ELOOP)


def is_file(path: AnyPath) -> bool:
    """Tell whether a path is a regular file."""
    return _has_kind(path, stat.S_ISREG)


def is_folder(path: AnyPath) -> bool:
    """Tell whether a path is a folder."""
    return _has_kind(path, stat.S_ISDIR)


def is_special(path: AnyPath) -> bool:
    """Tell whether a path exists and is neither a file nor a folder: a pipe, a socket or a device."""
    return _has_kind(path, lambda mode: not stat.S_ISREG(mode) and not stat.S_ISDIR(mode))


def is_link(path: AnyPath) -> bool:
    """Tell whether a path is itself a symbolic link."""
    return os.path.islink(path)  # noqa: PTH114


def exists(path: AnyPath) -> bool:
    """Tell whether a path leads to something."""
    return _has_kind(path, lambda _: True)


def is_taken(path: AnyPath) -> bool:
    """Tell whether a name is in use, be it by a link that leads nowhere."""
    return os.path.lexists(path)


def entries_of(folder: str | os.PathLike[str]) -> list[Path]:
    """Return the paths in a folder, sorted, hidden ones included."""
    try:
        return sorted(Path(folder, name) for name in os.listdir(folder))  # noqa: PTH208
    except OSError as error:
        raise refused(error, "list the folder", path=folder) from error


def first_names(folder: str | os.PathLike[str], most: int | None) -> dict[str, bool]:
    """Return visible names in a folder, at most `most`, each with whether it is a folder. Raises plain `OSError`."""
    with os.scandir(folder) as entries:
        visible = (entry for entry in entries if not entry.name.startswith("."))
        return {entry.name: entry.is_dir() for entry in islice(visible, most)}


def mode_of(path: AnyPath) -> int | None:
    """Return the mode of a path itself, a link not followed; None if there is nothing."""
    try:
        return os.lstat(path).st_mode
    except FileNotFoundError:
        return None


def status_of(path: AnyPath) -> os.stat_result:
    """Return size, times and kind of a path, for code that asks about millions. Raises plain `OSError`."""
    return os.stat(path)  # noqa: PTH116


def file_size(path: AnyPath) -> int:
    """Return the size of a file in bytes."""
    return _status(path).st_size


def disk_of(path: AnyPath) -> int:
    """Return the number of the disk that a path is on."""
    return _status(path).st_dev


def changed_at(path: AnyPath) -> int:
    """Return when a file or folder last changed, in nanoseconds since 1970."""
    return _status(path).st_mtime_ns


def check_exists(path: AnyPath, doing: str = "look at the path") -> None:
    """Raise `StorageError` if a path leads nowhere."""
    _status(path, doing)


def _status(path: AnyPath, doing: str = "look at the path") -> os.stat_result:
    try:
        return os.stat(path)  # noqa: PTH116
    except OSError as error:
        raise refused(error, doing, path=os.fsdecode(path)) from error
    except ValueError as error:
        raise StorageError(
            f"{path!r} cannot be a path: {error}", where=repr(path), fix="correct it", code=400
        ) from None


def _has_kind(path: AnyPath, is_of: Callable[[int], bool]) -> bool:
    try:
        return is_of(os.stat(path).st_mode)  # noqa: PTH116
    except ValueError:
        return False
    except OSError as error:
        if error.errno in ABSENT_ERRORS:
            return False
        raise refused(error, "look at the path", path=os.fsdecode(path)) from error
