"""A folder that is filled while it is hidden, and takes its name when it is whole."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from penstock.errors import StorageError
from penstock.storage.local import make_folders
from penstock.storage.refusal import refused


@contextmanager
def new_folder(out: Path, *, expected_bytes: int) -> Iterator[Path]:
    """A hidden folder beside `out` that takes its name when the block ends without an error, and vanishes otherwise.

    `out` must not exist, or be an empty folder. What a killed process left is thrown away; one that still runs is not
    disturbed. `expected_bytes` beyond the free space are refused at once.
    """
    _check_free(out)
    make_folders(out.absolute().parent)
    _check_space(out.absolute().parent, expected_bytes)
    hidden = out.absolute().parent / f".{out.name}.penstock-part"
    make_folders(hidden)
    lock = _lock(hidden, out)
    try:
        for left in hidden.iterdir():
            shutil.rmtree(left) if left.is_dir() else left.unlink()
        yield hidden
        _rename(hidden, out)
    except BaseException:
        shutil.rmtree(hidden, ignore_errors=True)
        raise
    finally:
        os.close(lock)


def _check_free(out: Path) -> None:
    if not os.path.lexists(out) or (out.is_dir() and not any(out.iterdir())):
        return
    raise StorageError(
        f"'{out}' exists already", where=str(out), fix="choose another folder: nothing is overwritten", code=430
    )


def _check_space(folder: Path, expected_bytes: int) -> None:
    free = shutil.disk_usage(folder).free
    if expected_bytes > free:
        raise StorageError(
            f"{expected_bytes:,} bytes or more are needed, and {free:,} are free",
            where=str(folder),
            fix="make room, write less, or choose another disk",
            code=431,
        )


def _lock(hidden: Path, out: Path) -> int:
    """Hold the folder, as long as this process lives."""
    descriptor = os.open(hidden, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise StorageError(
            f"somebody else is writing to '{out}'",
            where=str(hidden),
            fix="wait for it, or choose another folder",
            code=432,
        ) from None
    return descriptor


def _rename(hidden: Path, out: Path) -> None:
    try:
        hidden.rename(out)  # replaces an empty folder, and nothing else
    except OSError as error:
        raise refused(error, "put the folder in its place", path=out, fix="choose another folder") from error
