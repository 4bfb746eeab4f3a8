"""Whole small files: read one, publish one. Data files of datasets go through the storage layer instead."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from penstock.errors import StorageError


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """The content of a file."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise _told(error, path, action="read", code=410) from error


def publish_bytes(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file so that nobody ever sees a part of it: beside its place first, then renamed over it."""
    target = Path(path)
    temporary = ""
    try:
        with tempfile.NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}.", delete=False) as file:
            temporary = file.name
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            os.fchmod(file.fileno(), _mode_for(target))
        Path(temporary).replace(target)
    except BaseException as error:
        with contextlib.suppress(OSError):
            Path(temporary).unlink()
        if isinstance(error, OSError):
            raise _told(error, path, action="write", code=420) from error
        raise


def find_files(folder: str | os.PathLike[str]) -> list[Path]:
    """All files under a folder, sorted by path; hidden ones are left out, links to folders are not followed."""

    def refuse(error: OSError) -> None:
        raise _told(error, error.filename or folder, action="read", code=400)

    found: list[Path] = []
    for place, folders, files in os.walk(folder, onerror=refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += (Path(place, name) for name in files if not name.startswith("."))
    return sorted(found, key=Path.as_posix)


def _mode_for(target: Path) -> int:
    """What a plain `open` would give: the old file's permissions, or everybody's as the umask allows."""
    with contextlib.suppress(OSError):
        return target.stat().st_mode & 0o7777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _told(error: OSError, path: str | os.PathLike[str], *, action: str, code: int) -> StorageError:
    fixes = {
        FileNotFoundError: "check the path" if action == "read" else "make its folder first",
        IsADirectoryError: "give the path of a file",
        NotADirectoryError: "check the path: a part of it is a file",
        PermissionError: f"check its permissions, or {action} elsewhere",
    }
    reason = (error.strerror or str(error)).lower()
    fix = fixes.get(type(error), "check the disk" if action == "read" else "free space or choose another disk")
    return StorageError(
        f"could not {action} '{os.fsdecode(path)}': {reason}", where=os.fsdecode(path), fix=fix, code=code
    )
