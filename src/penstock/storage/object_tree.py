"""Folders of a store: names that are relative to a folder, and the objects in each folder."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from penstock.storage.refusal import refused


@dataclass(frozen=True, slots=True)
class Tree:
    """Names below a folder, relative to it, with `/` between their parts; sorted by Unicode code point."""

    root: str
    """The folder with a slash at its end: a path of a local disk, or the first part of the names in a store."""
    files: list[str]
    folders: list[str]
    """All folders, without the root. A disk may have empty ones."""

    def path(self, file: str) -> str:
        """Return the whole path or name of a file of the tree."""
        return self.root + file

    def paths(self) -> list[Path]:
        """Return the paths of all files of a tree on a local disk."""
        return [Path(self.root, file) for file in self.files]


class Status(Protocol):
    """Size, time and kind of a file or an object, as in `os.stat_result`."""

    @property
    def st_size(self) -> int:
        """Size in bytes."""

    @property
    def st_mtime_ns(self) -> int:
        """Time of the last change, in nanoseconds."""

    @property
    def st_mode(self) -> int:
        """Kind of the file."""


class Entry(Protocol):
    """File of a folder, or object of a store. `os.DirEntry` is one, so a walk of a disk makes no further object."""

    @property
    def name(self) -> str:
        """Last part of the name."""

    @property
    def path(self) -> str:
        """Whole path or name."""

    def stat(self) -> Status:
        """Return size, time and kind; a disk is asked when this is called."""


@dataclass(frozen=True, slots=True)
class ObjectFolder:
    """A folder of a walk."""

    prefix: str
    """Name relative to the top, with a slash at its end; empty for the top itself."""
    changed_at: int
    """Time of the last change in nanoseconds, taken before the folder was listed; 0 if a store has none."""
    others: Sequence[Entry]
    """Objects, or files, links and special files, in the folder."""


@dataclass(frozen=True, slots=True)
class ObjectEntry:
    """Object of a store as an entry of a folder."""

    name: str
    path: str
    st_size: int
    st_mtime_ns: int

    @property
    def st_mode(self) -> int:
        """The mode of a regular file."""
        return stat.S_IFREG

    def stat(self) -> Status:
        """Return the entry itself, which the listing has filled."""
        return self


class Listed(Protocol):
    """Object that a store has listed."""

    @property
    def name(self) -> str:
        """Name in the store."""

    @property
    def size(self) -> int:
        """Size in bytes."""

    @property
    def changed_at(self) -> int:
        """Time of the last change."""


def group_by_folder(objects: Iterable[Listed], prefix_length: int) -> list[ObjectFolder]:
    """Return the folders of listed objects, each with its visible ones; the top comes first, even if it is empty."""
    found: dict[str, list[Entry]] = {"": []}
    for item in objects:
        name = item.name[prefix_length:]
        if "/." in f"/{name}":
            continue
        begin = name.rfind("/") + 1
        for end in (at + 1 for at, letter in enumerate(name[:begin]) if letter == "/"):
            found.setdefault(name[:end], [])
        found[name[:begin]].append(ObjectEntry(name[begin:], item.name, item.size, item.changed_at))
    return [ObjectFolder(folder, 0, entries) for folder, entries in found.items()]


def no_check(entry: Entry) -> None:
    """Accept the name of any entry of a walk."""


def status_in(entry: Entry) -> Status:
    """Return size, time and kind of an entry of a walk."""
    try:
        return entry.stat()
    except OSError as error:
        raise refused(error, "look at the file", path=os.fspath(entry.path)) from error
