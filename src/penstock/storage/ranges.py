"""Positioned reads of a file or an object, for parsers of containers (tar, manifests)."""

from __future__ import annotations

import mmap
import os
import stat
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Protocol, TypeVar

from penstock.errors import StorageError
from penstock.storage.refusal import refused
from penstock.types import Buffer

READ_AHEAD_BYTES = 1 << 18
"""Bytes that one request of a store brings at least. Headers of a tar are then a few to a request."""


R = TypeVar("R", bound="ObjectReader")


class ObjectReader(ABC):
    """File or object that is open for positioned reads."""

    path: str
    """Path or place, for messages."""
    size: int
    """Size in bytes when it was opened."""

    @abstractmethod
    def read_at(self, offset: int, length: int) -> bytes:
        """Read the bytes of a range; fewer only at the end."""

    @abstractmethod
    def close(self) -> None:
        """Release what the reader holds; it cannot be used afterwards."""

    def __enter__(self: R) -> R:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Ranges(Protocol):
    """Store, as far as a reader of one object needs it."""

    def size(self, name: str) -> int | None:
        """Return the size of an object; None if it does not exist."""

    def read_part(self, name: str, offset: int, length: int) -> bytes:
        """Return one range of an object."""

    def where(self, name: str) -> str:
        """Return the place of an object for messages."""

    def missing(self, name: str) -> StorageError:
        """Return the error for an object that does not exist."""


class StoredInput(ObjectReader):
    """Object of a store. A request brings some more bytes than were asked for, which serve the next reads.

    >>> from penstock.storage import MemoryStore
    >>> with StoredInput(MemoryStore({"greeting": b"hello"}), "greeting") as file:
    ...     file.size, file.read_at(1, 3), file.read_at(4, 100)
    (5, b'ell', b'o')
    """

    def __init__(self, store: Ranges, name: str) -> None:
        size = store.size(name)
        if size is None:
            raise store.missing(name)
        self.path = store.where(name)
        self.size = size
        self._store = store
        self._name = name
        self._begin = 0
        self._ahead = b""

    def read_at(self, offset: int, length: int) -> bytes:
        """Read the bytes of a range; fewer only at the end of the object."""
        length = max(0, min(length, self.size - offset))
        if offset < self._begin or offset + length > self._begin + len(self._ahead):
            more = min(max(length, READ_AHEAD_BYTES), self.size - offset)
            self._ahead = self._store.read_part(self._name, offset, more) if length else b""
            self._begin = offset
        return self._ahead[offset - self._begin :][:length]

    def close(self) -> None:
        """Forget the bytes that were read ahead."""
        self._ahead = b""


@contextmanager
def mapped(path: str | os.PathLike[str]) -> Iterator[Buffer]:
    """Map a local file into memory inside the block."""
    with InputFile(path) as file:
        if file.size == 0:
            yield b""
            return
        with mmap.mmap(file.descriptor, file.size, prot=mmap.PROT_READ) as content:
            view = memoryview(content)
            try:
                yield view
            finally:
                view.release()  # otherwise the file could not be unmapped


class InputFile(ObjectReader):
    """Regular file that is open for positioned reads. Failures are `StorageError`s that name the path.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "greeting")
    ...     _ = path.write_bytes(b"hello")
    ...     with InputFile(path) as file:
    ...         file.size, file.read_at(1, 3), file.read_at(4, 100)
    (5, b'ell', b'o')
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        try:
            # Not blocking: a pipe among the files must be refused below, not waited for.
            self._descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError as error:
            raise refused(error, "open the file") from error
        status = os.fstat(self._descriptor)
        self.size = status.st_size
        if not stat.S_ISREG(status.st_mode):
            self.close()
            raise StorageError(
                f"'{self.path}' is not a regular file", where=self.path, fix="name a file of data", code=400
            )

    @property
    def descriptor(self) -> int:
        """Descriptor of the open file."""
        return self._descriptor

    def read_at(self, offset: int, length: int) -> bytes:
        """Read the bytes of a range; fewer only at the end of the file."""
        parts: list[bytes] = []
        while length > 0:
            try:
                part = os.pread(self._descriptor, min(length, 1 << 30), offset)
            except OSError as error:
                raise refused(error, f"read {length} bytes at byte {offset}", path=self.path) from error
            if not part:
                break
            parts.append(part)
            offset += len(part)
            length -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def close(self) -> None:
        """Close the file; it cannot be read afterwards."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
