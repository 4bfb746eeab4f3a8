"""The contract of a store: named objects that are read by ranges and written once.

A folder of a disk is one (`LocalStore`), memory is one (`MemoryStore`), and so is an object store. Sources and datasets
are listed and read through this contract, in Python and by the threads of the native engine. `penstock.testing.store`
checks an implementation.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from penstock.errors import ArgumentError, StorageError
from penstock.storage.object_tree import Entry, ObjectFolder, Tree, group_by_folder, no_check
from penstock.storage.ranges import ObjectReader, StoredInput, mapped
from penstock.types import Buffer

NO_LIMIT = 2**63 - 1
FEW_NAMES = 16
"""Number of names up to which each is asked for; more are answered by one listing."""
ENDS_EARLY = 411
"""Code of the error for an object that ends before a range does."""


@dataclass(frozen=True, slots=True, order=True)
class StoredObject:
    """An object of a store."""

    name: str
    size: int
    """Size in bytes."""
    changed_at: int = field(default=0, compare=False)
    """Time of the last change in nanoseconds, or another number that differs once it has changed; 0 if unknown."""


@dataclass(frozen=True, slots=True)
class ByteRange:
    """Bytes `offset` to `offset` + `length` of an object."""

    offset: int
    length: int

    def __post_init__(self) -> None:
        if self.offset < 0 or self.length < 0:
            raise ArgumentError(
                f"{self.length} bytes at byte {self.offset} are not a range",
                where="range",
                fix="give an offset and a length of 0 or more",
                code=100,
            )


class Store(ABC):
    """Named objects. Any thread may call any method at any time.

    Names are relative paths with "/" between their parts; see `check_object_name`. No name may be a folder of another
    ("a" beside "a/b"), because a disk cannot hold both. Objects never change: a name is
    published once, and readers see all of an object or nothing. Failures are `StorageError`s that name the object.

    A store must have the five abstract members. The other methods are made of these, and a store overrides them where
    it has a faster way: a request that lists one folder, say.
    """

    root: Path | None = None
    """Folder of a local disk whose files are the objects, so that readers may open them; None for other stores."""
    num_readers: int = 16
    """Reads that a loader keeps under way unless it is told otherwise, each on a thread. Far stores need many."""

    @property
    @abstractmethod
    def place(self) -> str:
        """Place of the store, for messages."""

    @abstractmethod
    def list(self, prefix: str = "") -> Iterator[StoredObject]:
        """Yield the objects whose names begin with a prefix, sorted by name in the order of code points."""

    @abstractmethod
    def size(self, name: str) -> int | None:
        """Return the size of an object in bytes; None if there is no object of that name."""

    @abstractmethod
    def read_ranges(self, name: str, ranges: Sequence[ByteRange]) -> Sequence[bytes]:
        """Return the bytes of some ranges of an object, in their order; ranges may overlap.

        Raises `StorageError` if the object does not exist, or ends before a range does.
        """

    @abstractmethod
    def publish(self, name: str, data: Buffer) -> None:
        """Write an object. Raises `StorageError` with code 430, and changes nothing, if the name exists already."""

    def read(self, name: str, *, max_bytes: int = NO_LIMIT) -> bytes:
        """Return a whole object; one of more than `max_bytes` is refused."""
        size = self.size(name)
        if size is None:
            raise self.missing(name)
        if size > max_bytes:
            raise StorageError(
                f"the object has {size} bytes, more than the {max_bytes} that are read",
                where=self.where(name),
                fix="check that it is the right one",
                code=410,
            )
        return self.read_ranges(name, [ByteRange(0, size)])[0]

    def read_part(self, name: str, offset: int, length: int) -> bytes:
        """Return one range of an object."""
        return self.read_ranges(name, [ByteRange(offset, length)])[0]

    def objects(self, names: Sequence[str]) -> Sequence[StoredObject | None]:
        """Return sizes and times of objects, and None for names that do not exist. Many names cost one listing."""
        if len(names) <= FEW_NAMES:
            sizes = [self.size(name) for name in names]
            return [None if size is None else StoredObject(name, size) for name, size in zip(names, sizes, strict=True)]
        found = {item.name: item for item in self.list(_common_folder(names))}
        return [found.get(name) for name in names]

    def is_folder(self, name: str) -> bool:
        """Tell whether objects lie below a name. The store itself, whose name is empty, is a folder."""
        return not name or next(iter(self.list(f"{name}/")), None) is not None

    def names_in(self, folder: str, most: int | None = None) -> dict[str, bool]:
        """Return visible names directly in a folder, at most `most`, each with whether it is a folder.

        Names that begin with a dot are not visible.
        """
        prefix = folder_prefix(folder)
        found: dict[str, bool] = {}
        for item in self.list(prefix):
            first, slash, _ = item.name[len(prefix) :].partition("/")
            if not first.startswith("."):
                found[first] = bool(slash)
                if len(found) == most:
                    break
        return found

    def tree(self, folder: str = "") -> Tree:
        """Return the names of all visible objects below a folder, relative to it and sorted, and of the folders."""
        prefix = folder_prefix(folder)
        files = [item.name[len(prefix) :] for item in self.list(prefix)]
        files = [name for name in files if "/." not in f"/{name}"]
        folders = {name[:end] for name in files for end, letter in enumerate(name) if letter == "/"}
        return Tree(prefix, files, sorted(folders))

    def folders(self, folder: str = "", check: Callable[[Entry], None] = no_check) -> Iterator[ObjectFolder]:
        """Yield a folder and every folder below it, with the visible objects in each, in no special order.

        `check` is called for every entry, and may refuse its name.
        """
        for found in group_by_folder(self.list(folder_prefix(folder)), len(folder_prefix(folder))):
            for entry in found.others:
                check(entry)
            yield found

    def open_object(self, name: str) -> ObjectReader:
        """Open an object for reads at increasing offsets, as parsers of archives make them."""
        return StoredInput(self, name)

    def publish_file(self, name: str, path: str | os.PathLike[str]) -> None:
        """Write the content of a local file as an object. Raises `StorageError` with code 430 if the name exists."""
        with mapped(path) as data:
            self.publish(name, data)

    def where(self, name: str) -> str:
        """Return the place of an object for messages."""
        return f"{self.place}/{name}" if name else self.place

    def missing(self, name: str) -> StorageError:
        """Return the error for an object that does not exist."""
        found = StorageError(
            "there is no such object", where=self.where(name), fix="check its name and the store", code=400
        )
        found.errno = 2
        return found

    def exists_already(self, name: str) -> StorageError:
        """Return the error for a name that was published before."""
        return StorageError(
            f"'{name}' exists already", where=self.where(name), fix="choose another name: nothing is replaced", code=430
        )

    def too_short(self, name: str, wanted: ByteRange, size: int) -> StorageError:
        """Return the error for a range that an object does not have."""
        return StorageError(
            f"the object ends at byte {size}, before {wanted.length} bytes at byte {wanted.offset}",
            where=self.where(name),
            fix="restore the object from a copy",
            code=ENDS_EARLY,
        )


def check_object_name(name: str) -> None:
    """Refuse a name that is not a relative path: empty, with an empty part, `.` or `..`, or a NUL.

    >>> check_object_name("shards/jpeg-00000.shard")
    >>> check_object_name("../secret")
    Traceback (most recent call last):
    penstock.errors.ArgumentError: '../secret' cannot be the name of an object
      where: name
      fix:   use parts other than . and .. with / between them
    """
    if "\0" in name or any(part in ("", ".", "..") for part in name.split("/")):
        raise ArgumentError(
            f"{name!r} cannot be the name of an object",
            where="name",
            fix="use parts other than . and .. with / between them",
            code=100,
        )


def folder_prefix(folder: str) -> str:
    """Return what the names of all objects in a folder begin with.

    >>> folder_prefix("a/b"), folder_prefix("")
    ('a/b/', '')
    """
    return f"{folder}/" if folder else ""


def _common_folder(names: Sequence[str]) -> str:
    """Return the longest prefix of all names that ends in a slash; empty if they have none."""
    first, last = min(names), max(names)
    length = next((at for at, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), len(first))
    return first[: first.rfind("/", 0, length) + 1]
