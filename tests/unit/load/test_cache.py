"""Samples that stay in memory between epochs: planned before, counted after, and the same batches as without."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import penstock
from penstock import Loader
from penstock.build import build
from penstock.transforms import RandomResizedCrop

COUNT = 640
BATCH = 32
CHAIN = [RandomResizedCrop(8)]


@pytest.fixture(scope="session")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Raw records of one size, three quarters of a page each."""
    root = tmp_path_factory.mktemp("cached")
    (root / "images").mkdir()
    for number in range(COUNT):
        pixels = np.full((32, 32, 3), number % 251, np.uint8)
        (root / "images" / f"{number:04d}.png").write_bytes(penstock.encode(pixels, "png"))
    build(root / "images", root / "data.pen", mix="raw=1")
    return root / "data.pen"


def working_bytes(dataset: Path) -> int:
    """What a loader takes beside its cache."""
    with Loader(dataset, batch_size=BATCH, transform=CHAIN, threads=2, cache="none") as loader:
        return int(loader.stats()["working_bytes"])


@pytest.mark.parametrize("cache", ["rolling", "pinned"])
@pytest.mark.parametrize("share", [0.3, 1.0])
def test_memory_serves_its_share_and_changes_no_batch(dataset: Path, cache: str, share: float) -> None:
    record = 32 * 32 * 3 + 32
    memory = working_bytes(dataset) + int(COUNT * record * share) + 6 * BATCH * record
    with Loader(dataset, batch_size=BATCH, transform=CHAIN, threads=2, cache="none") as plain:
        expected = [[batch["image"].tobytes() for batch in plain] for _ in range(3)]
    with Loader(dataset, batch_size=BATCH, transform=CHAIN, threads=2, cache=cache, memory=memory) as loader:
        found = []
        hits = []
        for _ in range(3):
            found.append([batch["image"].tobytes() for batch in loader])
            hits.append(loader.stats()["hits_per_batch"])
        stats = loader.stats()

    assert found == expected
    assert hits[0]["maximum"] == 0
    assert hits[2]["mean"] >= 0.9 * share * BATCH
    if cache == "rolling":
        assert hits[2]["maximum"] - hits[2]["minimum"] <= 1
    assert stats["num_unkept"] == 0
    assert stats["peak_memory_bytes"] <= memory


def test_an_epoch_that_is_left_empties_the_cache_and_no_batch_is_wrong(dataset: Path) -> None:
    with Loader(dataset, batch_size=BATCH, transform=CHAIN, cache="none") as plain:
        plain.set_epoch(2)
        expected = [batch["image"].tobytes() for batch in plain]
    with Loader(dataset, batch_size=BATCH, transform=CHAIN, cache="rolling", memory="64MiB") as loader:
        list(loader)
        next(iter(loader))
        assert [batch["image"].tobytes() for batch in loader] == expected
        assert loader.stats()["hits_per_batch"]["maximum"] == 0
        list(loader)
        assert loader.stats()["hits_per_batch"]["minimum"] == BATCH
