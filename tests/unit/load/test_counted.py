"""Counted, not predicted: hits of every batch and bytes read of real loaders are what the schedule says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from penstock import Loader
from penstock.errors import ArgumentError
from penstock.order.caches import CACHES
from tests.unit.load.counted import (
    BATCH,
    CHAIN,
    Epoch,
    aligned_bytes,
    make_dataset,
    memory_for,
    most_read_bytes,
    open_like,
    run_epochs,
)

COUNT = 960
EPOCHS = 3


@pytest.fixture(scope="session")
def datasets(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Path]:
    """Datasets of one, two and three formats, made when first asked for."""
    made: dict[int, Path] = {}

    def dataset(num_formats: int) -> Path:
        if num_formats not in made:
            made[num_formats] = make_dataset(tmp_path_factory.mktemp("counted"), COUNT, num_formats)
        return made[num_formats]

    return dataset


def opened(path: Path, cache: str, memory: int, rank: int = 0, world_size: int = 1) -> Loader:
    return Loader(
        path,
        batch_size=BATCH,
        transform=CHAIN,
        threads=2,
        cache=cache,
        memory=memory,
        rank=rank,
        world_size=world_size,
    )


def check_run(loader: Loader, path: Path, epochs: list[Epoch]) -> None:
    """Batch by batch and byte by byte as the cache said before."""
    cache = open_like(loader)
    for number, epoch in enumerate(epochs):
        cache_plan = cache.epoch(number)
        assert np.array_equal(np.concatenate(epoch.ids), cache_plan.ids)
        assert epoch.hits == cache_plan.hits_per_batch.tolist()
        assert epoch.bytes_read == aligned_bytes(path, cache_plan, most_read_bytes(loader))
    assert loader.stats()["num_unkept"] == 0
    assert loader.stats()["refill_bytes"] == 0


@pytest.mark.parametrize("cache", CACHES)
def test_bytes_read_are_the_pages_of_the_misses(datasets: Callable[[int], Path], cache: str) -> None:
    path = datasets(2)
    with opened(path, cache, memory_for(path, 0.3, cache=cache)) as loader:
        epochs = run_epochs(loader, EPOCHS)
        check_run(loader, path, epochs)
    assert sorted(np.concatenate(epochs[2].ids).tolist()) == list(range(COUNT))


@pytest.mark.long
@pytest.mark.parametrize("world_size", [1, 2, 8])
@pytest.mark.parametrize("part", [0.1, 0.3, 0.7, 1.0])
@pytest.mark.parametrize("num_formats", [1, 2, 3])
@pytest.mark.parametrize("cache", ["rolling", "liquid", "pinned"])
def test_hits_per_batch_are_constant(
    datasets: Callable[[int], Path], cache: str, num_formats: int, part: float, world_size: int
) -> None:
    path = datasets(num_formats)
    memory = memory_for(path, part, world_size, cache)
    for rank in range(world_size):
        with opened(path, cache, memory, rank, world_size) as loader:
            epochs = run_epochs(loader, EPOCHS)
            check_run(loader, path, epochs)
        for epoch in epochs[1:]:
            if cache == "pinned":
                assert sum(epoch.hits) == sum(epochs[1].hits)
            else:
                assert np.ptp(epoch.hits[:-1]) <= (2 if num_formats == 1 else 4)  # ± 1, ± 2
            assert sum(epoch.hits) >= (part - 0.12) * COUNT // world_size


def test_hits_of_pinned_are_the_samples_it_holds(datasets: Callable[[int], Path]) -> None:
    path = datasets(1)
    with opened(path, "pinned", memory_for(path, 0.3, cache="pinned")) as loader:
        epochs = run_epochs(loader, EPOCHS)
        held = int(open_like(loader).epoch(0).keeps.sum())
    assert [sum(epoch.hits) for epoch in epochs] == [0, held, held]


def test_the_seed_and_the_capacity_make_the_order_of_liquid(datasets: Callable[[int], Path]) -> None:
    path = datasets(1)

    def order(part: float) -> list[int]:
        with opened(path, "liquid", memory_for(path, part, cache="liquid")) as loader:
            return [int(sample) for epoch in run_epochs(loader, 2) for sample in np.concatenate(epoch.ids)]

    assert order(0.3) == order(0.3) != order(0.5)


@pytest.mark.parametrize("where", [(0, 7), (1, 0), (2, 20)], ids=str)
def test_liquid_goes_on_from_a_state_in_the_same_order(datasets: Callable[[int], Path], where: tuple[int, int]) -> None:
    path, (epoch, done) = datasets(1), where
    memory = memory_for(path, 0.3, cache="liquid")
    with opened(path, "liquid", memory) as straight:
        expected = run_epochs(straight, 5)
    with opened(path, "liquid", memory) as first:
        run_epochs(first, epoch)
        batches = iter(first)
        for _ in range(done):
            next(batches)
        state = first.state_dict()
    with opened(path, "liquid", memory + (1 << 20)) as resumed:  # the state's capacity counts
        resumed.load_state_dict(state)
        found = run_epochs(resumed, 5 - epoch)
        stats = resumed.stats()

    assert found[0].images == expected[epoch].images[done:]
    assert [part.images for part in found[1:]] == [part.images for part in expected[epoch + 1 :]]
    assert found[-1].hits == expected[-1].hits
    assert stats["refill_bytes"] > 0


def test_states_of_liquid_and_of_others_do_not_mix(datasets: Callable[[int], Path]) -> None:
    path = datasets(1)
    memory = memory_for(path, 0.3)
    with opened(path, "liquid", memory) as liquid, opened(path, "rolling", memory) as rolling:
        next(iter(liquid))
        next(iter(rolling))
        of_liquid, of_rolling = liquid.state_dict(), rolling.state_dict()
        for loader, state in ((liquid, of_rolling), (rolling, of_liquid)):
            with pytest.raises(ArgumentError, match="orders differ"):
                loader.load_state_dict(state)
    with Loader(path, batch_size=8, transform=CHAIN, cache="liquid", memory=memory) as smaller:
        smaller.load_state_dict(of_liquid)
        with pytest.raises(ArgumentError, match="batches of 32 on 1 ranks"):
            next(iter(smaller))


@pytest.mark.parametrize("wish", [{"drop_last": True}, {"shuffle": False}, {"window": 8}], ids=str)
def test_what_liquid_cannot_do_is_refused(datasets: Callable[[int], Path], wish: dict[str, int]) -> None:
    with pytest.raises(ArgumentError, match="order of its own"):
        Loader(datasets(1), batch_size=BATCH, cache="liquid", **wish)  # type: ignore[arg-type]
