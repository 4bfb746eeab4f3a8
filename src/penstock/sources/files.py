"""Facts about the files of a source: their sizes, and when they last changed."""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from penstock.errors import SourceError
from penstock.sources.names import ending_of
from penstock.storage import StorePath, status_of
from penstock.storage.refusal import refused
from penstock.storage.store import folder_prefix


@dataclass(frozen=True, slots=True)
class FileFacts:
    """Sizes and times of some files, in their order."""

    sizes: npt.NDArray[np.int64]
    times: npt.NDArray[np.int64]
    """Times of the last changes, in nanoseconds."""

    def state(self) -> bytes:
        """Return bytes that differ once one of the files has changed."""
        return self.sizes.tobytes() + self.times.tobytes()


def facts_in(place: StorePath, names: Sequence[str], where: Callable[[int], str] | None = None) -> FileFacts:
    """Return sizes and times of files below a place. A missing file is an error; `where` says which row named it."""
    if place.local is not None:
        root = str(place.local)
        return facts_of((os.path.join(root, name) for name in names), where)  # noqa: PTH118 - a million times
    prefix = folder_prefix(place.name)
    found = place.store.objects([prefix + name for name in names])
    for index, item in enumerate(found):
        if item is None:
            told = place.store.missing(prefix + names[index])
            raise told if where is None else told.within(where(index))
    known = [item for item in found if item is not None]
    sizes = np.array([item.size for item in known], np.int64)
    return FileFacts(sizes, np.array([item.changed_at for item in known], np.int64))


def facts_of(paths: Iterable[str | bytes], where: Callable[[int], str] | None = None) -> FileFacts:
    """Read sizes and times of files of a local disk. A missing file is an error; `where` says which row named it."""
    sizes: list[int] = []
    times: list[int] = []
    for index, path in enumerate(paths):
        try:
            status = status_of(path)
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


def by_ending(names: Iterable[str]) -> Counter[str]:
    """Count files that a source leaves out by their endings.

    >>> dict(by_ending(["a/1.json", "2.JSON", "README"]))
    {'.json': 2, 'without an ending': 1}
    """
    return Counter(ending_of(name) or "without an ending" for name in names)


def files_beside(root: StorePath, taken: Collection[str]) -> Counter[str]:
    """Count files of a folder by ending, without the entries that a source uses."""
    others = {name: is_folder for name, is_folder in root.names().items() if name not in taken}
    left_out = by_ending(name for name, is_folder in others.items() if not is_folder)
    for folder in (name for name, is_folder in others.items() if is_folder):
        left_out += by_ending((root / folder).tree().files)
    return left_out
