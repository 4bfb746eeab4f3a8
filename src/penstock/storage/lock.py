"""A folder that one process works on at a time. The lock dies with its process: nothing stale can be left."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

from penstock.errors import StorageError


@contextmanager
def locked(path: str | os.PathLike[str]) -> Iterator[None]:
    """Hold a file, which is made if it is not there, for the length of a `with`; refuse if another process holds it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, locked(f"{folder}/lock"):
    ...     os.listdir(folder)
    ['lock']
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise _told(error, "make a file", path) from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StorageError(
                "another process is working here",
                where=os.fsdecode(path),
                fix="wait until it has ended, or choose another folder",
                code=460,
            ) from None
        yield
    finally:
        os.close(descriptor)


def _told(error: OSError, attempt: str, path: str | os.PathLike[str]) -> StorageError:
    told = StorageError(
        f"could not {attempt}: {error.strerror}",
        where=os.fsdecode(path),
        fix="check that you may write there, and that the disk is not full",
        code=420,
    )
    told.errno = error.errno
    return told
