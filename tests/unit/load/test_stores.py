"""A dataset in a store that is no folder loads through the native engine, and gives what the folder gives."""

from __future__ import annotations

import errno
import pickle
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock
from penstock import Loader, PenstockError, StorageError
from penstock.build import BuildOptions, build
from penstock.storage import ByteRange, LocalStore, MemoryStore, Store, ThrottledStore
from penstock.synth import Scenes, write
from penstock.transforms import RandomHorizontalFlip, RandomResizedCrop

COUNT = 40


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("stores")
    write(root / "photos", images=COUNT, scenes=Scenes(width=96, height=72, classes=3))
    build(root / "photos", root / "data.pen", mix="weir:fast=0.5,png=0.5", options=BuildOptions(shard_bytes=60_000))
    build(root / "photos", root / "blocks.pen", mix="pjpeg=1")
    return root


def in_memory(path: Path, prefix: str = "", kind: type[MemoryStore] = MemoryStore) -> MemoryStore:
    local = LocalStore(path)
    return kind({prefix + found.name: local.read(found.name) for found in local.list()})


def epochs(source: Any, **options: Any) -> list[tuple[int, list[Any], list[int]]]:  # noqa: ANN401  # a Loader's
    with Loader(source, batch_size=8, seed=1, threads=2, **options) as loader:
        return [
            (epoch, np.asarray(batch["image"]).tolist(), batch["id"].tolist()) for epoch in range(2) for batch in loader
        ]


@pytest.mark.parametrize("cache", ["rolling", "pinned", "none", "system"])
@pytest.mark.parametrize("name", ["data.pen", "blocks.pen"])
def test_a_dataset_in_memory_loads_as_its_folder(folder: Path, cache: str, name: str) -> None:
    options = {"cache": cache, "memory": "96MiB", "transform": [RandomResizedCrop(32), RandomHorizontalFlip()]}
    index = penstock.open(store=in_memory(folder / name))

    assert epochs(index, **options) == epochs(folder / name, **options)


def test_the_engine_says_that_bytes_come_from_a_store(folder: Path) -> None:
    index = penstock.open("sets/one", store=in_memory(folder / "data.pen", "sets/one/"))

    with Loader(index, batch_size=8) as loader:
        list(loader)
        stats = loader.stats()

    assert stats["io"]["engine"] == "store"
    assert stats["bytes_read"] > 0


def test_a_store_behind_an_index_survives_pickling(folder: Path) -> None:
    index = pickle.loads(pickle.dumps(penstock.open(store=in_memory(folder / "data.pen")).subset([3, 1])))

    assert np.array_equal(index[0]["image"], penstock.open(folder / "data.pen")[3]["image"])


def test_a_store_that_is_throttled_loads_the_same(folder: Path) -> None:
    store = ThrottledStore(in_memory(folder / "data.pen"), bytes_per_second=1e9)

    assert epochs(penstock.open(store=store)) == epochs(folder / "data.pen")


class Flaky(MemoryStore):
    """Fails the first read of every shard with an error that may pass."""

    def __init__(self, objects: Mapping[str, bytes]) -> None:
        super().__init__(objects)
        self.failed: set[str] = set()

    def read_ranges(self, name: str, ranges: Sequence[ByteRange]) -> Sequence[bytes]:
        if name.endswith(".shard") and name not in self.failed:
            self.failed.add(name)
            error = StorageError("the connection was reset", where=name, fix="try again", code=410)
            error.errno = errno.ETIMEDOUT
            raise error
        return super().read_ranges(name, ranges)


def test_reads_that_fail_for_a_moment_are_tried_again(folder: Path) -> None:
    index = penstock.open(store=in_memory(folder / "data.pen", kind=Flaky))

    with Loader(index, batch_size=8, threads=2) as loader:
        assert sum(len(batch["id"]) for batch in loader) == COUNT
        assert loader.stats()["io"]["num_retries"] > 0


class Gone(MemoryStore):
    """Has lost its shards since it was opened."""

    def read_ranges(self, name: str, ranges: Sequence[ByteRange]) -> Sequence[bytes]:
        if name.endswith(".shard"):
            raise self.missing(name)
        return super().read_ranges(name, ranges)


class Wrong(MemoryStore):
    """Has a mistake in its code."""

    def read_ranges(self, name: str, ranges: Sequence[ByteRange]) -> Sequence[bytes]:
        if name.endswith(".shard"):
            raise KeyError(name)
        return super().read_ranges(name, ranges)


class Short(MemoryStore):
    """Gives fewer bytes than asked for."""

    def read_ranges(self, name: str, ranges: Sequence[ByteRange]) -> Sequence[bytes]:
        found = super().read_ranges(name, ranges)
        return [data[:-1] for data in found] if name.endswith(".shard") else found


class Flipped(MemoryStore):
    """Changes a byte on the way, from the second read of a shard on."""

    num_reads = 0

    def read_ranges(self, name: str, ranges: Sequence[ByteRange]) -> Sequence[bytes]:
        found = super().read_ranges(name, ranges)
        if not name.endswith(".shard"):
            return found
        self.num_reads += 1
        return [bytes(byte ^ (self.num_reads > 20) for byte in data) for data in found]


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        (Gone, "there is no such object"),
        (Wrong, "the store failed: KeyError"),
        (Short, "the store gave"),
        (Flipped, "does not match its checksum"),
    ],
)
def test_what_is_wrong_with_a_store_is_told_and_nothing_hangs(folder: Path, kind: type[MemoryStore], told: str) -> None:
    index = penstock.open(store=in_memory(folder / "data.pen", kind=kind))

    with Loader(index, batch_size=8, cache="none", verify="never") as loader, pytest.raises(PenstockError, match=told):
        _ = [list(loader) for _ in range(20)]


@pytest.mark.parametrize(
    ("name", "told"), [("one", "there is no such object"), ("one.pen", "there is no dataset here")]
)
def test_a_place_with_nothing_in_it_is_named(name: str, told: str) -> None:
    with pytest.raises(PenstockError, match=told) as caught:
        penstock.open(f"sets/{name}", store=MemoryStore({"sets/two/manifest.json": b""}))

    assert caught.value.where == f"memory/sets/{name}"


def test_closing_a_loader_ends_reads_of_its_store(folder: Path) -> None:
    store: Store = ThrottledStore(in_memory(folder / "data.pen"), reads_per_second=200)
    loader = Loader(penstock.open(store=store), batch_size=8)
    next(iter(loader))

    loader.close()

    with pytest.raises(PenstockError, match="closed"):
        list(loader)


class Crowded(MemoryStore):
    """Notes how many of its reads are under way at a time; each waits for company for a moment."""

    def __init__(self, objects: Mapping[str, bytes]) -> None:
        super().__init__(objects)
        self.num_readers = 5
        self.condition = threading.Condition()
        self.num_inside = self.most_inside = 0

    def read_ranges(self, name: str, ranges: Sequence[ByteRange]) -> Sequence[bytes]:
        if not name.endswith(".shard"):
            return super().read_ranges(name, ranges)
        with self.condition:
            self.num_inside += 1
            self.most_inside = max(self.most_inside, self.num_inside)
            self.condition.notify_all()
            self.condition.wait_for(lambda: self.most_inside > self.num_readers, timeout=0.05)
            self.num_inside -= 1
        return super().read_ranges(name, ranges)


@pytest.mark.parametrize(("readers", "expected"), [(None, 5), (1, 1), (3, 3)])
def test_as_many_reads_are_under_way_as_the_store_or_the_user_says(
    folder: Path, readers: int | None, expected: int
) -> None:
    store = in_memory(folder / "data.pen", kind=Crowded)
    assert isinstance(store, Crowded)

    with Loader(penstock.open(store=store), batch_size=8, cache="none", readers=readers) as loader:
        list(loader)

    assert store.most_inside == expected


def test_a_number_of_readers_must_be_positive(folder: Path) -> None:
    with pytest.raises(penstock.ArgumentError, match="readers"):
        Loader(folder / "data.pen", readers=0)
