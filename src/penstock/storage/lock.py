"""Lock of a folder for one process at a time. The lock ends with its process, so it never becomes stale."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

from penstock.errors import StorageError
from penstock.storage.refusal import refused

ATTEMPTS = 100
"""Number of attempts to lock a file that ending processes keep removing."""


@contextmanager
def locked(path: str | os.PathLike[str]) -> Iterator[None]:
    """Lock a file inside the block, creating it if necessary; raise an error if another process holds it.

    Who holds the lock may remove the file, when everything else is done.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, locked(f"{folder}/lock"):
    ...     os.listdir(folder)
    ['lock']
    """
    descriptor = _lock(path)
    try:
        yield
    finally:
        os.close(descriptor)


def _lock(path: str | os.PathLike[str]) -> int:
    for _ in range(ATTEMPTS):
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
        except OSError as error:
            fix = "check that you may write there, and that the disk is not full"
            raise refused(error, "make a file", path=path, fix=fix, code=420) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            break
        except OSError as error:
            os.close(descriptor)
            fix = "choose a disk whose file system can lock files"
            raise refused(error, "lock a file", path=path, fix=fix, code=420) from error
        if _is_at(descriptor, path):
            return descriptor
        os.close(descriptor)  # its last holder has removed it: what is locked has no name any more
    raise StorageError(
        "another process is working here",
        where=os.fsdecode(path),
        fix="wait until it has ended, or choose another folder",
        code=460,
    )


def _is_at(descriptor: int, path: str | os.PathLike[str]) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except FileNotFoundError:
        return False
