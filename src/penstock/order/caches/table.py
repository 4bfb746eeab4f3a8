"""Table of caches by name."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from penstock.errors import ArgumentError
from penstock.order.caches.contract import Cache
from penstock.order.caches.liquid import NAME as LIQUID
from penstock.order.caches.liquid import LiquidCache
from penstock.order.caches.pinned import PinnedCache
from penstock.order.caches.rolling import RollingCache
from penstock.order.caches.runs import WindowedCache
from penstock.order.caches.uncached import NoCache, SystemCache
from penstock.order.rank_schedule import RankSchedule

CACHES: Mapping[str, type[Cache]] = {
    "rolling": RollingCache,
    "pinned": PinnedCache,
    LIQUID: LiquidCache,
    "system": SystemCache,
    "none": NoCache,
}
OWN_CACHES = tuple(name for name, policy in CACHES.items() if policy.keeps_samples)
"""Names of the caches that hold samples in the loader's own memory."""


def open_cache(
    name: str,
    rank_schedule: RankSchedule,
    sizes: npt.NDArray[np.integer],
    capacity_bytes: int,
    read_sizes: npt.NDArray[np.integer] | None = None,
) -> Cache:
    """Open the cache of one rank.

    `sizes` has the bytes of each sample of the dataset in memory; `capacity_bytes` is never exceeded. `read_sizes` has
    the bytes of a sample while it waits for its batch, if a window reads it before; `sizes` by default.

    >>> from penstock.order import Order
    >>> rank_schedule = RankSchedule(Order(np.zeros(6400, np.uint8), seed=1), batch_size=64)
    >>> cache = open_cache("rolling", rank_schedule, sizes=np.full(6400, 1000), capacity_bytes=1_920_000)
    >>> cold, warm = cache.epoch(0), cache.epoch(1)
    >>> set(warm.hits_per_batch.tolist()) <= {18, 19, 20}, warm.peak_bytes <= 1_920_000
    (True, True)
    """
    if len(sizes) <= int(rank_schedule.order.selection[-1:].max(initial=-1)):
        raise ArgumentError(
            f"sizes of {len(sizes)} samples", where="sizes", fix="give one for every sample of the dataset", code=100
        )
    if capacity_bytes < 0:
        raise ArgumentError(f"a capacity of {capacity_bytes} bytes", fix="give 0 or more", code=100)
    cache = policy_of(name).create(rank_schedule, sizes, capacity_bytes)
    if rank_schedule.order.reads_runs and not cache.owns_order:
        runs = rank_schedule.order.run_of_sample(len(sizes))
        return WindowedCache(cache, runs, sizes if read_sizes is None else read_sizes)
    return cache


def policy_of(name: str) -> type[Cache]:
    """Return the class of a cache by its name; refuse an unknown name."""
    if name not in CACHES:
        raise ArgumentError(
            f"there is no cache '{name}'", where="cache", fix=f"choose one of {', '.join(CACHES)}", code=100
        )
    return CACHES[name]
