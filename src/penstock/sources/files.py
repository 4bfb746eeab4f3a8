"""Facts about the files of a source: how large, and when they last changed."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from penstock.errors import SourceError
from penstock.storage.refusal import refused


@dataclass(frozen=True, slots=True)
class FileFacts:
    """Of some files, in their order."""

    sizes: npt.NDArray[np.int64]
    times: npt.NDArray[np.int64]
    """When each last changed, in nanoseconds."""

    def state(self) -> bytes:
        """What differs once one of the files has changed."""
        return self.sizes.tobytes() + self.times.tobytes()


def facts_of(paths: Iterable[str | bytes], where: Callable[[int], str] | None = None) -> FileFacts:
    """Look at files. One that is missing or no regular file is told; `where` says who named it."""
    sizes: list[int] = []
    times: list[int] = []
    for index, path in enumerate(paths):
        try:
            status = os.stat(path)  # noqa: PTH116 - a Path costs more than the rest
        except OSError as error:
            told = refused(error, f"look at '{os.fsdecode(path)}'")
            raise told if where is None else told.within(where(index)) from error
        except ValueError as error:
            raise SourceError(
                f"{path!r} cannot be a path: {error}",
                where=repr(path) if where is None else where(index),
                fix="correct it",
                code=600,
            ) from error
        if not stat.S_ISREG(status.st_mode):  # a pipe would be waited for without end
            raise SourceError(
                f"'{os.fsdecode(path)}' is not a regular file",
                where=os.fsdecode(path) if where is None else where(index),
                fix="name files of images",
                code=600,
            )
        sizes.append(status.st_size)
        times.append(status.st_mtime_ns)
    return FileFacts(np.array(sizes, np.int64), np.array(times, np.int64))
