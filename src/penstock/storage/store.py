"""The contract of a store: named objects that are read by ranges and written once.

A folder of a disk is one (`LocalStore`), memory is one (`MemoryStore`), and so is an object store. Datasets are read
through this contract, in Python and by the threads of the native engine. `penstock.testing.store` checks an
implementation.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from penstock.errors import ArgumentError, StorageError
from penstock.types import Buffer

NO_LIMIT = 2**63 - 1
ENDS_EARLY = 411
"""Code of the error for an object that ends before a range does."""


@dataclass(frozen=True, slots=True, order=True)
class StoredObject:
    """An object of a store."""

    name: str
    size: int
    """Size in bytes."""


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
    """

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


def range_reader(store: Store) -> Callable[[str, int, int], bytes]:
    """Return a function of (name, offset, length) that the threads of the native engine read a store with."""
    return lambda name, offset, length: store.read_ranges(name, [ByteRange(offset, length)])[0]
