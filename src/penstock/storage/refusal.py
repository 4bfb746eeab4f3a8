"""Conversion of an `OSError` to the error that users see."""

from __future__ import annotations

import os

from penstock.errors import StorageError


def refused(
    error: OSError, doing: str, *, path: str | os.PathLike[str] = "", fix: str = "", code: int = 400
) -> StorageError:
    """Make the error to raise instead, with the failed action, the path, the system's message and `errno`.

    >>> print(refused(FileNotFoundError(2, "No such file or directory", "a/b"), "list the folder"))
    could not list the folder: No such file or directory
      where: a/b
      fix:   check that it exists, how it is spelled, and that you may read it
    """
    told = StorageError(
        f"could not {doing}: {error.strerror or error}",
        where=os.fsdecode(path or error.filename or ""),
        fix=fix or "check that it exists, how it is spelled, and that you may read it",
        code=code,
    )
    told.errno = error.errno
    return told
