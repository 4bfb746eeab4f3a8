"""Decisions of a loader's plan as plain values, for all code that reads a plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from penstock.index import Ids
from penstock.load.budget import Budget, MemoryRequest
from penstock.load.cache_layout import CacheLayout
from penstock.load.memory_needs import PlanBasis
from penstock.order import State
from penstock.order.caches import CacheOrder


@dataclass(frozen=True, repr=False)
class PlanValues(PlanBasis):
    """Decisions of a plan. `LoaderPlan` adds methods."""

    reading: Mapping[str, Any] = field(default_factory=dict)
    """Pattern of reads (`pattern`), and its origin (`from`)."""
    cache_layout: CacheLayout = field(default_factory=CacheLayout)
    """Form of each sample in the cache."""
    request: MemoryRequest = field(default_factory=lambda: MemoryRequest(1, 1, None, 0, None))
    """Memory that the samples and options ask for."""
    memory: Budget = field(default_factory=lambda: Budget(0, 0, 0, 1))
    """Division of the memory."""
    unmeasured: tuple[str, ...] = ()
    """Options that a `Loader` measures before it starts: `window`, `cache_format`. Here they are estimates."""

    @property
    def num_batches(self) -> int:
        """Number of batches of a whole epoch, the same on every rank."""
        return self.rank_schedule.schedule(0).num_batches

    @property
    def header_ids(self) -> Ids:
        """Samples whose image headers were read to make this plan; at most 64, often none."""
        return self.samples.ids[:0] if self.headers is None else self.headers.ids

    def state(self, epoch: int, delivered: int, fidelity: int | None, cache_order: CacheOrder | None = None) -> State:
        """Return the state after `delivered` samples of an epoch."""
        state = State.of(self.order, epoch, delivered, self.samples.fingerprint, fidelity)
        return replace(state, cache_order=cache_order)
