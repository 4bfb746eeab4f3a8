"""Windows: neighbours on disk are read together, and what is open at once is bounded."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.order import Order, RankSchedule, Window
from penstock.order.caches import open_cache

NUM_SAMPLES = 12_000
FORMATS = (np.arange(NUM_SAMPLES) % 3 == 0).astype(np.uint8)
WINDOW = Window(run=16, runs=2)
ORDER = Order(FORMATS, seed=3, lanes=24, window=WINDOW)
SIZES = np.full(NUM_SAMPLES, 1000)


def test_a_run_is_made_of_neighbours() -> None:
    runs = ORDER.run_of_sample(NUM_SAMPLES)

    for number in range(2):
        samples = np.flatnonzero(number == FORMATS)
        in_turn = samples[np.argsort(runs[samples], kind="stable")]
        rank = np.searchsorted(samples, in_turn)
        together = np.diff(runs[in_turn]) == 0
        assert (np.diff(rank)[together] == 1).all()
        assert np.bincount(runs[samples]).max() == WINDOW.run
        assert together.mean() > 0.9


@pytest.mark.parametrize("name", ["none", "system", "pinned", "rolling"])
def test_a_run_is_read_at_once_and_only_once(name: str) -> None:
    cache = open_cache(name, RankSchedule(ORDER, 64), SIZES, int(SIZES.sum() * 0.3))
    runs = ORDER.run_of_sample(NUM_SAMPLES)

    for cache_plan in (cache.epoch(0), cache.epoch(1)):
        reads, starts = cache_plan.reads
        batches = np.repeat(np.arange(cache_plan.num_batches), np.diff(starts))
        assert len(np.unique(np.stack([runs[reads], batches]), axis=1).T) == len(np.unique(runs[reads]))


def test_what_is_open_is_about_a_window_per_lane() -> None:
    cache_plan = open_cache("none", RankSchedule(ORDER, 64), SIZES, 0).epoch(1)

    assert cache_plan.open_bytes is not None
    per_lane = cache_plan.open_bytes.max() / 1000 / ORDER.lanes / len(np.unique(FORMATS))
    assert WINDOW.run < per_lane < WINDOW.samples + WINDOW.run


def test_reads_are_spread_over_the_epoch() -> None:
    cache_plan = open_cache("none", RankSchedule(ORDER, 64), SIZES, 0).epoch(1)

    steady = cache_plan.reads_per_batch[20:-20]
    rounds = steady[: len(steady) // 12 * 12].reshape(-1, 12).sum(axis=1)  # 12 batches take each lane 32 samples on
    assert rounds.std() < 0.35 * rounds.mean()


def test_rolling_keeps_whole_runs_within_its_capacity() -> None:
    cache = open_cache("rolling", RankSchedule(ORDER, 64), SIZES, int(SIZES.sum() * 0.3))
    runs = ORDER.run_of_sample(NUM_SAMPLES)

    cache.epoch(0)
    traffics = [cache.epoch(epoch) for epoch in (1, 2)]

    for cache_plan in traffics:
        assert cache_plan.peak_bytes <= SIZES.sum() * 0.3
        assert cache_plan.hits.mean() > 0.26
        hit_share = np.bincount(runs[cache_plan.ids], weights=cache_plan.hits) / np.bincount(runs[cache_plan.ids])
        assert np.isin(hit_share, (0, 1)).mean() > 0.95  # a few give up samples so that the peak fits
