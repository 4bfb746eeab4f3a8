"""What is not given is chosen by what the machine has free, and said once."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from penstock import Loader, _native
from penstock.load import resources
from penstock.load.loader_options import options_of
from penstock.load.resources import Resources, choose_resources
from penstock.machine import Memory

GIB = 2**30


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight GiB free, four cores."""
    monkeypatch.setattr(resources, "machine_memory", lambda: Memory(16 * GIB, None, 8 * GIB))
    monkeypatch.setattr(_native, "usable_cores", lambda: 4)


def chosen(dataset_bytes: int, **keywords: str | int | None) -> Resources:
    return choose_resources(options_of(keywords), dataset_bytes)


@pytest.mark.parametrize(
    ("dataset_bytes", "memory", "cache"),
    [(3 * GIB, None, "system"), (5 * GIB, None, "rolling"), (5 * GIB, "2GiB", "rolling"), (5 * GIB, 0, "system")],
)
def test_the_cache_follows_from_what_fits(dataset_bytes: int, memory: str | int | None, cache: str) -> None:
    assert chosen(dataset_bytes, memory=memory).cache == cache
    assert chosen(dataset_bytes, memory=memory, cache="pinned").cache == "pinned"


def test_ranks_of_a_node_share_what_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    assert chosen(0) == Resources(2 * GIB, 2, "system")
    assert chosen(0, memory="1GiB", threads=8) == Resources(GIB // 2, 4, "system")


def test_a_choice_is_said_once(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="penstock")
    with Loader(folder, batch_size=10) as loader:
        list(loader)
        assert loader.stats()["resources"]["cache"] == "system"
    assert len(caplog.messages) == 1
    assert "memory 4.0 GiB, 4 threads, cache 'system'" in caplog.messages[0]


def test_what_is_given_is_not_repeated(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="penstock")
    Loader(folder, memory="256MiB", threads=1, cache="none").close()
    assert caplog.messages == []
