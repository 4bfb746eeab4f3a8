"""Questions about paths of a local disk. Code outside of `storage/` asks them here and nowhere else.

Links are followed. A path that may not be looked at counts as absent, as in `pathlib`.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable

from penstock.errors import StorageError
from penstock.storage.refusal import refused

AnyPath = str | bytes | os.PathLike[str]


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


def names_in(folder: AnyPath) -> list[str]:
    """Return the names in a folder, sorted, hidden ones included."""
    try:
        return sorted(os.fsdecode(name) for name in os.listdir(folder))  # noqa: PTH208
    except OSError as error:
        raise refused(error, "list the folder", path=os.fsdecode(folder)) from error


def file_size(path: AnyPath) -> int:
    """Return the size of a file in bytes."""
    return _status(path).st_size


def disk_of(path: AnyPath) -> int:
    """Return the number of the disk that a path is on."""
    return _status(path).st_dev


def changed_at(path: AnyPath) -> int:
    """Return when a file or folder last changed, in nanoseconds since 1970."""
    return _status(path).st_mtime_ns


def check_exists(path: AnyPath) -> None:
    """Raise `StorageError` if a path leads nowhere."""
    _status(path)


def _status(path: AnyPath) -> os.stat_result:
    try:
        return os.stat(path)  # noqa: PTH116
    except OSError as error:
        raise refused(error, "look at the path", path=os.fsdecode(path)) from error
    except ValueError as error:
        raise StorageError(
            f"{path!r} cannot be a path: {error}", where=repr(path), fix="correct it", code=400
        ) from None


def _has_kind(path: AnyPath, is_of: Callable[[int], bool]) -> bool:
    try:
        return is_of(os.stat(path).st_mode)  # noqa: PTH116
    except (OSError, ValueError):
        return False
