"""The first batches of an epoch may be read during the epoch before: nothing else changes."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import penstock
from penstock import Loader, plan_loader
from penstock.build import build
from penstock.order.caches import OWN_CACHES
from penstock.storage import ByteRange, LocalStore, MemoryStore
from penstock.transforms import RandomResizedCrop
from tests.unit.load.counted import make_dataset, run_epochs

COUNT = 60
PATIENCE_SECONDS = 60.0
Seen = tuple[int, tuple[int, ...], bytes]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_dataset(tmp_path_factory.mktemp("ahead"), COUNT, 2)


@pytest.fixture(scope="module")
def blocks(dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ahead") / "blocks.pen"
    build(dataset.parent / "images", path, mix="pjpeg=1")
    return path


def planned(path: Path, cache: str, part: float, **options: Any) -> penstock.LoaderPlan:  # noqa: ANN401
    plan = plan_loader(path, transform=[RandomResizedCrop(8)], threads=2, cache=cache, memory=0, **options)
    if cache not in OWN_CACHES:
        return plan
    return plan.with_cache_bytes(int(plan.samples.sizes.sum() * part / plan.options.ordering.world_size))


def seen(loader: Loader, batches: int | None = None) -> list[Seen]:
    """Load an epoch, or some of its batches."""
    found: list[Seen] = []
    for batch in loader:
        found.append((loader.epoch, tuple(batch["id"].tolist()), batch["image"].tobytes()))
        if len(found) == batches:
            break
    return found


def follow(loader: Loader, steps: Sequence[tuple[str, int]]) -> list[list[Seen]]:
    """Do what a training script may do: whole epochs, breaks, jumps, states."""
    found = [seen(loader)]
    for action, number in steps:
        if action == "break":
            found.append(seen(loader, 1 + number % len(loader)))
        elif action == "jump":
            loader.set_epoch(number)
        elif action == "count":  # all batches, and not asked for the end
            found.append(seen(loader, len(loader)))
        elif action == "resume":
            found.append(seen(loader, 1 + number % len(loader)))
            loader.load_state_dict(loader.state_dict())
        found.append(seen(loader))
    return found


STEPS = st.tuples(st.sampled_from(["go on", "break", "jump", "count", "resume"]), st.integers(0, 12))


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    cache=st.sampled_from(["rolling", "pinned", "liquid", "none", "system"]),
    part=st.sampled_from([0.1, 0.5, 1.0]),
    batch_size=st.sampled_from([1, 4, 7, 16, 100]),
    world_size=st.sampled_from([1, 2, 3]),
    window=st.sampled_from([None, 4]),
    seed=st.integers(0, 2**32),
    steps=st.lists(STEPS, min_size=1, max_size=4),
)
def test_batches_are_the_same_whatever_the_script_does(
    dataset: Path,
    steps: list[tuple[str, int]],
    cache: str,
    part: float,
    **options: Any,  # noqa: ANN401
) -> None:
    options["rank"] = options["seed"] % options["world_size"]
    options["window"] = None if cache == "liquid" else options["window"]
    found = []
    for overlap_epochs in (False, True):
        with Loader(planned(dataset, cache, part, overlap_epochs=overlap_epochs, **options)) as loader:
            found.append(follow(loader, steps))
            assert loader.stats().peak_memory_bytes <= max(
                loader.plan.resources.memory_bytes, loader.plan.memory.working_bytes
            )

    assert found[0] == found[1]


@pytest.mark.parametrize("batch_size", [4, 16, 100])
@pytest.mark.parametrize("cache", ["rolling", "pinned", "liquid", "none"])
@pytest.mark.parametrize("window", [None, 4])
def test_every_epoch_reads_and_finds_what_is_predicted(
    dataset: Path, cache: str, batch_size: int, window: int | None
) -> None:
    if cache == "liquid" and window is not None:
        window = None  # it has an order of its own
    plan = planned(dataset, cache, 0.5, batch_size=batch_size, window=window, overlap_epochs=True)
    predicted = plan.predict(epochs=5)
    with Loader(plan) as loader:
        found = run_epochs(loader, 5)
        assert loader.stats().discarded_bytes == 0

    assert [list(epoch.hits) for epoch in predicted] == [epoch.hits for epoch in found]
    assert [epoch.bytes_read for epoch in predicted] == [epoch.bytes_read for epoch in found]


class Watched(MemoryStore):
    """Tells when a byte of a shard is read a second time."""

    def __init__(self, objects: Mapping[str, bytes]) -> None:
        super().__init__(objects)
        self.reads: set[tuple[str, int]] = set()
        self.again = threading.Event()

    def read_ranges(self, name: str, ranges: Sequence[ByteRange]) -> Sequence[bytes]:
        for wanted in ranges:
            if name.endswith(".shard") and (name, wanted.offset) in self.reads:
                self.again.set()
            self.reads.add((name, wanted.offset))
        return super().read_ranges(name, ranges)


def watched(path: Path) -> Watched:
    local = LocalStore(path)
    store = Watched({found.name: local.read(found.name) for found in local.list()})
    store.reads.clear()
    return store


def loads(store: Watched, **options: Any) -> Loader:  # noqa: ANN401
    return Loader(penstock.open(store=store), batch_size=1, threads=2, cache="none", memory="64MiB", **options)


def test_the_next_epoch_is_read_before_this_one_has_ended(dataset: Path) -> None:
    store = watched(dataset)
    with loads(store, overlap_epochs=True) as loader:
        batches = iter(loader)
        for _ in range(COUNT):
            next(batches)

        assert store.again.wait(PATIENCE_SECONDS)
        assert loader.epoch == 0
        assert loader.state_dict()["epoch"] == 1
        with pytest.raises(StopIteration):
            next(batches)


@pytest.mark.parametrize(("overlap_epochs", "expected"), [(None, [False, True, True]), (False, [False] * 3)])
def test_by_default_an_epoch_is_read_ahead_from_the_second_on(
    dataset: Path, overlap_epochs: bool | None, expected: list[bool]
) -> None:
    with Loader(planned(dataset, "none", 0, batch_size=8, overlap_epochs=overlap_epochs)) as loader:
        found = []
        for _ in range(3):
            seen(loader)
            found.append(loader.runner.ahead.found is not None)

    assert found == expected


def test_what_was_read_for_an_epoch_that_does_not_come_is_counted(dataset: Path) -> None:
    with Loader(planned(dataset, "none", 0, batch_size=8, overlap_epochs=True)) as loader:
        seen(loader)
        ahead = loader.runner.ahead.found
        assert ahead is not None
        ahead.delivery.settle()
        before = loader.stats()
        loader.set_epoch(7)
        after = loader.stats()

    assert before.discarded_bytes == 0
    assert after.discarded_bytes == after.bytes_read - before.bytes_read > 0
    assert 0 < after.discarded_bytes < before.bytes_read


def test_a_cache_survives_an_epoch_that_does_not_come(dataset: Path) -> None:
    hits = []
    for overlap_epochs in (False, True):
        with Loader(planned(dataset, "pinned", 0.5, batch_size=8, overlap_epochs=overlap_epochs)) as loader:
            seen(loader)
            loader.set_epoch(7)
            seen(loader)
            hits.append(list(loader.runner.progress.hits))

    assert hits[0] == hits[1]
    assert sum(hits[1]) > 0


@pytest.mark.parametrize("overlap_epochs", [False, True])
def test_a_cache_survives_a_loop_that_counts_its_batches(dataset: Path, overlap_epochs: bool) -> None:
    plan = planned(dataset, "rolling", 0.5, batch_size=8, overlap_epochs=overlap_epochs)
    with Loader(plan) as loader:
        for _ in zip(range(len(loader)), loader, strict=False):
            pass
        seen(loader)

        assert tuple(loader.runner.progress.hits) == plan.predict(epochs=2)[1].hits


@pytest.mark.parametrize("cache", ["rolling", "none"])
def test_a_fidelity_that_changes_is_that_of_its_epoch(blocks: Path, cache: str) -> None:
    found = []
    for overlap_epochs in (False, True):
        plan = plan_loader(
            blocks,
            batch_size=8,
            transform=[RandomResizedCrop(8)],
            threads=2,
            cache=cache,
            memory="64MiB",
            fidelity=[(0, 2), (2, 4)],
            overlap_epochs=overlap_epochs,
        )
        with Loader(plan) as loader:
            epochs = [seen(loader) for _ in range(4)]
            loader.set_fidelity(1)
            found.append([*epochs, seen(loader), seen(loader)])

    assert found[0] == found[1]


def halved(image: np.ndarray[Any, np.dtype[np.uint8]]) -> np.ndarray[Any, np.dtype[np.uint8]]:
    return image // 2


@pytest.mark.parametrize("python_workers", [0, 1])
def test_functions_in_python_get_the_same_epochs(dataset: Path, python_workers: int) -> None:
    found = []
    for overlap_epochs in (False, True):
        with Loader(
            dataset,
            batch_size=8,
            transform=[RandomResizedCrop(8), halved],
            python_workers=python_workers,
            cache="none",
            overlap_epochs=overlap_epochs,
        ) as loader:
            found.append([seen(loader) for _ in range(3)])

    assert found[0] == found[1]
