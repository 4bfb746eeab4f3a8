"""Contract of a cache: it decides, before an epoch starts, what every batch reads, finds in memory, keeps and drops.

A cache holds no bytes. The engine follows its decisions and the planner predicts with them, from the same numbers.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from penstock.order.epochs import Order
from penstock.order.permutation import Indices
from penstock.order.rank_schedule import RankSchedule

if TYPE_CHECKING:
    from typing_extensions import Self

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class EpochCachePlan:
    """Cache plan of one epoch of one rank. Batch b has slots starts[b] … starts[b + 1]-1 of `ids`, `hits` and `keeps`.

    For each batch b: read `reads_of(b)`, deliver its slots, free `drops_of(b)`, and take what `keeps` says into memory.
    Batches do this one after the other, so `resident_bytes` is exact: its first number is the memory before the epoch,
    the others are the memory after each batch.
    """

    epoch: int
    ids: Indices
    starts: Indices
    hits: Flags
    """Slots that are in memory since an earlier epoch."""
    keeps: Flags
    """Slots whose record stays in memory after its use."""
    resident_bytes: Indices
    refills: Flags
    """Slots that would be hits, had the cache not been restarted."""
    ahead: tuple[Indices, Indices] | None = None
    """Reads ahead of the batches that use them, as (ids, starts); all of them go through memory."""
    open_bytes: Indices | None = None
    """Bytes that were read and wait for their batch if a window reads whole runs, besides `resident_bytes`."""

    @property
    def peak_bytes(self) -> int:
        """Largest number of bytes that the cache holds. Reads of a batch are in flight until its drops are freed."""
        return int(self.resident_bytes.max())

    @property
    def num_batches(self) -> int:
        """Number of batches."""
        return len(self.starts) - 1

    def slots(self, batch: int) -> slice:
        """Return the slots of a batch."""
        return slice(int(self.starts[batch]), int(self.starts[batch + 1]))

    def reads_of(self, batch: int) -> Indices:
        """Return the samples to read from disk before a batch."""
        ids, starts = self.reads
        return ids[starts[batch] : starts[batch + 1]]

    def drops_of(self, batch: int) -> Indices:
        """Return the samples that leave memory after a batch."""
        slots = self.slots(batch)
        dropped: Indices = self.ids[slots][self.leaves_of(batch)]
        return dropped

    def leaves_of(self, batch: int) -> Flags:
        """Return which slots of a batch are in memory and leave it after their use."""
        slots = self.slots(batch)
        leaves: Flags = ~self.keeps[slots] if self.ahead else self.hits[slots] & ~self.keeps[slots]
        return leaves

    @cached_property
    def reads(self) -> tuple[Indices, Indices]:
        """Reads of the epoch as (ids, starts): batch b reads ids[starts[b] : starts[b + 1]]."""
        if self.ahead:
            return self.ahead
        return self.ids[~self.hits], self._before(~self.hits)[self.starts]

    @property
    def hits_per_batch(self) -> Indices:
        """Number of records that each batch delivers without reading them."""
        return np.maximum(np.diff(self.starts) - self.reads_per_batch, 0)

    @property
    def found_per_batch(self) -> Indices:
        """Number of records of each batch that are in memory since an earlier epoch."""
        return np.diff(self._before(self.hits)[self.starts])

    @property
    def reads_per_batch(self) -> Indices:
        """Number of records that each batch reads."""
        return np.diff(self.reads[1])

    @staticmethod
    def _before(flags: Flags) -> Indices:
        """Count the set flags before each slot, and in all."""
        return np.concatenate([[0], np.cumsum(flags, dtype=np.int64)])


@dataclass(frozen=True)
class CacheOrder:
    """Values that the order depends on if a cache draws it; a state saves them.

    `policy` is the cache's name, and `since` the epoch in which its buffers were filled.
    """

    policy: str
    capacity_bytes: int
    batch_size: int
    world_size: int
    since: int

    def to_json(self) -> Mapping[str, int]:
        """Return the members that a state saves under the name of the policy."""
        return {name: value for name, value in vars(self).items() if name != "policy"}


class Cache(ABC):
    """Base class of a cache policy for one rank. Class attributes declare what a loader must know about it."""

    buffered: ClassVar[bool] = False
    """Reads go through the system's page cache."""
    keeps_samples: ClassVar[bool] = False
    """Samples stay in the loader's own memory between epochs."""
    owns_order: ClassVar[bool] = False
    """The cache draws the order of samples itself, and a state saves its `order`."""
    is_permanent: ClassVar[bool] = False
    """A sample that is in memory stays there; no other takes its place."""

    @classmethod
    @abstractmethod
    def create(cls, rank_schedule: RankSchedule, sizes: npt.NDArray[np.integer], capacity_bytes: int) -> Cache:
        """Open the cache of one rank, with an empty memory. `sizes` are by sample of the dataset."""

    @classmethod
    def resume(
        cls,
        rank_schedule: RankSchedule,
        sizes: npt.NDArray[np.integer],
        capacity_bytes: int,
        saved: CacheOrder | None,
        epoch: int,
    ) -> Cache:
        """Open the cache for a state that stands in `epoch`; only caches that own the order use what it saved."""
        return cls.create(rank_schedule, sizes, capacity_bytes)

    @classmethod  # noqa: B027  # most caches refuse nothing
    def refuse_options(cls, order: Order, *, drop_last: bool) -> None:
        """Raise `ArgumentError` for options that have no meaning beside this cache."""

    @classmethod
    def num_passing(cls, num_under_way: int) -> int:
        """Return how many samples of batches under way may enter memory before others leave it."""
        return num_under_way

    @classmethod
    def fresh_bytes(cls, sizes: npt.NDArray[np.integer], num_under_way: int) -> int:
        """Return the memory that samples read for batches under way need beside the cache's capacity."""
        return 0

    @property
    def order(self) -> CacheOrder | None:
        """Order that a state must save, for caches that own the order."""
        return None

    @property
    def resident(self) -> Flags | None:
        """Samples in memory after the epochs requested so far; None for caches that keep nothing."""
        return None

    def copy(self) -> Self:
        """Return a cache in the same state that plans on independently. Arrays are replaced, never changed in place."""
        return copy.copy(self)

    def carry(self, resident: Flags) -> None:  # noqa: B027  # what keeps nothing has nothing to do
        """Take over samples in memory from a cache of other sizes, before the first epoch. It may use some or none."""

    @abstractmethod
    def epoch(self, epoch: int, start: int = 0) -> EpochCachePlan:
        """Plan `epoch`, from position `start` on.

        Epochs should come one after the other. After any other step, and with a start inside an epoch, the memory holds
        nothing useful and the cache starts empty.
        """


def occupancy(before: int, starts: Indices, gains: Indices) -> Indices:
    """Return the bytes before the first batch and after each, if slot i adds gains[i] (negative: frees them)."""
    total = np.concatenate([[0], np.cumsum(gains, dtype=np.int64)])
    return before + total[starts]


def formats_by_id(rank_schedule: RankSchedule, num_samples: int) -> npt.NDArray[np.uint16]:
    """Return the format of every sample of the dataset as a small number; 0 outside the selection."""
    formats = np.zeros(num_samples, np.uint16)
    formats[rank_schedule.order.selection] = np.unique(rank_schedule.order.formats, return_inverse=True)[1]
    return formats
