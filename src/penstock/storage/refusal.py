"""An `OSError` of Python as the error that users see."""

from __future__ import annotations

import os

from penstock.errors import StorageError


def refused(
    error: OSError, doing: str, *, path: str | os.PathLike[str] = "", fix: str = "", code: int = 400
) -> StorageError:
    """The error to raise instead: what could not be done, the path, the system's own words, `errno` kept.

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
