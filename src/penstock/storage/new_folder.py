"""Folder that is filled under a hidden name, and gets its own name when it is complete."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from penstock import _native
from penstock.errors import StorageError
from penstock.storage.folders import FOLDER_FLAGS, WRITE_FIX, check_real_folder, empty_folder, sync_folder
from penstock.storage.local import make_folders
from penstock.storage.refusal import refused

PRIVATE = 0o700


@contextmanager
def new_folder(out: Path, *, expected_bytes: int) -> Iterator[Path]:
    """Make a hidden folder next to `out` that is renamed to it at the end of the block, or removed after an error.

    `out` must not exist, or be an empty folder. The leftovers of a killed process are removed; a running one is not
    disturbed. If `expected_bytes` do not fit on the disk, it is refused at once. When the name appears, the disk holds
    everything in the folder, so a power cut leaves all of it or nothing.

    Until then the hidden folder is private: a link under its name, or another user's folder, is refused.
    """
    _check_free(out)
    parent = out.absolute().parent
    make_folders(parent)
    _check_space(parent, expected_bytes)
    hidden = parent / f".{out.name}.penstock-part"
    descriptor = _open_private(hidden, out)
    try:
        try:
            empty_folder(descriptor)
        except OSError as error:
            raise refused(error, "remove what was left", path=hidden, fix=WRITE_FIX, code=420) from error
        yield hidden
        _publish(descriptor, hidden, out)
    except BaseException:
        _discard(descriptor, hidden)
        raise
    finally:
        os.close(descriptor)


def _check_free(out: Path) -> None:
    if not os.path.lexists(out) or (out.is_dir() and not out.is_symlink() and not any(out.iterdir())):
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


def _open_private(hidden: Path, out: Path) -> int:
    """Make the folder, or take over that of a killed process; no other process writes there meanwhile."""
    try:
        with suppress(FileExistsError):
            hidden.mkdir(PRIVATE)
        check_real_folder(hidden)
        descriptor = os.open(hidden, FOLDER_FLAGS)
    except StorageError:
        raise
    except OSError as error:
        raise refused(error, "create the folder", path=hidden, fix=WRITE_FIX, code=420) from error
    try:
        if os.fstat(descriptor).st_uid != os.geteuid():
            raise StorageError(
                "a folder of another user is in the way",
                where=str(hidden),
                fix="ask its owner to remove it, or choose another folder",
                code=433,
            )
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not _is_at(descriptor, hidden):  # whoever held it has just published it
            raise BlockingIOError
        os.fchmod(descriptor, PRIVATE)
    except StorageError:
        os.close(descriptor)
        raise
    except BlockingIOError:
        os.close(descriptor)
        raise StorageError(
            f"another process is writing to '{out}'",
            where=str(hidden),
            fix="wait for it, or choose another folder",
            code=432,
        ) from None
    except OSError as error:
        os.close(descriptor)
        raise refused(error, "make the folder ours", path=hidden, fix=WRITE_FIX, code=420) from error
    return descriptor


def _publish(descriptor: int, hidden: Path, out: Path) -> None:
    if not _is_at(descriptor, hidden):
        raise StorageError(
            "the folder was moved away while it was filled",
            where=str(hidden),
            fix="choose a folder that only you can write to",
            code=433,
        )
    try:
        _native.sync_file_system(descriptor)
        os.fchmod(descriptor, 0o777 & ~_umask())
        hidden.rename(out)  # replaces an empty folder, and nothing else
    except OSError as error:
        raise refused(error, "put the folder in its place", path=out, fix="choose another folder") from error
    sync_folder(out.absolute().parent)


def _discard(descriptor: int, hidden: Path) -> None:
    """Remove the folder as far as possible; errors are ignored, because the first error matters."""
    with suppress(OSError):
        if _is_at(descriptor, hidden):  # otherwise it has its name already, or somebody moved it
            empty_folder(descriptor)
            hidden.rmdir()


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except FileNotFoundError:
        return False


def _umask() -> int:
    # os.umask() cannot look without changing it, for all threads.
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("Umask:"):
            return int(line.split()[1], 8)
    return 0o022
