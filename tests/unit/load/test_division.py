"""What a cache that was asked for gets of a memory, and what is left to work with: a table, and real loaders."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock
from penstock import ArgumentError, Loader, PenstockError, plan_loader
from penstock.build import build
from penstock.load.budget import (
    FEW_READ_BYTES,
    MIB,
    CacheRequest,
    MemoryRequest,
    depth_for,
    memory_for_cache,
    plan_budget,
)
from penstock.load.header_probe import SizeEstimate, probe_headers, some_of
from penstock.load.open_samples import open_samples
from penstock.transforms import CenterCrop

BATCH, SAMPLE = 32, 35_000
WORK = MemoryRequest(
    BATCH, threads=4, sample_bytes=64 * 64 * 3, largest_read_bytes=2 * SAMPLE, largest_pixel_bytes=300_000
)
GIB = 1024
# Memory in MiB, and the share of it that the cache gets for datasets of 7 MiB, 100 MiB and 10 GiB, in per cent.
TABLE = {
    "rolling": {16: (56, 36, 36), 64: (82, 77, 77), 256: (92, 92, 91), GIB: (93, 93, 92), 4 * GIB: (98, 98, 98)},
    "pinned": {16: (56, 56, 56), 64: (82, 82, 82), 256: (92, 92, 92), GIB: (93, 93, 93), 4 * GIB: (98, 98, 98)},
    "liquid": {16: (41, 41, 41), 64: (77, 77, 77), 256: (91, 91, 91), GIB: (92, 92, 92), 4 * GIB: (98, 98, 98)},
}


def demand_of(cache: str, dataset_bytes: int, work: MemoryRequest = WORK) -> MemoryRequest:
    """As a loader has it, for samples of one size."""
    open_bytes = min(dataset_bytes, depth_for(work.batch_size) * work.batch_size * SAMPLE) if cache == "liquid" else 0
    passing_bytes = min(dataset_bytes, work.batch_size * SAMPLE) if cache == "rolling" else 0
    return replace(work, open_bytes=open_bytes, cache=CacheRequest(dataset_bytes, dataset_bytes, passing_bytes))


@pytest.mark.parametrize("memory", TABLE["rolling"])
@pytest.mark.parametrize("cache", TABLE)
def test_a_cache_gets_its_part_and_batches_their_depth(cache: str, memory: int) -> None:
    shares = []
    for dataset in (7, 100, 10 * GIB):
        budget = plan_budget(demand_of(cache, dataset * MIB), memory * MIB)
        assert budget.working_bytes + budget.cache_bytes <= memory * MIB
        assert budget.depth == depth_for(BATCH)
        assert budget.read_bytes >= min(FEW_READ_BYTES, memory * MIB // 8)
        shares.append(round(100 * budget.cache_bytes / (memory * MIB)))
    assert tuple(shares) == TABLE[cache][memory]


@pytest.mark.parametrize("cache", TABLE)
@pytest.mark.parametrize("memory", [64, 256, GIB, 4 * GIB])
def test_a_small_dataset_fits_whole(cache: str, memory: int) -> None:
    for batch_size in (1, 8, 32, 256):
        demand = demand_of(cache, 7 * MIB, replace(WORK, batch_size=batch_size))
        assert plan_budget(demand, memory * MIB).cache_bytes >= 7 * MIB


@pytest.mark.parametrize("batch_size", [1, 16, 256])
def test_large_memories_are_divided_as_without_a_cache(batch_size: int) -> None:
    work = replace(WORK, batch_size=batch_size)
    for memory in (GIB, 4 * GIB):
        beside = plan_budget(demand_of("rolling", 100 * GIB * MIB, work), memory * MIB)
        assert replace(beside, cache_bytes=0) == plan_budget(work, memory * MIB)


def test_threads_and_a_second_batch_share_the_lesser_half() -> None:
    large = MemoryRequest(64, threads=8, sample_bytes=150_000, largest_read_bytes=MIB, largest_pixel_bytes=12 * MIB)
    for memory in (64, 128, 256):
        budget = plan_budget(demand_of("pinned", 10**12, large), memory * MIB)
        assert budget.depth >= 2
        assert budget.scratch_bytes >= 1.5 * 12 * MIB  # more than one thread decodes, if not all
        assert budget.cache_bytes >= memory * MIB // 6


def test_where_batches_under_way_leave_nothing_work_has_all() -> None:
    wide = replace(WORK, batch_size=512)
    memory = 24 * MIB  # a batch alone passes 18 MB through memory
    assert replace(plan_budget(demand_of("rolling", 10**12, wide), memory), cache_bytes=0) == plan_budget(wide, memory)


@given(
    batch_size=st.integers(1, 2000),
    threads=st.integers(1, 64),
    sample_bytes=st.one_of(st.none(), st.integers(1, MIB)),
    largest_pixels=st.one_of(st.none(), st.integers(1, 64 * MIB)),
    foreseen=st.one_of(st.none(), st.integers(1, 64 * MIB)),
    dataset=st.integers(1, 2**40),
    ranks=st.integers(1, 8),
    passing=st.integers(0, 256 * MIB),
    memory=st.integers(1, 4096 * MIB),
)
def test_no_division_exceeds_the_memory(
    batch_size: int,
    threads: int,
    sample_bytes: int | None,
    largest_pixels: int | None,
    foreseen: int | None,
    dataset: int,
    ranks: int,
    passing: int,
    memory: int,
) -> None:
    wish = CacheRequest(dataset, -(-dataset // ranks), min(passing, dataset))
    demand = MemoryRequest(
        batch_size, threads, sample_bytes, 100_000, largest_pixels, foreseen_bytes=foreseen, cache=wish
    )
    try:
        budget = plan_budget(demand, memory)
    except ArgumentError:
        return
    assert budget.working_bytes + budget.cache_bytes <= memory
    if budget.cache_bytes < dataset:  # what batches pass through memory has room, too
        passed = budget.depth * wish.passing_bytes
        assert budget.cache_bytes == 0 or budget.working_bytes + budget.cache_bytes + passed <= memory


@pytest.mark.parametrize("cache", TABLE)
@pytest.mark.parametrize("cache_bytes", [1, 3 * MIB, 40 * MIB, 700 * MIB, 3000 * MIB])
def test_memory_for_a_cache_leaves_it_that(cache: str, cache_bytes: int) -> None:
    demand = demand_of(cache, 10 * GIB * MIB)
    found = plan_budget(demand, memory_for_cache(demand, cache_bytes)).cache_bytes
    assert cache_bytes <= found <= cache_bytes + 1


COUNT = 200


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """7 MiB in 200 images, as files and as a dataset beside them."""
    root = tmp_path_factory.mktemp("small")
    (root / "images").mkdir()
    for number in range(COUNT):
        pixels = np.random.default_rng(number).integers(0, 256, (96 + number % 8, 122, 3), np.uint8)
        (root / "images" / f"{number:03d}.png").write_bytes(penstock.encode(pixels, "png"))
    build(root / "images", root / "data.pen", mix="png=1")
    return root


@pytest.mark.parametrize("kind", ["data.pen", "images"])
@pytest.mark.parametrize("batch_size", [1, 16, 64])
@pytest.mark.parametrize("cache", ["rolling", "pinned", "liquid"])
def test_ample_memory_serves_every_epoch_but_the_first(small: Path, cache: str, batch_size: int, kind: str) -> None:
    options = {"batch_size": batch_size, "transform": [CenterCrop(64)], "threads": 2}
    with Loader(small / kind, cache=cache, memory="64MiB", **options) as loader:  # type: ignore[arg-type]  # a mixed dict
        for _ in range(3):
            num_samples, hits = sum(len(batch["id"]) for batch in loader), sum(loader.runner.progress.hits)
            stats = loader.stats()
            if loader.epoch > 1:
                assert hits == num_samples == COUNT
    assert stats["num_unkept"] == 0
    assert stats["peak_memory_bytes"] <= 64 * MIB


@pytest.mark.parametrize("cache", ["rolling", "pinned", "liquid"])
def test_a_loader_says_what_memory_its_cache_takes(small: Path, cache: str) -> None:
    plan = plan_loader(small / "data.pen", batch_size=4, transform=[CenterCrop(64)], cache=cache, memory=0)
    memory = plan.memory_for(3 * MIB)
    with Loader(small / "data.pen", batch_size=4, transform=[CenterCrop(64)], cache=cache, memory=memory) as loader:
        assert loader.stats()["cache_limit_bytes"] == 3 * MIB


def test_what_keeps_no_samples_needs_no_memory_for_them(small: Path) -> None:
    with pytest.raises(ArgumentError, match="no samples"):
        plan_loader(small / "data.pen", cache="none", memory=0).memory_for(MIB)


def flat(height: int, width: int) -> bytes:
    """An image whose file says little of its size."""
    return penstock.encode(np.zeros((height, width, 3), np.uint8), "png")


def test_headers_tell_what_decoding_a_folder_takes(small: Path) -> None:
    built, plain = open_samples(small / "data.pen"), open_samples(small / "images")
    every = np.arange(COUNT)

    assert probe_headers(plain, every) == SizeEstimate(built.largest_pixel_bytes or 0, built.working_bytes)
    assert probe_headers(built, every) is None
    assert probe_headers(plain, every[:0]) is None


def test_the_largest_files_and_some_of_the_rest_are_looked_at(small: Path) -> None:
    plain = open_samples(small / "images")
    chosen = some_of(plain, np.arange(COUNT))
    sizes = plain.sizes
    assert len(set(chosen.tolist())) == len(chosen) == 64
    assert sorted(sizes[chosen])[-32:] == sorted(sizes)[-32:]


def test_files_that_are_no_images_tell_nothing_and_stop_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"")
    (tmp_path / "b.png").write_bytes(b"no image at all")
    with Loader(tmp_path, memory="200MiB", cache="rolling", threads=1) as loader:
        assert probe_headers(open_samples(tmp_path), np.arange(2)) is None
        with pytest.raises(PenstockError):
            next(iter(loader))


def test_a_folder_keeps_nearly_as_much_as_its_dataset(small: Path) -> None:
    limits = {}
    for kind in ("images", "data.pen"):
        with Loader(
            small / kind, batch_size=16, threads=2, cache="pinned", memory="64MiB", transform=[CenterCrop(64)]
        ) as loader:
            limits[kind] = loader.stats()["cache_limit_bytes"]
    assert limits["images"] >= 0.84 * limits["data.pen"]  # an eighth is for images that no header foretold


def test_an_image_larger_than_headers_foretold_decodes_or_says_what_it_takes(tmp_path: Path) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (200, 200, 3), np.uint8)
    for number in range(100):
        (tmp_path / f"{number:03d}.png").write_bytes(penstock.encode(noise, "png"))
    options = {"batch_size": 8, "threads": 2, "cache": "pinned", "memory": "64MiB", "transform": [CenterCrop(64)]}
    hidden = tmp_path / "001.png"  # small, and not among those that are spread
    for side, fits in ((1000, True), (5000, False)):  # pixels of 3 and 75 MB, and as much again for the codec
        hidden.write_bytes(flat(side, side))
        with Loader(tmp_path, **options) as loader:  # type: ignore[arg-type]  # a mixed dict
            assert 1 not in some_of(open_samples(tmp_path), np.arange(100))
            if fits:
                assert sum(len(batch["id"]) for batch in loader) == 100
            else:
                with pytest.raises(PenstockError, match="bytes that the loader has for it"):
                    list(loader)
            assert loader.stats()["peak_memory_bytes"] <= 64 * MIB


def test_a_small_dataset_is_kept_in_part_where_that_is_asked_for(small: Path) -> None:
    wanted = int(0.75 * 7 * MIB)  # with two batches of 64 under way, everything fits where three quarters do
    options = {"batch_size": 64, "transform": [CenterCrop(64)], "threads": 2, "cache": "rolling"}
    plan = plan_loader(small / "data.pen", memory=0, **options)  # type: ignore[arg-type]  # a mixed dict
    roomy = plan_loader(small / "data.pen", memory=plan.memory_for(wanted), **options)  # type: ignore[arg-type]
    assert roomy.memory.cache_bytes > wanted
    with Loader(plan.with_cache_bytes(wanted)) as loader:
        assert loader.stats()["cache_limit_bytes"] == wanted
        for _ in range(2):
            list(loader)
        assert sum(loader.runner.progress.hits) == pytest.approx(0.75 * COUNT, abs=0.05 * COUNT)
        assert loader.stats()["num_unkept"] == 0
