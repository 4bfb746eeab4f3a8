"""Ranks: the positions of an epoch that make up each batch of one rank.

Rank r of R takes every R-th position, so a global batch (one batch per rank) is a contiguous part of the sequence, the
same for every R. The remainder, if it is kept, is shared: no rank's batch is empty, and ranks differ by at most one
sample.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.errors import ArgumentError
from penstock.order.permutation import Indices


@dataclass(frozen=True)
class Batches:
    """Batches of one rank, from position `start` of an epoch of `num_samples` to its end.

    `batch_size` is per rank. With `drop_last` only whole global batches count, and `num_dropped` samples are left out.
    Otherwise the last batch is smaller; if fewer samples remain than there are ranks, each rank's last batch also takes
    one sample of the batch before (with batches of one sample: joins it).

    >>> batches = Batches(num_samples=10, batch_size=2, rank=1, world_size=2)
    >>> [list(batches.positions(index)) for index in range(batches.num_batches)]
    [[1, 3], [5, 7], [9]]
    """

    num_samples: int
    batch_size: int
    rank: int = 0
    world_size: int = 1
    drop_last: bool = False
    start: int = 0

    def __post_init__(self) -> None:
        if self.batch_size < 1 or self.world_size < 1:
            raise ArgumentError(
                f"batches of {self.batch_size} on {self.world_size} ranks", fix="give at least 1 of each", code=100
            )
        if not 0 <= self.rank < self.world_size:
            raise ArgumentError(
                f"rank {self.rank} of {self.world_size}", where="rank", fix="count ranks from 0", code=100
            )
        if not 0 <= self.start <= self.num_samples:
            raise ArgumentError(
                f"a start at {self.start} in an epoch of {self.num_samples} samples",
                where="start",
                fix="start inside the epoch",
                code=100,
            )
        remaining = self.num_samples - self.start
        if not self.drop_last and 0 < remaining < self.world_size:
            raise ArgumentError(
                f"{remaining} samples remain for {self.world_size} ranks",
                where="world_size",
                fix="use fewer ranks, or drop_last=True",
                code=100,
            )

    @property
    def num_batches(self) -> int:
        """Number of batches, the same on every rank."""
        whole, rest = divmod(self.num_samples - self.start, self.batch_size * self.world_size)
        joins = self.batch_size == 1 and rest < self.world_size
        return whole if self.drop_last or rest == 0 or joins else whole + 1

    @property
    def num_dropped(self) -> int:
        """Number of samples of the epoch that no rank gets."""
        return self.num_samples - self.edge(self.num_batches)

    @property
    def largest(self) -> int:
        """Size of the largest batch of any rank: `batch_size`, or 2 if a remainder joins batches of one."""
        last = -(-(self.edge(self.num_batches) - self.edge(max(self.num_batches - 1, 0))) // self.world_size)
        return max(self.batch_size, last)

    def edge(self, index: int) -> int:
        """Return the position where the ranks' batches number `index` begin: the number of samples before them.

        `edge(num_batches)` is the end of the last ones.
        """
        if not 0 <= index <= self.num_batches:
            raise ArgumentError(
                f"there is no batch {index} of {self.num_batches}", where="index", fix="count from 0", code=100
            )
        even = self.start + index * self.batch_size * self.world_size
        if self.drop_last or index < self.num_batches - 1:
            return even
        if index == self.num_batches:
            return self.num_samples
        borrows = index > 0 and self.num_samples - even < self.world_size
        return even - self.world_size if borrows else even

    def positions(self, first: int, last: int | None = None) -> range:
        """Return the positions of this rank's batch `first`, or of its batches first … last-1."""
        begin, end = self.edge(first), self.edge(first + 1 if last is None else last)
        return range(begin + (self.rank - begin) % self.world_size, end, self.world_size)

    def starts(self, first: int = 0, last: int | None = None) -> Indices:
        """Return the starts of batches first … last-1 in `positions(first, last)`, and their end as one more number."""
        last = self.num_batches if last is None else last
        begin = self.edge(first)
        edges = self.start + np.arange(first, last + 1) * (self.batch_size * self.world_size)
        tail = range(max(self.num_batches - 1, first), last + 1)
        edges[len(edges) - len(tail) :] = [self.edge(index) for index in tail]
        skipped = (self.rank - begin) % self.world_size
        return (edges - begin - skipped + self.world_size - 1) // self.world_size
