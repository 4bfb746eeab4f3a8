"""The suite every store passes, ours and a third party's.

import pytest
from penstock.testing.store import CHECKS

@pytest.mark.parametrize("check", CHECKS)
def test_my_store(check):
    check(make_my_empty_store)

Each check calls the function that it is given for an empty store of its own.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from penstock.errors import ArgumentError, StorageError
from penstock.storage.object_tree import status_in
from penstock.storage.store import ByteRange, Store, StoredObject

NAMES = ("a.b", "a/b", "a/c.d/e", "b", "ä/ö", "shards/jpeg-00000.shard", "with space", "🙂")
BAD_NAMES = ("", "/a", "a/", "a//b", ".", "..", "../a", "a/../b", "a/./b", "a\0b")
STEPS = 200

MakeStore = Callable[[], Store]


def check_an_object_is_read_as_it_was_published(make: MakeStore) -> None:
    """Check that objects of every size are read back whole, and that an empty object exists."""
    store = make()
    for number, name in enumerate(NAMES):
        data = random.Random(number).randbytes(number * 1000)
        store.publish(name, data)
        assert store.size(name) == len(data), name
        assert store.read(name) == data, name


def check_ranges_come_in_the_order_asked_for(make: MakeStore) -> None:
    """Check that ranges may overlap, repeat, touch the end and be empty."""
    store = make()
    data = bytes(range(256)) * 4
    store.publish("object", data)
    ranges = [ByteRange(1000, 24), ByteRange(0, 10), ByteRange(5, 10), ByteRange(0, 0), ByteRange(1024, 0)]
    assert list(store.read_ranges("object", ranges)) == [data[wanted.offset :][: wanted.length] for wanted in ranges]
    assert list(store.read_ranges("object", [])) == []


def check_a_range_beyond_the_end_is_refused(make: MakeStore) -> None:
    """Check that a range beyond the end is an error, never a shorter answer."""
    store = make()
    store.publish("object", b"0123456789")
    for wanted in (ByteRange(0, 11), ByteRange(9, 2), ByteRange(10, 1), ByteRange(1 << 40, 1)):
        _raises(StorageError, lambda wanted=wanted: store.read_ranges("object", [ByteRange(0, 1), wanted]))  # type: ignore[misc]


def check_a_missing_object_has_no_size_and_is_not_read(make: MakeStore) -> None:
    """Check that `size` tells whether an object exists, and that a folder is not an object."""
    store = make()
    store.publish("folder/object", b"x")
    for name in ("nothing", "folder", "folder/object/below", "Folder/object"):
        assert store.size(name) is None, name
        _raises(StorageError, lambda name=name: store.read_ranges(name, [ByteRange(0, 1)]))  # type: ignore[misc]
        _raises(StorageError, lambda name=name: store.read_ranges(name, []))  # type: ignore[misc]
        _raises(StorageError, lambda name=name: store.read(name))  # type: ignore[misc]


def check_a_name_is_published_once(make: MakeStore) -> None:
    """Check that a second publication fails with code 430, and that readers still see the first."""
    store = make()
    store.publish("object", b"first")
    refused = _raises(StorageError, lambda: store.publish("object", b"second"))
    assert getattr(refused, "code", 0) == 430, refused
    assert store.read("object") == b"first"
    assert [found.name for found in store.list()] == ["object"]


def check_a_listing_is_sorted_and_takes_a_prefix(make: MakeStore) -> None:
    """Check that names are listed by code point with their sizes, and that a prefix may end inside a part."""
    store = make()
    assert list(store.list()) == []
    for number, name in enumerate(NAMES):
        store.publish(name, b"x" * number)
    every = [StoredObject(name, number) for number, name in enumerate(NAMES)]
    for prefix in ("", "a", "a/", "a/b", "shards/", "nothing/"):
        assert list(store.list(prefix)) == sorted(found for found in every if found.name.startswith(prefix)), prefix


def check_folders_are_parts_of_names(make: MakeStore) -> None:
    """Check that folders, the names in them and whole trees follow from the names, without hidden ones."""
    store = make()
    for name in ("top.txt", "a/b/1", "a/b.c", "a/b/2", "z/1"):
        store.publish(name, name.encode())
    assert store.is_folder("") and store.is_folder("a") and store.is_folder("a/b")
    assert not store.is_folder("top.txt") and not store.is_folder("nothing")
    assert store.names_in("a") == {"b": True, "b.c": False}
    assert set(store.names_in("")) == {"a", "top.txt", "z"}
    assert len(store.names_in("", 2)) == 2
    assert (store.tree("a").files, store.tree("a").folders) == (["b.c", "b/1", "b/2"], ["b"])
    assert store.tree().files == ["a/b.c", "a/b/1", "a/b/2", "top.txt", "z/1"]
    found = {folder.prefix: sorted((entry.name, status_in(entry).st_size) for entry in folder.others)
             for folder in store.folders("a")}  # fmt: skip
    assert found == {"": [("b.c", 5)], "b/": [("1", 5), ("2", 5)]}


def check_many_objects_are_asked_for_at_once(make: MakeStore) -> None:
    """Check that `objects` gives every size, and None for names that do not exist, for few names and for many."""
    store = make()
    for number in range(40):
        store.publish(f"a/{number}", b"x" * number)
    for count in (3, 40):
        names = [f"a/{number}" for number in range(count)]
        sizes = [None if item is None else item.size for item in store.objects([*names, "a/nothing"])]
        assert sizes == [*range(count), None]


def check_an_object_is_read_by_position(make: MakeStore) -> None:
    """Check that an open object gives any range, and fewer bytes at its end."""
    store = make()
    data = random.Random(0).randbytes(600_000)
    store.publish("a/object", data)
    with store.open_object("a/object") as file:
        assert file.size == len(data)
        for offset, length in ((0, 10), (5, 3), (300_000, 299_999), (100, 400_000), (599_990, 100), (700_000, 5)):
            assert file.read_at(offset, length) == data[offset : offset + length]
    _raises(StorageError, lambda: store.open_object("nothing"))


def check_names_that_are_no_relative_paths_are_refused(make: MakeStore) -> None:
    """Check that no name leads out of the store."""
    store = make()
    for name in BAD_NAMES:
        _raises(ArgumentError, lambda name=name: store.publish(name, b"x"))  # type: ignore[misc]
        _raises(ArgumentError, lambda name=name: store.size(name))  # type: ignore[misc]
        _raises(ArgumentError, lambda name=name: store.read_ranges(name, [ByteRange(0, 0)]))  # type: ignore[misc]
    assert list(store.list()) == []


def check_a_large_object_is_refused_where_a_limit_is_given(make: MakeStore) -> None:
    """Check that `max_bytes` applies before anything is read."""
    store = make()
    store.publish("object", b"0123456789")
    assert store.read("object", max_bytes=10) == b"0123456789"
    _raises(StorageError, lambda: store.read("object", max_bytes=9))


def check_any_sequence_of_calls_matches_a_dict(make: MakeStore) -> None:
    """Check that a few hundred random calls give the results of a dict of bytes."""
    store, model = make(), dict[str, bytes]()
    rng = random.Random(0)
    for _ in range(STEPS):
        name = rng.choice(NAMES)
        action = rng.choice(("publish", "read", "ranges", "size", "list"))
        if action == "publish" and name not in model:
            model[name] = rng.randbytes(rng.randrange(5000))
            store.publish(name, model[name])
        elif action == "publish":
            _raises(StorageError, lambda name=name: store.publish(name, b""))  # type: ignore[misc]
        elif action == "size":
            assert store.size(name) == (len(model[name]) if name in model else None)
        elif action == "list":
            assert list(store.list()) == [StoredObject(key, len(model[key])) for key in sorted(model)]
        elif name not in model:
            _raises(StorageError, lambda name=name: store.read(name))  # type: ignore[misc]
        elif action == "read":
            assert store.read(name) == model[name]
        else:
            ranges = [_range(rng, len(model[name])) for _ in range(rng.randrange(4))]
            expected = [model[name][wanted.offset :][: wanted.length] for wanted in ranges]
            assert list(store.read_ranges(name, ranges)) == expected


def _range(rng: random.Random, size: int) -> ByteRange:
    offset = rng.randint(0, size)
    return ByteRange(offset, rng.randint(0, size - offset))


def _raises(kind: type[Exception], call: Callable[[], object]) -> Exception:
    try:
        call()
    except kind as error:
        return error
    raise AssertionError(f"the call did not raise {kind.__name__}")


CHECKS: tuple[Callable[[MakeStore], None], ...] = (
    check_an_object_is_read_as_it_was_published,
    check_ranges_come_in_the_order_asked_for,
    check_a_range_beyond_the_end_is_refused,
    check_a_missing_object_has_no_size_and_is_not_read,
    check_a_name_is_published_once,
    check_a_listing_is_sorted_and_takes_a_prefix,
    check_folders_are_parts_of_names,
    check_many_objects_are_asked_for_at_once,
    check_an_object_is_read_by_position,
    check_names_that_are_no_relative_paths_are_refused,
    check_a_large_object_is_refused_where_a_limit_is_given,
    check_any_sequence_of_calls_matches_a_dict,
)
"""All of them, in the order in which they explain the contract."""
