"""Ask the cache of a plan for one epoch after another. Pure: a loader follows the answers, a prediction counts them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from penstock.load.plan_values import PlanValues
from penstock.order import State
from penstock.order.caches import Cache, CacheOrder, EpochCachePlan, open_cache


class CacheSession:
    """Cache of one loader over its epochs. It is opened at the first epoch."""

    def __init__(self, plan: PlanValues) -> None:
        self._plan = plan
        self._cache: Cache | None = None
        self._fidelity: int | None = None
        self._held: npt.NDArray[np.int64] | None = None

    @property
    def order(self) -> CacheOrder | None:
        """Order that a state must save, for a cache that owns the order; None before its first epoch."""
        return None if self._cache is None else self._cache.order

    @property
    def is_open(self) -> bool:
        """True if an epoch has been requested since the start, or since `forget`."""
        return self._cache is not None

    @property
    def resident(self) -> npt.NDArray[np.bool_] | None:
        """Samples in memory after the epochs requested so far; None if the cache does not say."""
        return None if self._cache is None else self._cache.resident

    def copy(self) -> CacheSession:
        """Return a session in the same state, to plan an epoch that may not come."""
        other = CacheSession(self._plan)
        other._cache = None if self._cache is None else self._cache.copy()
        other._fidelity, other._held = self._fidelity, self._held
        return other

    def epoch(self, start: State, fidelity: int | None) -> EpochCachePlan | None:
        """Return what the cache does in the epoch that starts; None if the loader has no cache."""
        plan, owns_order = self._plan, self._plan.policy.owns_order
        if plan.memory.cache_bytes == 0 and not plan.order.reads_runs and not owns_order:
            return None
        if owns_order and self._cache is None:
            self._cache = plan.policy.resume(
                plan.rank_schedule, plan.most_sizes, plan.memory.cache_bytes, start.cache_order, start.epoch
            )
        elif self._cache is None or (fidelity != self._fidelity and not owns_order):
            self._cache = self._open(fidelity)
            self._fidelity = fidelity
        return self._cache.epoch(start.epoch, start.delivered)

    def forget(self) -> None:
        """Start with an empty cache at the next epoch, because the current one was left before its end."""
        self._cache = None

    def _open(self, fidelity: int | None) -> Cache:
        """Open a cache for samples of this fidelity. Cached data stays; a higher fidelity reads only the rest."""
        plan = self._plan
        read_sizes = plan.samples.sizes_at(fidelity)
        sizes = read_sizes if plan.cache_layout.sizes is None else plan.cache_layout.sizes
        resident = None if self._cache is None else self._cache.resident
        if resident is not None and self._held is not None:
            sizes = np.where(resident, np.maximum(sizes, self._held), sizes)
        self._held = sizes
        cache = open_cache(plan.resources.cache, plan.rank_schedule, sizes, plan.memory.cache_bytes, read_sizes)
        if resident is not None:
            cache.carry(resident)
        return cache
