"""Three runs tell a slow step, slow preparation and a slow disk apart."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

import penstock
from penstock.errors import ArgumentError


class Slow:
    """A loader whose batches take time to prepare, and more to fetch when its cache was dropped."""

    def __init__(self, prepare: float, fetch: float) -> None:
        self.prepare, self.fetch, self.is_cold = prepare, fetch, False

    def drop(self) -> None:
        self.is_cold = True

    def __iter__(self) -> Iterator[int]:
        for number in range(6):
            time.sleep(self.prepare + (self.fetch if self.is_cold else 0.0))  # the loader that is measured
            yield number


@pytest.mark.parametrize(
    ("prepare", "fetch", "step", "bottleneck"),
    [(0.001, 0.0, 0.05, "compute"), (0.05, 0.0, 0.001, "decode"), (0.001, 0.05, 0.001, "storage")],
)
def test_the_slowest_part_is_named(prepare: float, fetch: float, step: float, bottleneck: str) -> None:
    loader = Slow(prepare, fetch)
    found = penstock.diagnose(loader, lambda _: time.sleep(step), drop_caches=loader.drop)
    assert found.bottleneck == bottleneck
    assert found.is_cold


def test_without_dropping_nothing_is_said_of_the_disk() -> None:
    found = penstock.diagnose(Slow(0.001, 0.05), lambda _: None)
    assert (found.fetch_stall_seconds, found.is_cold, found.num_batches) == (0.0, False, 6)


def test_long_loaders_are_cut() -> None:
    assert penstock.diagnose(Slow(0.0, 0.0), lambda _: None, max_batches=2).num_batches == 2


def test_an_empty_loader_is_refused() -> None:
    with pytest.raises(ArgumentError, match="yields nothing"):
        penstock.diagnose([], lambda _: None)
