"""The planner predicts hits and reads by running the loader's caches: both see the same numbers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import penstock
from penstock.plan import Goals, make_plan
from penstock.plan.cache_run import MOST_SAMPLES, run_cache
from penstock.plan.mix_problem import Problem, make_problem
from penstock.plan.mix_rates import rates_of, single_format, two_formats
from tests.unit.plan.conftest import MEGABYTE, make_profile

FORMATS = {"png": (1.0, 20.0), "raw": (3.0, 0.5)}


def problem_of(memory_bytes: int, spread: float = 0.3) -> Problem:
    profile = make_profile(FORMATS, source="png", disk=150 * MEGABYTE, spread=spread)
    return make_problem(profile, Goals(memory_bytes=memory_bytes))


@pytest.mark.parametrize("cache", ["rolling", "pinned"])
@pytest.mark.parametrize("share", [0.2, 0.6])
def test_the_planner_sees_what_the_loader_counts(tmp_path: Path, cache: str, share: float) -> None:
    for number in range(96):
        pixels = np.random.default_rng(number).integers(0, 256, (8 + number % 7, 9, 3), np.uint8)
        (tmp_path / f"{number:03d}.png").write_bytes(penstock.encode(pixels, "png"))
    plan = penstock.plan_loader(tmp_path, batch_size=8, seed=5, cache=cache, threads=1, memory=0)
    plan = plan.with_cache_bytes(int(plan.samples.sizes.sum() * share))
    sizes = plan.samples.sizes.astype(float)[:, None]
    problem = replace(
        problem_of(plan.memory.cache_bytes), formats=("png",), bytes=sizes, cpu_seconds=sizes, num_samples=len(sizes)
    )

    found = run_cache(problem, single_format(problem, 0), cache=cache, batch_size=8, seed=5)

    warm = plan.predict(epochs=2)[1]
    assert 0 < warm.num_hits < 96
    assert (round(found.hit_ratio * 96), found.bytes_per_epoch) == (warm.num_hits, warm.bytes_read)
    with penstock.Loader(plan) as loader:
        for _ in loader:
            pass
        before = loader.stats()["bytes_read"]
        for _ in loader:
            pass
        assert loader.stats()["bytes_read"] - before == found.bytes_per_epoch


@pytest.mark.parametrize("memory", [10**9, 4 * 10**9, 9 * 10**9])
def test_a_cache_holds_a_little_less_than_its_memory(memory: int) -> None:
    problem = problem_of(memory)
    mix = two_formats(problem, 0, 1, 0.4)
    linear, found = rates_of(problem, mix).cached_share, run_cache(problem, mix)
    assert linear * 0.95 - 0.01 < 1 - found.read_share <= linear + 0.001


def test_memory_for_everything_reads_nothing() -> None:
    problem = problem_of(10**12)
    found = run_cache(problem, single_format(problem, 1))
    assert (found.hit_ratio, found.bytes_per_epoch) == (1.0, 0)


def test_without_memory_an_epoch_reads_everything() -> None:
    problem = problem_of(0)
    found = run_cache(problem, single_format(problem, 0))
    assert (found.cache, found.hit_ratio, found.read_share) == ("none", 0.0, 1.0)
    assert found.bytes_per_epoch == pytest.approx(problem.bytes[:, 0].mean() * problem.num_samples, rel=0.01)


def test_a_large_dataset_is_scaled_down_with_its_memory() -> None:
    small = problem_of(4 * 10**9)
    large = replace(small, num_samples=100 * MOST_SAMPLES, memory_bytes=small.memory_bytes * 200)
    mix = single_format(small, 0)
    assert run_cache(replace(small, num_samples=MOST_SAMPLES, memory_bytes=8 * 10**9), mix).hit_ratio == pytest.approx(
        run_cache(replace(large, memory_bytes=100 * 8 * 10**9), mix).hit_ratio, abs=1e-3
    )


def test_a_plan_tells_hits_and_reads() -> None:
    profile = make_profile(FORMATS, source="png", disk=150 * MEGABYTE)
    plan = make_plan(profile, Goals(memory_bytes=10**9))
    assert plan.rows.chosen.rates.cached_share == pytest.approx(1 - plan.forecast.read_share)
    assert any(sentence.startswith("An epoch finds") for sentence in plan.explanation)
    assert not any(sentence.startswith("An epoch finds") for sentence in make_plan(profile, Goals()).explanation)
