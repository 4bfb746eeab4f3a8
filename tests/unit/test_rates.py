"""One vocabulary for the bottleneck, and one arithmetic for rates."""

from __future__ import annotations

import math
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import ArgumentError
from penstock.rates import BOTTLENECKS, Bottleneck, Capacity, bottleneck_by_stages, read_bottleneck

FORMER = [
    ("read", "storage"),
    ("disk", "storage"),
    ("cpu", "decode"),
    ("preparation", "decode"),
    ("consumer", "compute"),
    ("model", "compute"),
]


def test_the_type_and_the_list_have_the_same_words() -> None:
    assert get_args(Bottleneck) == BOTTLENECKS


@pytest.mark.parametrize(("word", "means"), [*FORMER, *((word, word) for word in BOTTLENECKS)])
def test_documents_of_earlier_versions_are_understood(word: str, means: str) -> None:
    assert read_bottleneck(word) == means


def test_another_word_is_refused_with_the_choices() -> None:
    with pytest.raises(ArgumentError, match="use one of storage, decode, python, compute, latency"):
        read_bottleneck("gpu")


amounts = st.floats(1e-6, 1e6)


@given(amounts, amounts, amounts, amounts, st.floats(0, 0.99))
def test_the_bottleneck_is_the_slowest_stage(disk: float, cores: float, size: float, cpu: float, cached: float) -> None:
    rates = Capacity(disk, cores, compute_rate=10.0).rates(size, cpu, cached)
    stages = {"storage": rates.load, "decode": rates.decode, "compute": rates.compute}
    assert stages[rates.bottleneck] == pytest.approx(min(stages.values()))


@given(amounts, amounts, st.floats(1, 100))
def test_the_share_to_cache_for_a_rate_gives_that_rate(disk: float, size: float, times: float) -> None:
    capacity = Capacity(disk, cores=1.0)
    wanted = times / capacity.storage_seconds(size)
    reached = capacity.rates(size, 1e-9, capacity.cached_share_for(size, wanted)).load
    assert reached == pytest.approx(wanted, rel=1e-6)


def test_everything_in_memory_costs_no_storage_time() -> None:
    assert Capacity(1e6, cores=1.0).rates(1e5, 1e-3, cached_share=1.0).load == math.inf


@pytest.mark.parametrize(
    ("compute_wait", "decode_busy", "python_wait", "word"),
    [(0.1, 9.0, None, "compute"), (5.0, 9.0, None, "decode"), (5.0, 1.0, None, "storage"), (5.0, 9.0, 3.0, "python")],
)
def test_a_loader_waits_for_one_of_the_same_words(
    compute_wait: float, decode_busy: float, python_wait: float | None, word: str
) -> None:
    stages = {
        "storage": {"busy_seconds": 1.0, "wait_seconds": 1.0},
        "decode": {"busy_seconds": decode_busy, "wait_seconds": 5.0},
        "compute": {"busy_seconds": 5.0, "wait_seconds": compute_wait},
    }
    if python_wait is not None:
        stages["python"] = {"busy_seconds": 1.0, "wait_seconds": python_wait}
    assert bottleneck_by_stages(stages, 10.0) == word
    assert bottleneck_by_stages(stages, 0.0) == ""
