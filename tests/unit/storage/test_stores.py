"""Every store of ours passes the suite that is shipped, and the suite finds stores that break the contract."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from penstock.errors import StorageError
from penstock.storage import ByteRange, LocalStore, MemoryStore, Store, StoredObject, ThrottledStore
from penstock.testing.store import CHECKS, MakeStore
from penstock.types import Buffer

STORES = ("local", "memory", "throttled")


@pytest.fixture
def makers(tmp_path: Path) -> dict[str, MakeStore]:
    """Functions that make an empty store of each kind."""
    numbers = itertools.count()
    return {
        "local": lambda: LocalStore(tmp_path / str(next(numbers))),
        "memory": MemoryStore,
        "throttled": lambda: ThrottledStore(MemoryStore(), bytes_per_second=1e9, reads_per_second=1e6),
    }


@pytest.mark.parametrize("kind", STORES)
@pytest.mark.parametrize("check", CHECKS)
def test_a_store_keeps_the_contract(
    makers: dict[str, MakeStore], kind: str, check: Callable[[MakeStore], None]
) -> None:
    check(makers[kind])


class Replacing(MemoryStore):
    def publish(self, name: str, data: Buffer) -> None:
        self._objects.pop(name, None)
        super().publish(name, data)


class Short(MemoryStore):
    def read_ranges(self, name: str, ranges: Sequence[ByteRange]) -> Sequence[bytes]:
        data = self.read(name)
        return [data[wanted.offset :][: wanted.length] for wanted in ranges]

    def read(self, name: str, *, max_bytes: int = 2**63 - 1) -> bytes:
        return self._objects[name]


class Unsorted(MemoryStore):
    def list(self, prefix: str = "") -> Iterator[StoredObject]:
        return reversed(list(super().list(prefix)))


@pytest.mark.parametrize("broken", [Replacing, Short, Unsorted])
def test_the_suite_finds_a_store_that_breaks_the_contract(broken: type[Store]) -> None:
    def fails(check: Callable[[MakeStore], None]) -> bool:
        try:
            check(broken)
        except (AssertionError, StorageError, KeyError):
            return True
        return False

    assert any(map(fails, CHECKS))


def test_a_local_store_has_no_pipes_and_no_work_files(tmp_path: Path) -> None:
    import os

    store = LocalStore(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    store.publish("object", b"x")
    (tmp_path / ".object.0.penstock-part").write_bytes(b"left by a killed process")

    assert [found.name for found in store.list()] == ["object"]
    assert store.size("pipe") is None
    with pytest.raises(StorageError):
        store.read("pipe")


def test_a_throttled_store_takes_the_time_of_its_rate() -> None:
    import time

    store = ThrottledStore(MemoryStore({"object": bytes(200_000)}), bytes_per_second=1e6)
    begin = time.monotonic()
    for _ in range(2):
        store.read("object")

    assert time.monotonic() - begin > 0.1
