"""Contents of each batch of a rank: an epoch's order divided into the rank's batches, a range at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from penstock.order.epochs import EpochOrder
from penstock.order.permutation import Indices
from penstock.order.ranks import Batches


@dataclass(frozen=True)
class BatchRange:
    """Consecutive batches: batch first + i holds ids[starts[i] : starts[i + 1]]."""

    first: int
    ids: Indices
    starts: Indices

    @property
    def num_batches(self) -> int:
        """Number of batches."""
        return len(self.starts) - 1


@dataclass(frozen=True)
class Schedule:
    """Samples of each batch of one rank in one epoch.

    >>> import numpy as np
    >>> from penstock.order import Order
    >>> order = Order(np.zeros(10, np.uint8), shuffle=False)
    >>> schedule = Schedule(order.epoch(0), Batches(order.num_samples, batch_size=4))
    >>> schedule.num_batches, schedule.ids_of(2).tolist()
    (3, [8, 9])
    """

    epoch_order: EpochOrder
    batches: Batches

    @property
    def num_batches(self) -> int:
        """Number of batches, the same on every rank."""
        return self.batches.num_batches

    def ids_of(self, index: int) -> Indices:
        """Return the samples of batch `index`, in slot order."""
        return self.epoch_order.take(self.batches.positions(index))

    def batch_range(self, first: int = 0, last: int | None = None) -> BatchRange:
        """Return batches first … last-1 (to the end by default)."""
        last = self.num_batches if last is None else last
        ids = self.epoch_order.take(self.batches.positions(first, last))
        return BatchRange(first, ids, self.batches.starts(first, last))

    def batch_ranges(self, num_batches: int, first: int = 0) -> Iterator[BatchRange]:
        """Yield the batches from `first` on, `num_batches` at a time, so that memory never holds a whole epoch."""
        for begin in range(first, self.num_batches, num_batches):
            yield self.batch_range(begin, min(begin + num_batches, self.num_batches))
