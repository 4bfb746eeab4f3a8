"""Every cache does what it says: followed record by record by a plain model, over generated cases and restarts."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from penstock.errors import ArgumentError
from penstock.order import Order, RankSchedule
from penstock.order.caches import CACHES, Cache, LiquidCache, RollingCache, open_cache
from penstock.testing.cache import PlainArena
from tests.unit.order.cases import Case, cases, property_of_order


def sizes_of(num_samples: int, seed: int = 0) -> npt.NDArray[np.int64]:
    """Uneven, as encoded images are."""
    return np.random.default_rng(seed).lognormal(9, 0.5, num_samples).astype(np.int64) + 1


class Caching(RuleBasedStateMachine):
    """Epochs in turn, jumps, and restarts inside an epoch."""

    @initialize(case=cases(), name=st.sampled_from(list(CACHES)), part=st.sampled_from([0.0, 0.1, 0.3, 0.7, 1.0]))
    def start(self, case: Case, name: str, part: float) -> None:
        self.name = name
        rank = case.seed % case.world_size
        self.rank_schedule = RankSchedule(case.order(), case.batch_size, rank, case.world_size)
        self.sizes = sizes_of(case.num_samples, case.seed % 1000)
        self.capacity_bytes = int(self.sizes.sum() * part / case.world_size)
        self.cache = self.opened()
        self.arena = PlainArena(self.sizes, self.capacity_bytes)
        self.epoch = 0

    def opened(self) -> Cache:
        return open_cache(self.name, self.rank_schedule, self.sizes, self.capacity_bytes)

    @rule()
    def next_epoch(self) -> None:
        self.arena.run(self.cache.epoch(self.epoch))
        self.epoch += 1

    @rule(steps=st.integers(1, 3))
    def jump(self, steps: int) -> None:
        self.epoch += steps
        if self.name != "pinned":
            self.arena.restart()  # a cache that is asked for another epoch than the next expects nothing

    @rule(part=st.floats(0, 1))
    def restart_inside(self, part: float) -> None:
        batches = self.rank_schedule.schedule(self.epoch).batches
        start = batches.edge(int(part * batches.num_batches))
        before = self.cache
        self.cache = self.opened()
        self.arena.restart()
        if isinstance(before, LiquidCache) and isinstance(self.cache, LiquidCache) and before.since >= 0:
            self.cache.replay(before.since, self.epoch)
        if self.rank_schedule.order.num_samples > start:
            self.arena.run(self.cache.epoch(self.epoch, start))
            self.epoch += 1

    @invariant()
    def nothing_is_kept_without_a_capacity(self) -> None:
        if hasattr(self, "arena") and self.capacity_bytes == 0:
            assert not self.arena.resident


Caching.TestCase.settings = settings(property_of_order, max_examples=30, stateful_step_count=5)
TestCaching = Caching.TestCase


@pytest.mark.parametrize("part", [0.1, 0.3, 0.7, 1.0])
@pytest.mark.parametrize("world_size", [1, 8])
@pytest.mark.parametrize("num_formats", [1, 2, 3])
@pytest.mark.parametrize("name", ["rolling", "liquid"])
def test_hits_are_constant_from_the_second_epoch_on(name: str, num_formats: int, world_size: int, part: float) -> None:
    sizes = sizes_of(8_000)
    rank_schedule = RankSchedule(Order(np.arange(8_000) * 7 % num_formats, seed=3), 64, world_size - 1, world_size)
    cache = open_cache(name, rank_schedule, sizes, int(sizes.sum() * part / world_size))

    cache.epoch(0)
    per_batch = np.concatenate([cache.epoch(epoch).hits_per_batch[:-1] for epoch in (1, 2, 3)])

    assert np.ptp(per_batch) <= (2 if num_formats == 1 else 4)  # ± 1, ± 2
    assert abs(per_batch.mean() / 64 - part) < (0.045 if name == "liquid" else 0.02 if world_size > 1 else 0.01)


@pytest.mark.parametrize("num_formats", [1, 3])
@pytest.mark.parametrize("part", [0.1, 0.3, 0.7])
@pytest.mark.parametrize("name", ["rolling", "pinned"])
def test_memory_for_a_part_saves_that_part_of_the_reads(name: str, part: float, num_formats: int) -> None:
    sizes = sizes_of(5_000)
    rank_schedule = RankSchedule(Order(np.arange(5_000) % num_formats, seed=4), 64)
    cache = open_cache(name, rank_schedule, sizes, int(sizes.sum() * part))

    cache.epoch(0)
    read_bytes = [int(sizes[cache.epoch(epoch).reads[0]].sum()) for epoch in (1, 2, 3, 4)]

    assert np.abs(np.array(read_bytes) / sizes.sum() - (1 - part)).max() < 0.0075  # of the dataset


def test_samples_that_change_their_rank_still_fill_the_memory() -> None:
    sizes = sizes_of(6_000)
    cache = RollingCache(
        RankSchedule(Order(np.zeros(6_000, np.uint8), seed=5), 60, 0, 7), sizes, int(sizes.sum() * 0.1) // 7
    )

    cache.epoch(0)

    assert cache.epoch(1).hits.mean() > 0.07  # 0.1 / 7 if samples were chosen that another rank has now


def test_pinned_hits_what_it_pinned() -> None:
    sizes = sizes_of(5000)
    cache = open_cache("pinned", RankSchedule(Order(np.zeros(5000, np.uint8)), 64), sizes, int(sizes.sum() * 0.3))

    pinned = int(cache.epoch(0).keeps.sum())

    assert [int(cache.epoch(epoch).hits.sum()) for epoch in (1, 2, 7)] == [pinned] * 3


def test_ranks_that_divide_the_lanes_hit_like_one() -> None:
    sizes = sizes_of(6_000)
    order = Order(np.arange(6_000) % 2, seed=5)

    def hits(world_size: int) -> float:
        caches = [
            RollingCache(
                RankSchedule(order, 240 // world_size, rank, world_size), sizes, int(sizes.sum() * 0.4) // world_size
            )
            for rank in range(world_size)
        ]
        for cache in caches:
            cache.epoch(0)
        return sum(int(cache.epoch(1).hits.sum()) for cache in caches) / 6_000

    assert hits(8) == pytest.approx(hits(1), abs=0.03)
    assert hits(7) < 0.2  # samples change their rank: the memory of one does not serve another


def test_a_restart_is_counted_as_refill() -> None:
    sizes = sizes_of(5000)
    rank_schedule = RankSchedule(Order(np.zeros(5000, np.uint8)), 50)
    capacity_bytes = int(sizes.sum() * 0.3)

    restarted = open_cache("rolling", rank_schedule, sizes, capacity_bytes)
    resumed, after = restarted.epoch(3, start=2500), restarted.epoch(4)

    assert not resumed.hits.any()
    assert resumed.refills.mean() == pytest.approx(0.3, abs=0.02)
    assert (after.hits | after.refills).mean() == pytest.approx(0.3, abs=0.02)
    assert not restarted.epoch(5).refills.any()


@property_of_order
@given(case=cases(windows=False), part=st.floats(0, 1.2))
def test_all_batches_of_an_epoch_hit_alike(case: Case, part: float) -> None:
    sizes = sizes_of(case.num_samples)
    cache = open_cache("rolling", RankSchedule(case.order(), case.batch_size), sizes, int(sizes.sum() * part))

    cache.epoch(0)
    hits = cache.epoch(1).hits_per_batch[:-1]

    assert np.ptp(hits) <= 2 if len(hits) else True


def test_what_no_cache_can_do_is_refused() -> None:
    rank_schedule = RankSchedule(Order(np.zeros(100, np.uint8)), 10)
    sizes = np.ones(100, np.int64)

    for wrong in (
        lambda: open_cache("lru", rank_schedule, sizes, 10),
        lambda: open_cache("rolling", rank_schedule, sizes, -1),
        lambda: open_cache("rolling", rank_schedule, sizes[:50], 10),
        lambda: open_cache("liquid", RankSchedule(rank_schedule.order, 10, drop_last=True), sizes, 10),
        lambda: open_cache("liquid", rank_schedule, sizes, 10).epoch(0, start=5),
    ):
        with pytest.raises(ArgumentError) as error:
            wrong()
        assert error.value.fix


def test_liquid_resumes_before_a_last_batch_that_took_samples_of_the_one_before() -> None:
    rank_schedule = RankSchedule(Order(np.zeros(5, np.uint8)), 2, 0, 2)
    whole = LiquidCache.create(rank_schedule, np.full(5, 10), 0).epoch(0)
    edge = rank_schedule.schedule(0).batches.edge(1)

    rest = LiquidCache.create(rank_schedule, np.full(5, 10), 0).epoch(0, edge)

    assert edge == 2
    assert rest.ids.tolist() == whole.ids[whole.starts[1] :].tolist()
