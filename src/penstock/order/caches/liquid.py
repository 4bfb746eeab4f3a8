"""Liquid's cache as published (APSys 2023): one shuffle buffer per format, with regions for this epoch and the next.

Each batch draws its part of every format from the buffer's current region, moves a fixed number of drawn samples to the
next epoch's region, and frees the rest. A fixed number of new records is read, in the order of the disk. New records
enter before a batch is drawn: drawing first, as in the paper's figure, runs out at the end of an epoch.

The order depends on the capacity, the batches and ranks, and the epoch in which the buffers were filled; a state saves
all of it. The last batches have few samples to draw from. `rolling` has neither disadvantage.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from penstock.counter_rng import Purpose, words
from penstock.errors import ArgumentError
from penstock.order.caches.contract import Cache, CacheOrder, EpochCachePlan, Flags, formats_by_id
from penstock.order.epochs import Order
from penstock.order.permutation import Indices, order_of
from penstock.order.rank_schedule import RankSchedule
from penstock.order.ranks import Batches

ATTEMPTS = 12
SPREAD = 4.0  # standard deviations of the resident bytes that are left free
FRESH_SPREAD = 2.0  # standard deviations of a sample's size, for batches of large ones
NAME = "liquid"


class LiquidCache(Cache):
    """Cache with constant hits and reads per batch and format, from the second epoch on.

    Every rank has its own buffers, for the samples that the order's first epoch gives it. Reads follow the order's
    `places` on disk.
    """

    keeps_samples = True
    owns_order = True

    def __init__(self, rank_schedule: RankSchedule, sizes: npt.NDArray[np.integer], capacity_bytes: int) -> None:
        if rank_schedule.drop_last:
            raise ArgumentError(
                "the liquid cache delivers every sample in every epoch",
                where="drop_last",
                fix='use drop_last=False, or cache="rolling"',
                code=100,
            )
        self._rank_schedule = rank_schedule
        self._sizes = np.asarray(sizes, np.int64)
        self.capacity_bytes = capacity_bytes
        order = rank_schedule.order
        mine = order.epoch(0).take(range(rank_schedule.rank, order.num_samples, rank_schedule.world_size))
        mine = np.sort(mine) if order.places is None else mine[np.argsort(order.places[mine])]
        formats = formats_by_id(rank_schedule, len(sizes))[mine]
        self._members = [mine[formats == number] for number in range(int(formats.max(initial=0)) + 1)]
        self._capacities = [0] * len(self._members)
        self._kept: list[Indices] = []
        self._absent = np.zeros(len(sizes), bool)  # what should be in memory, and is not since a restart
        self._expected = -1
        self.since = -1
        """The epoch in which the buffers were filled."""

    @classmethod
    def create(cls, rank_schedule: RankSchedule, sizes: npt.NDArray[np.integer], capacity_bytes: int) -> LiquidCache:
        """Open the cache with empty buffers."""
        return cls(rank_schedule, sizes, capacity_bytes)

    @classmethod
    def resume(
        cls,
        rank_schedule: RankSchedule,
        sizes: npt.NDArray[np.integer],
        capacity_bytes: int,
        saved: CacheOrder | None,
        epoch: int,
    ) -> LiquidCache:
        """Resume from a state, with its capacity if it saved one, else with this loader's."""
        if saved is None:
            return cls(rank_schedule, sizes, capacity_bytes)
        if (saved.batch_size, saved.world_size) != (rank_schedule.batch_size, rank_schedule.world_size):
            raise ArgumentError(
                f"the state is of batches of {saved.batch_size} on {saved.world_size} ranks, "
                f"this loader has {rank_schedule.batch_size} on {rank_schedule.world_size}",
                where="state",
                fix='use the same with the liquid cache, or cache="rolling", whose states load at any',
                code=100,
            )
        cache = cls(rank_schedule, sizes, saved.capacity_bytes)
        cache.replay(saved.since, epoch)
        return cache

    @classmethod
    def refuse_options(cls, order: Order, *, drop_last: bool) -> None:
        """Refuse options of an order that this cache does not follow."""
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

    @classmethod
    def num_passing(cls, num_under_way: int) -> int:
        """Return 0: fresh samples have room of their own (`fresh_bytes`)."""
        return 0

    @classmethod
    def fresh_bytes(cls, sizes: npt.NDArray[np.integer], num_under_way: int) -> int:
        """Return the room of fresh samples, which all pass through memory; for a tiny dataset, that of all samples."""
        typical = float(sizes.mean()) + FRESH_SPREAD * float(sizes.std())
        return min(int(sizes.sum()), int(num_under_way * typical))

    @property
    def order(self) -> CacheOrder:
        """Order that a state must save."""
        ranks = self._rank_schedule
        return CacheOrder(NAME, self.capacity_bytes, ranks.batch_size, ranks.world_size, self.since)

    def epoch(self, epoch: int, start: int = 0) -> EpochCachePlan:
        """Draw, keep and read one epoch. The order of samples inside an epoch is the cache's own.

        A `start` inside the epoch is for a cache that has drawn the epochs before it (`replay`).
        """
        batches = self._rank_schedule.schedule(epoch).batches
        cold = epoch != self._expected
        if cold:
            self.since = epoch
            self._capacities = self._affordable()
            self._kept = [members[:0] for members in self._members]
        first = _batch_at(batches, start) if start else 0
        if cold or start:
            self._absent = np.zeros(len(self._sizes), bool)
        cache_plan, kept = self._run(epoch, batches.starts(), cold)
        self._kept, self._expected = kept, epoch + 1
        self._absent = np.zeros(len(self._sizes), bool)  # what was read anew is there from now on
        return self._rest(cache_plan, first) if first else cache_plan

    def replay(self, since: int, epoch: int) -> None:
        """Draw the epochs from `since` up to `epoch` again, so that a restarted process continues their order.

        Its memory is empty: missing samples count as refills, and are read when they are due.
        """
        for earlier in range(since, epoch):
            self.epoch(earlier)
        self._absent = np.zeros(len(self._sizes), bool)
        if since < epoch:
            self._absent[np.concatenate(self._kept)] = True

    def _rest(self, cache_plan: EpochCachePlan, first: int) -> EpochCachePlan:
        """Return the batches from `first` on, with nothing in memory."""
        begin = int(cache_plan.starts[first])
        ids, keeps, starts = cache_plan.ids[begin:], cache_plan.keeps[begin:], cache_plan.starts[first:] - begin
        self._absent[cache_plan.ids[:begin][cache_plan.keeps[:begin]]] = True
        assert cache_plan.ahead is not None
        planned, planned_starts = cache_plan.ahead
        come = np.zeros(len(self._sizes), bool)
        come[planned[planned_starts[first] :]] = True
        plan = _Plan(ids, keeps, planned[planned_starts[first] :], planned_starts[first:] - planned_starts[first])
        return self._accounted(cache_plan.epoch, starts, plan, hits=np.zeros(len(ids), bool), missing=~come[ids])

    def _run(self, epoch: int, starts: Indices, cold: bool) -> tuple[EpochCachePlan, list[Indices]]:
        """Run one epoch; the next one's capacity shrinks in the rare case that the peak would not fit."""
        capacities = self._capacities
        for attempt in range(ATTEMPTS + 1):
            buffers = [
                _Buffer(members, kept, capacity if cold else len(kept), goal, _key(self._rank_schedule, epoch, number))
                for number, (members, kept, capacity, goal) in enumerate(
                    zip(self._members, self._kept, self._capacities, capacities, strict=True)
                )
            ]
            cache_plan = self._cache_plan(epoch, starts, buffers)
            if cache_plan.peak_bytes <= self.capacity_bytes:
                return cache_plan, [np.sort(buffer.next_region) for buffer in buffers]
            shrink = 1 - (attempt + 1) / ATTEMPTS
            capacities = [int(capacity * shrink) for capacity in self._capacities]
        raise AssertionError("a buffer that keeps nothing did not fit")

    def _cache_plan(self, epoch: int, starts: Indices, buffers: list[_Buffer]) -> EpochCachePlan:
        shares = batch_shares(starts, [len(members) for members in self._members])
        drawn: list[Indices] = []
        keeps: list[Flags] = []
        read: list[Indices] = []
        num_read = np.zeros(len(starts), np.int64)
        for batch, share in enumerate(shares):
            for number, buffer in enumerate(buffers):
                ids, kept, fresh = buffer.step(batch, int(share[number]))
                drawn.append(ids)
                keeps.append(kept)
                read.append(fresh)
                num_read[batch + 1] += len(fresh)
        plan = _Plan(_joined(drawn), _joined(keeps).astype(bool), _joined(read), np.cumsum(num_read))
        resident = np.zeros(len(self._sizes), bool)
        resident[_joined(self._kept)] = True
        missing = self._absent[plan.ids]
        return self._accounted(epoch, starts, plan, hits=resident[plan.ids] & ~missing, missing=missing)

    def _accounted(self, epoch: int, starts: Indices, plan: _Plan, *, hits: Flags, missing: Flags) -> EpochCachePlan:
        """Account for samples that are missing in memory, which are read with the batch that uses them."""
        reads, read_starts = plan.reads_with(np.flatnonzero(missing), starts)
        before = int(self._sizes[plan.ids[hits]].sum())
        gained = np.concatenate([[0], np.cumsum(self._sizes[reads])])[read_starts]
        freed = np.concatenate([[0], np.cumsum(self._sizes[plan.ids] * ~plan.keeps)])[starts]
        return EpochCachePlan(
            epoch,
            plan.ids,
            starts,
            hits,
            plan.keeps,
            resident_bytes=before + gained - freed,
            refills=missing,
            ahead=(reads, read_starts),
        )

    def _affordable(self) -> list[int]:
        """Return the number of records of each format to keep: an equal share, with room for uneven sizes."""
        mine = np.concatenate([*self._members, np.zeros(0, np.int64)])
        sizes = self._sizes[mine]
        total_bytes = int(sizes.sum())
        if total_bytes <= self.capacity_bytes:
            return [len(members) for members in self._members]
        share = self.capacity_bytes / total_bytes
        deviation = float(sizes.std()) * (len(mine) * share * (1 - share)) ** 0.5
        share = max(self.capacity_bytes - SPREAD * deviation, 0) / total_bytes
        return [int(len(members) * share) for members in self._members]


@dataclass(frozen=True)
class _Plan:
    """Actions of the buffers: samples slot by slot, and reads batch by batch."""

    ids: Indices
    keeps: Flags
    reads: Indices
    read_starts: Indices

    def reads_with(self, slots: Indices, starts: Indices) -> tuple[Indices, Indices]:
        """Return the reads and, behind those of each batch, the samples of some of its slots."""
        if not len(slots):
            return self.reads, self.read_starts
        batches = np.concatenate(
            [
                np.repeat(np.arange(len(starts) - 1), np.diff(self.read_starts)),
                np.searchsorted(starts, slots, side="right") - 1,
            ]
        )
        in_turn = np.argsort(batches, kind="stable")
        counts = np.bincount(batches, minlength=len(starts) - 1)
        return np.concatenate([self.reads, self.ids[slots]])[in_turn], np.concatenate([[0], np.cumsum(counts)])


class _Buffer:
    """Shuffle buffer of one format, for one epoch."""

    def __init__(self, members: Indices, kept: Indices, capacity: int, goal: int, key: tuple[int, int, int]) -> None:
        self._num = len(members)
        self._capacity = capacity  # of this epoch: what is in memory before it, or is read before its first batch
        self._goal = goal  # of the next
        self._key = key
        self._fresh = members[~np.isin(members, kept, assume_unique=True)]
        self._current = np.empty(len(members), np.int64)
        self._current[: len(kept)] = kept
        self._size = len(kept)
        self._num_drawn = self._num_read = self._num_kept = 0
        self._next: list[Indices] = []

    @property
    def next_region(self) -> Indices:
        """Samples that the next epoch starts with."""
        return _joined(self._next)

    def step(self, batch: int, count: int) -> tuple[Indices, Flags, Indices]:
        """Read, draw `count` samples, and keep some. Return the drawn, the kept and the read samples."""
        self._num_drawn += count
        fresh = self._read()
        places = _draw(self._size, count, (*self._key, batch))
        drawn = self._current[places]
        self._remove(places)
        keeps = np.arange(count) < self._part(self._goal) - self._num_kept
        self._num_kept += int(keeps.sum())
        self._next.append(drawn[keeps])
        return drawn, keeps, fresh

    def _part(self, whole: int) -> int:
        """Return the part of `whole` that is due by now, rounded down."""
        return whole * self._num_drawn // max(self._num, 1)

    def _read(self) -> Indices:
        due = len(self._fresh) - self._num + self._capacity + self._part(self._num - self._capacity)
        fresh = self._fresh[self._num_read : due]
        self._current[self._size : self._size + len(fresh)] = fresh
        self._size += len(fresh)
        self._num_read += len(fresh)
        return fresh

    def _remove(self, places: Indices) -> None:
        """Fill the holes at `places` with samples from the end."""
        self._size -= len(places)
        at_end = np.ones(len(places), bool)
        at_end[places[places >= self._size] - self._size] = False
        self._current[places[places < self._size]] = self._current[self._size : self._size + len(places)][at_end]


def _batch_at(batches: Batches, start: int) -> int:
    """Return the batch that begins at a position of the epoch."""
    number = start // (batches.batch_size * batches.world_size)
    for nearest in (number, number + 1):  # the batch before a small last one gives samples to it, and ends earlier
        if nearest < batches.num_batches and batches.edge(nearest) == start:
            return nearest
    raise ArgumentError(
        f"no batch begins at sample {start} of the epoch: the liquid cache's order depends on its batches",
        where="start",
        fix='start between batches of the same size, or use cache="rolling"',
        code=100,
    )


def batch_shares(starts: Indices, counts: list[int]) -> npt.NDArray[np.int64]:
    """Return the samples of each format per batch, always within one of the exact ratio, also in sum."""
    numbers = [(2 * np.arange(count) + 1) / max(count, 1) for count in counts]
    formats = np.repeat(np.arange(len(counts)), counts)
    in_turn = formats[np.argsort(np.concatenate([*numbers, np.zeros(0)]), kind="stable")]
    batches = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    cells = np.bincount(batches * len(counts) + in_turn, minlength=(len(starts) - 1) * len(counts))
    return cells.reshape(-1, len(counts))


def _draw(num: int, count: int, key: tuple[int, int, int, int]) -> Indices:
    """Draw `count` different numbers below `num`, in random order, all choices equally likely."""
    seed, epoch, number, batch = key
    item = number << 40 | batch
    if num < 4 * count:
        return order_of(words(num, seed, Purpose.LIQUID, epoch, item))[:count]
    tried = 2 * count
    while True:
        numbers = (words(tried, seed, Purpose.LIQUID, epoch, item) >> np.uint64(32)) * np.uint64(num) >> np.uint64(32)
        _, first = np.unique(numbers, return_index=True)
        if len(first) >= count:
            drawn: Indices = numbers[np.sort(first)[:count]].astype(np.int64)
            return drawn
        tried *= 2


def _key(rank_schedule: RankSchedule, epoch: int, number: int) -> tuple[int, int, int]:
    """Return a random key that differs between ranks."""
    return rank_schedule.order.seed, epoch, number * rank_schedule.world_size + rank_schedule.rank


def _joined(parts: list[Indices] | list[Flags]) -> Indices:
    return np.concatenate([*parts, np.zeros(0, np.int64)])
