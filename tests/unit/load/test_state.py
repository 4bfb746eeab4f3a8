"""Stopping and going on: exact, in another process, with other threads, memory, batches and ranks."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from penstock import ArgumentError, Loader
from tests.unit.load.conftest import COUNT, KINDS

RESUME = """
import json, sys, penstock
path, state = sys.argv[1], json.loads(sys.argv[2])
with penstock.Loader(path, batch_size=3, seed=99, threads=1, memory="700MiB") as loader:
    loader.load_state_dict(state)
    print(json.dumps([[batch["id"].tolist(), batch["image"].tobytes().hex()] for batch in loader]))
"""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("stop", [0, 7, 14])
def test_the_rest_of_an_epoch_is_identical_in_a_new_process(sets: dict[str, Path], kind: str, stop: int) -> None:
    with Loader(sets[kind], batch_size=3, seed=4, threads=2) as loader:
        loader.set_epoch(2)
        batches = iter(loader)
        for _ in range(stop):
            next(batches)
        state = json.loads(json.dumps(loader.state_dict()))
        rest = [[batch["id"].tolist(), batch["image"].tobytes().hex()] for batch in batches]

    command = [sys.executable, "-c", RESUME, str(sets[kind]), json.dumps(state)]
    resumed = subprocess.run(command, capture_output=True, text=True, check=True)

    assert json.loads(resumed.stdout) == rest
    assert len(json.dumps(state)) < 500


def test_ranks_may_change_on_the_way(folder: Path) -> None:
    seen: list[int] = []
    states = []
    for rank in range(8):
        with Loader(folder, batch_size=2, rank=rank, world_size=8) as loader:
            batches = iter(loader)
            seen += next(batches)["id"].tolist()
            states.append(loader.state_dict())
    assert all(state == states[0] for state in states)
    for rank in range(6):
        with Loader(folder, batch_size=4, rank=rank, world_size=6) as loader:
            loader.load_state_dict(states[0])
            for batch in loader:
                seen += batch["id"].tolist()

    assert sorted(seen) == list(range(COUNT))


def test_a_finished_epoch_goes_on_with_the_next(folder: Path) -> None:
    with Loader(folder, batch_size=20) as loader:
        list(loader)
        state = loader.state_dict()
        second = [batch["id"].tolist() for batch in loader]
    with Loader(folder, batch_size=20) as loader:
        loader.load_state_dict(state)
        assert loader.epoch == 1
        assert [batch["id"].tolist() for batch in loader] == second


def test_set_epoch_of_the_resumed_epoch_keeps_the_position(folder: Path) -> None:
    with Loader(folder, batch_size=20) as loader:
        next(iter(loader))
        state = loader.state_dict()
    with Loader(folder, batch_size=20) as loader:
        loader.load_state_dict(state)
        loader.sampler.set_epoch(0)
        assert sum(len(batch["id"]) for batch in loader) == COUNT - 20


def test_a_state_of_other_samples_is_refused(folder: Path) -> None:
    with Loader(folder, subset=range(10)) as loader:
        state = loader.state_dict()
    with Loader(folder) as loader, pytest.raises(ArgumentError, match="10 samples"):
        loader.load_state_dict(state)
