"""Memory on real disks and under real limits: the disk counts reads, the kernel holds budgets, ranks are processes.

Minutes, in the long tier. Needs permission for control groups; says so where there is none.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from penstock.build import build
from penstock.limits import Limits, run
from penstock.limits.limited_run import Completed
from penstock.transforms import RandomResizedCrop
from tests.unit.load.counted import memory_for as memory_of_one

COUNT = 5_000
SIDE = 72  # raw records of 15.6 kB: four pages, and a fifth shared with a neighbour
BATCH = 64
RUNS = 50
PROCESS_BYTES = 160 << 20
"""What a process takes beside the loader's memory: the interpreter, its libraries (mapped files count), the index."""

LOADER = """
import json, sys
from penstock import Loader
from penstock.transforms import RandomResizedCrop

wish = json.loads(sys.argv[1])
found = []
with Loader(wish["path"], batch_size=wish["batch_size"], transform=[RandomResizedCrop(16)], threads=2,
            cache=wish["cache"], memory=wish["memory"], seed=wish.get("seed", 0),
            rank=wish.get("rank", 0), world_size=wish.get("world_size", 1)) as loader:
    for _ in range(wish["epochs"]):
        before = loader.stats()["bytes_read"]
        samples = sum(len(batch["id"]) for batch in loader)
        stats = loader.stats()
        hits = sum(loader.runner.progress.hits)
        found.append({"bytes": stats["bytes_read"] - before, "samples": samples, "hits": hits})
    print(json.dumps({"epochs": found, "stats": stats, "cache_bytes": loader.plan.memory.cache_bytes,
                      "dataset_bytes": int(loader.dataset.sizes.sum())}))
"""


@pytest.fixture(scope="session")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Raw records of one size, as many as the claim speaks of."""
    root = tmp_path_factory.mktemp("many")
    (root / "images").mkdir()
    pixels = np.random.default_rng(0).integers(0, 256, (SIDE, SIDE, 3), np.uint8)
    for number in range(COUNT):
        pixels[number % SIDE, number // SIDE % SIDE] = number % 256
        (root / "images" / f"{number:05d}.ppm").write_bytes(b"P6 %d %d 255\n" % (SIDE, SIDE) + pixels.tobytes())
    build(root / "images", root / "data.pen", mix="raw=1")
    return root / "data.pen"


def memory_for(dataset: Path, part: float, world_size: int = 1, cache: str = "rolling") -> int:
    """What a node's loaders need so that their caches together hold a part of the dataset."""
    return world_size * memory_of_one(dataset, part, world_size, cache, batch_size=BATCH, chain=[RandomResizedCrop(16)])


def loaded(limits: Limits, **wish: object) -> tuple[Completed, dict[str, Any]]:
    wish = {"batch_size": BATCH, "epochs": 3, **wish}
    done = run([sys.executable, "-c", LOADER, json.dumps(wish)], limits, on=str(wish["path"]), quiet=True)
    assert done.exit_code == 0, done.stderr.decode()[-2000:]
    return done, json.loads(done.stdout)


def needs_groups(kind: str, done: Completed) -> None:
    """Skip, with the reason, where no control group holds a limit."""
    held = done.enforced_by.as_dict()[kind]
    if not held.startswith("cgroup"):
        pytest.skip(f"{kind} is held by {held!r} here: no permission for control groups")


@pytest.mark.long
@pytest.mark.parametrize("part", [0.3, 0.7])
@pytest.mark.parametrize(
    "cache", ["rolling", "pinned"]
)  # liquid fills in disk order: its first epoch reads fewer pages
def test_the_disk_reads_what_memory_does_not_hold(dataset: Path, cache: str, part: float) -> None:
    memory = memory_for(dataset, part, cache=cache)
    done, found = loaded(Limits(disk_bytes_per_second=1e11), path=str(dataset), cache=cache, memory=memory, epochs=3)
    needs_groups("disk", done)
    everything, *warm = (epoch["bytes"] for epoch in found["epochs"])
    for epoch in warm:
        assert abs(epoch / everything - (1 - part)) < 0.01
    assert done.disk_bytes_read is not None
    counted = sum(epoch["bytes"] for epoch in found["epochs"])
    assert abs(done.disk_bytes_read / counted - 1) < 0.02  # the index, and what Python imports


@pytest.mark.long
def test_a_budget_holds_under_a_limit_of_the_kernel(dataset: Path) -> None:
    """No kill in fifty runs, at a limit of the budget and a constant for the process."""
    caches = ["rolling", "pinned", "liquid", "none", "system"]
    for number in range(RUNS):
        memory = (24 + 7 * (number % 9)) << 20
        limits = Limits(memory_bytes=memory + PROCESS_BYTES)
        wish = {"cache": caches[number % 5], "batch_size": (16, 64, 200)[number % 3], "seed": number}
        done, found = loaded(limits, path=str(dataset), memory=memory, epochs=2, **wish)
        needs_groups("memory", done)
        assert found["stats"]["peak_memory_bytes"] <= memory


@pytest.mark.long
def test_private_caches_of_processes_hit_like_one(dataset: Path) -> None:
    hits = {ranks: hits_of_ranks(dataset, ranks) for ranks in (1, 2, 8)}

    assert hits[1] > 0.29
    assert hits[2] == pytest.approx(hits[1], abs=0.01)
    assert hits[8] == pytest.approx(hits[1], abs=0.02)


def hits_of_ranks(dataset: Path, ranks: int) -> float:
    """The share of samples found in memory in the third epoch, on so many processes that share memory for 30 %."""
    wish = {
        "path": str(dataset),
        "cache": "rolling",
        "epochs": 3,
        "memory": memory_for(dataset, 0.3, ranks),
        "batch_size": BATCH,
        "world_size": ranks,
    }
    environment = {**os.environ, "LOCAL_WORLD_SIZE": str(ranks)}
    running = [
        subprocess.Popen(
            [sys.executable, "-c", LOADER, json.dumps({**wish, "rank": rank})], stdout=subprocess.PIPE, env=environment
        )
        for rank in range(ranks)
    ]
    answers = [json.loads(process.communicate()[0]) for process in running]
    last = [answer["epochs"][-1] for answer in answers]
    assert sum(epoch["samples"] for epoch in last) == COUNT
    return float(sum(epoch["hits"] for epoch in last) / COUNT)
