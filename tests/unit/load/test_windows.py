"""Windows in a loader: runs of records are read at once, the order is the window's, and the memory is counted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import penstock
from penstock import ArgumentError, Loader
from penstock.build import build
from penstock.order import Order, Window
from penstock.transforms import RandomResizedCrop

COUNT = 640
BATCH = 32
CHAIN = [RandomResizedCrop(8)]


@pytest.fixture(scope="session")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two formats of records of three quarters of a page each."""
    root = tmp_path_factory.mktemp("windowed")
    (root / "images").mkdir()
    for number in range(COUNT):
        pixels = np.random.default_rng(number).integers(0, 256, (32, 32, 3), np.uint8)
        (root / "images" / f"{number:04d}.png").write_bytes(penstock.encode(pixels, "png"))
    build(root / "images", root / "data.pen", mix="raw=0.5,weir:fast=0.5")
    return root / "data.pen"


def epochs(loader: Loader, count: int = 2) -> list[list[tuple[list[int], bytes]]]:
    return [[(batch["id"].tolist(), batch["image"].tobytes()) for batch in loader] for _ in range(count)]


@pytest.mark.parametrize("cache", ["system", "none", "rolling", "pinned"])
def test_runs_are_read_at_once_and_the_order_is_the_windows(dataset: Path, cache: str) -> None:
    with Loader(dataset, batch_size=BATCH, seed=3, window=8, cache=cache, threads=2, transform=CHAIN) as loader:
        found = epochs(loader, 1)[0]
        stats = loader.stats()
        order = loader.plan.order
    first = order.epoch(0).take(range(COUNT))

    assert [ids for ids, _ in found] == [first[at : at + BATCH].tolist() for at in range(0, COUNT, BATCH)]
    assert order.window == Window(8)
    assert stats["num_reads"] <= COUNT / 8 * 1.2
    assert stats["num_unkept"] == 0
    assert stats["window"]["quality"]["neighbours"] > 1


def test_pixels_do_not_depend_on_memory_threads_or_cache(dataset: Path) -> None:
    with Loader(dataset, batch_size=BATCH, window=8, cache="none", threads=1, memory=0, transform=CHAIN) as loader:
        expected = epochs(loader)
        working = loader.stats()["working_bytes"]
    with Loader(
        dataset, batch_size=BATCH, window=8, cache="rolling", memory=working + 10**6, transform=CHAIN
    ) as loader:
        assert epochs(loader) == expected
        stats = loader.stats()

    assert stats["hits_per_batch"]["mean"] > 0.1 * BATCH
    assert stats["peak_memory_bytes"] <= working + 10**6


def test_a_state_brings_its_window(dataset: Path) -> None:
    with Loader(dataset, batch_size=BATCH, window=Window(8, runs=3), transform=CHAIN) as loader:
        batches = iter(loader)
        next(batches)
        state = loader.state_dict()
        rest = [(batch["id"].tolist(), batch["image"].tobytes()) for batch in batches]
    with Loader(dataset, batch_size=BATCH, cache="none", threads=1, transform=CHAIN) as loader:
        loader.load_state_dict(state)
        assert epochs(loader, 1)[0] == rest
        assert loader.stats()["window"]["runs"] == 3


def test_an_epoch_that_is_left_disturbs_no_later_one(dataset: Path) -> None:
    with Loader(dataset, batch_size=BATCH, window=16, cache="none", transform=CHAIN) as loader:
        loader.set_epoch(1)
        expected = epochs(loader, 1)
    with Loader(dataset, batch_size=BATCH, window=16, cache="none", transform=CHAIN) as loader:
        loader.runner.pipeline.stall(None, 0.02, 10)
        next(iter(loader))
        assert epochs(loader, 1) == expected


def test_ranks_get_every_sample_once(dataset: Path) -> None:
    seen: list[int] = []
    for rank in range(3):
        with Loader(dataset, batch_size=BATCH, window=8, rank=rank, world_size=3, transform=CHAIN) as loader:
            seen += [sample for batch in loader for sample in batch["id"].tolist()]
    assert sorted(seen) == list(range(COUNT))


def test_a_window_is_given_in_samples_or_bytes(dataset: Path) -> None:
    with Loader(dataset, window="32KiB") as loader:
        window = loader.plan.order.window
        assert window is not None
        assert 8 <= window.run <= 11
    with pytest.raises(ArgumentError, match="window"):
        Loader(dataset, window=0)


def test_runs_follow_the_places_on_disk() -> None:
    places = np.random.default_rng(1).permutation(64)
    order = Order(np.zeros(64, np.uint8), window=Window(16), places=places)
    runs = order.run_of_sample(64)
    for number in range(4):
        assert np.ptp(places[runs == number]) == 15
