"""The `liquid` cache in a loader: its order is its own, so a state keeps what that depends on."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from penstock.errors import ArgumentError
from penstock.order import LiquidOrder, Order, RankSchedule, State
from penstock.order.caches import LiquidCache

SPREAD = 2.0  # standard deviations of a sample's size, for batches of large ones


def refuse_with_liquid(order: Order, *, drop_last: bool) -> None:
    """Refuse what makes no sense together with a cache that has an order of its own."""
    for name, is_wrong in (
        ("drop_last", drop_last),
        ("shuffle", not order.shuffle),
        ("window", order.window is not None),
    ):
        if is_wrong:
            raise ArgumentError(
                f"the liquid cache draws an order of its own, for which {name} says nothing",
                where=name,
                fix=f'leave {name} out, or use cache="rolling"',
                code=100,
            )


def check_liquid(state: State, *, is_liquid: bool) -> None:
    """Refuse a state that was saved in another order than this loader's cache has."""
    if (state.liquid is not None) != is_liquid and (state.delivered or state.liquid is not None):
        has, wants = ("liquid", "another") if state.liquid is not None else ("another", "liquid")
        raise ArgumentError(
            f"the state was saved with {has} cache, this loader has {wants}: their orders differ",
            where="state",
            fix="make the loader with " + ('cache="liquid"' if state.liquid is not None else "that cache"),
            code=100,
        )


def open_liquid(
    state: State, rank_schedule: RankSchedule, sizes: npt.NDArray[np.int64], capacity_bytes: int
) -> LiquidCache:
    """The cache that goes on from a state: of the state's capacity, if it has one, else of this loader's."""
    saved = state.liquid
    if saved is None:
        return LiquidCache(rank_schedule, sizes, capacity_bytes)
    if (saved.batch_size, saved.world_size) != (rank_schedule.batch_size, rank_schedule.world_size):
        raise ArgumentError(
            f"the state is of batches of {saved.batch_size} on {saved.world_size} ranks, "
            f"this loader has {rank_schedule.batch_size} on {rank_schedule.world_size}",
            where="state",
            fix='use the same with the liquid cache, or cache="rolling", whose states load at any',
            code=100,
        )
    cache = LiquidCache(rank_schedule, sizes, saved.capacity_bytes)
    cache.replay(saved.since, state.epoch)
    return cache


def order_of(cache: LiquidCache, rank_schedule: RankSchedule) -> LiquidOrder:
    """What a state keeps of it."""
    return LiquidOrder(cache.capacity_bytes, rank_schedule.batch_size, rank_schedule.world_size, cache.since)


def passing_bytes(sizes: npt.NDArray[np.int64], num_samples: int) -> int:
    """Room for the fresh samples of the batches under way, which go through memory; of a tiny set, for all of it."""
    return min(int(sizes.sum()), int(num_samples * (float(sizes.mean()) + SPREAD * float(sizes.std()))))
