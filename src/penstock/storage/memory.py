"""A store in memory: for tests, and the model of every other store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from penstock.storage.store import ByteRange, Store, StoredObject, check_object_name
from penstock.types import Buffer


class MemoryStore(Store):
    """Objects as `bytes` in a dict.

    >>> store = MemoryStore({"greeting": b"hello"})
    >>> store.publish("a/b", b"abc")
    >>> [found.name for found in store.list()], store.size("greeting"), store.size("nothing")
    (['a/b', 'greeting'], 5, None)
    >>> store.read_ranges("greeting", [ByteRange(1, 3), ByteRange(0, 1)])
    [b'ell', b'h']
    """

    num_readers = 2  # a read takes no time to wait for

    def __init__(self, objects: Mapping[str, bytes] | None = None) -> None:
        self._objects: dict[str, bytes] = {}
        for name, data in (objects or {}).items():
            self.publish(name, data)

    @property
    def place(self) -> str:
        """The word "memory"."""
        return "memory"

    def list(self, prefix: str = "") -> Iterator[StoredObject]:
        """Yield the objects whose names begin with a prefix."""
        for name in sorted(self._objects.copy()):
            if name.startswith(prefix):
                yield StoredObject(name, len(self._objects[name]))

    def size(self, name: str) -> int | None:
        """Return the size of an object; None if it does not exist."""
        check_object_name(name)
        found = self._objects.get(name)
        return None if found is None else len(found)

    def read_ranges(self, name: str, ranges: Sequence[ByteRange]) -> Sequence[bytes]:
        """Return the bytes of some ranges."""
        check_object_name(name)
        data = self._objects.get(name)
        if data is None:
            raise self.missing(name)
        for wanted in ranges:
            if wanted.offset + wanted.length > len(data):
                raise self.too_short(name, wanted, len(data))
        return [data[wanted.offset : wanted.offset + wanted.length] for wanted in ranges]

    def publish(self, name: str, data: Buffer) -> None:
        """Write an object once."""
        check_object_name(name)
        if self._objects.setdefault(name, own := bytes(data)) is not own:
            raise self.exists_already(name)
