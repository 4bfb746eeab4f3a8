"""Store that reads another one at a limited rate, to emulate a network or a disk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from penstock import _native
from penstock.storage.store import ByteRange, Store, StoredObject
from penstock.types import Buffer


class ThrottledStore(Store):
    """Store that reads another one at a limited rate, shared by all threads.

    Every range is one request. 0 leaves bytes or requests unlimited.
    """

    def __init__(self, store: Store, *, bytes_per_second: float = 0.0, reads_per_second: float = 0.0) -> None:
        self._store = store
        self.num_readers = max(store.num_readers, type(self).num_readers)  # reads wait, as those of a far store do
        self._limit = _native.ReadLimit(bytes_per_second, reads_per_second)

    @property
    def place(self) -> str:
        """The place of the store behind it."""
        return self._store.place

    def list(self, prefix: str = "") -> Iterator[StoredObject]:
        """Yield the objects of the store behind it."""
        return self._store.list(prefix)

    def size(self, name: str) -> int | None:
        """Return the size of an object; None if it does not exist."""
        return self._store.size(name)

    def read_ranges(self, name: str, ranges: Sequence[ByteRange]) -> Sequence[bytes]:
        """Return the bytes of some ranges, after as long as they take at the limited rate."""
        for wanted in ranges:
            self._limit.wait(wanted.length)
        return self._store.read_ranges(name, ranges)

    def publish(self, name: str, data: Buffer) -> None:
        """Write an object once, at full speed."""
        self._store.publish(name, data)
