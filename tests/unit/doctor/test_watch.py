"""A watched loader yields the same, and knows who waited for whom."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

import penstock
from penstock.doctor import watch


def slow(num_batches: int, seconds: float) -> Iterator[int]:
    for number in range(num_batches):
        time.sleep(seconds)  # the loader that is watched; no test waits for a time
        yield number


def test_a_slow_loader_is_found() -> None:
    watched = watch(slow(6, 0.02), report=None)
    assert list(watched) == list(range(6))
    assert watched.diagnosis.stall_share > 0.9
    assert watched.diagnosis.bottleneck != "compute"


def test_a_slow_step_is_found() -> None:
    watched = watch(range(6), report=None)
    for _ in watched:
        time.sleep(0.02)
    assert watched.diagnosis.bottleneck == "compute"


def test_a_pass_that_is_broken_off_is_reported_too() -> None:
    said: list[str] = []
    for number in watch(slow(6, 0.02), report=said.append):
        if number == 3:
            break
    assert len(said) == 1
    assert "waiting for data" in said[0]


def test_an_error_of_the_loader_passes() -> None:
    def broken() -> Iterator[int]:
        yield 1
        raise KeyError("no such image")

    with pytest.raises(KeyError, match="no such image"):
        list(watch(broken(), report=None))


def test_before_a_pass_there_is_no_diagnosis() -> None:
    with pytest.raises(RuntimeError, match="loop over it first"):
        _ = penstock.watch([1], report=None).diagnosis


def test_it_is_as_long_as_its_loader() -> None:
    assert len(watch([1, 2, 3])) == 3
