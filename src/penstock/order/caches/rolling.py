"""Cache with Liquid's constant hits, but without its regions and shrinking windows, and with an unchanged order.

When a sample is used, its position in the next epoch is known. It is kept if its slot there is one of the k that were
chosen of its format in its batch (`balance.py`). So every batch of the next epoch finds the same number of records in
memory and reads the same number, and the contents of memory are known before the epoch starts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from penstock.order.caches.balance import Epochs, choose
from penstock.order.caches.contract import Cache, EpochCachePlan, Flags, formats_by_id, occupancy
from penstock.order.caches.quota import ONE, Slots, trim
from penstock.order.caches.runs import RunSlots
from penstock.order.permutation import Indices
from penstock.order.rank_schedule import RankSchedule

ATTEMPTS = 10
FEW_HITS = 2  # of a batch, given up where memory runs short in the middle of an epoch; mostly that is enough
SAMPLES_LOOKED_AT = 10_000
EPOCHS_LOOKED_AT = 8
GOOD_ENOUGH = 0.998  # of the capacity: a search that comes so close stops


class RollingCache(Cache):
    """Cache that keeps the same share of every batch, the largest whose peak fits `capacity_bytes`.

    `favour` may give each format's share relative to the others, as a plan does; the default is 1. If the order has a
    window, whole runs are kept, and hits are constant over many batches instead of in each.
    """

    keeps_samples = True

    def __init__(
        self,
        rank_schedule: RankSchedule,
        sizes: npt.NDArray[np.integer],
        capacity_bytes: int,
        favour: npt.NDArray[np.floating] | None = None,
    ) -> None:
        self._rank_schedule = rank_schedule
        self._sizes = np.asarray(sizes, np.int64)
        self._capacity_bytes = capacity_bytes
        self._formats = formats_by_id(rank_schedule, len(sizes))
        num_formats = int(self._formats.max(initial=0)) + 1
        self._favour = np.ones(num_formats) if favour is None else np.asarray(favour, np.float64)
        self._run_of_sample = rank_schedule.order.run_of_sample(len(sizes)) if rank_schedule.order.reads_runs else None
        self._target = 0
        self._coming: _Coming | None = None
        self._resident = np.zeros(len(sizes), bool)
        self._carried: Flags | None = None

    @classmethod
    def create(cls, rank_schedule: RankSchedule, sizes: npt.NDArray[np.integer], capacity_bytes: int) -> RollingCache:
        """Open the cache with an empty memory."""
        return cls(rank_schedule, sizes, capacity_bytes)

    @property
    def kept_share(self) -> float:
        """Share of each batch that is served from memory once the cache is warm."""
        return self._target / ONE

    @property
    def resident(self) -> Flags:
        """Samples that the last epoch kept for the next one."""
        return self._resident

    def carry(self, resident: Flags) -> None:
        """Take over the samples that the first epoch would have kept."""
        self._carried = resident

    def epoch(self, epoch: int, start: int = 0) -> EpochCachePlan:
        """Plan an epoch: find what the last one kept, and keep what the next one wants."""
        coming = self._coming
        if coming is None or coming.epoch != epoch or start > 0:
            coming = self._begin(epoch, start)
            if self._carried is not None:
                self._resident = self._carried & self._flagged(coming.slots.ids[coming.wanted])
                self._carried = None
        now = coming.slots
        hits = coming.wanted & self._resident[now.ids]
        later = self._slots(epoch + 1)
        wanted = self._fitting(now, hits, later)
        keeps = self._kept(now, later, wanted)
        resident_bytes = self._occupancy(now, hits, keeps)

        self._coming = _Coming(epoch + 1, later, wanted)
        self._resident = self._flagged(now.ids[keeps])
        return EpochCachePlan(
            epoch,
            now.ids,
            now.starts,
            hits,
            keeps,
            resident_bytes,
            refills=coming.wanted & ~hits,
        )

    def _begin(self, epoch: int, start: int) -> _Coming:
        """Start with an empty memory, and find the share that fits from the next epoch on.

        The smaller the set, the more its peaks differ between epochs, and the more epochs are examined.
        """
        self._resident = np.zeros(len(self._sizes), bool)
        slots = self._slots(epoch, start)
        num_epochs = min(max(SAMPLES_LOOKED_AT // max(len(slots.ids), 1), 1), EPOCHS_LOOKED_AT)
        ahead = [self._slots(epoch + number) for number in range(num_epochs + 2)]

        def peak(kept: int) -> int:
            highest, hits = 0, np.zeros(len(ahead[0].ids), bool)
            for now, later in pairwise(ahead):
                wanted = self._chosen(Epochs(now, hits, later), kept)
                highest = max(highest, int(self._occupancy(now, hits, self._kept(now, later, wanted)).max()))
                hits = wanted & self._flagged(now.ids)[later.ids]
            return highest

        self._target = _largest(peak, ONE, self._capacity_bytes)
        first_ever = epoch == 0 and start == 0
        wanted = np.zeros(len(slots.ids), bool) if first_ever else self._first(slots, self._target)
        return _Coming(epoch, slots, wanted)

    def _fitting(self, now: Slots, hits: Flags, later: Slots) -> Flags:
        """Return the slots of the next epoch whose samples are kept: the first of every batch, as far as they fit."""
        wanted = self._chosen(Epochs(now, hits, later), self._target)
        keeps = self._kept(now, later, wanted)
        excess = self._occupancy(now, hits, keeps)[1:] - self._capacity_bytes
        if excess.max(initial=0) <= 0:
            return wanted
        # Hits stay as even as they can: what is given up would have been among the last hits of the fullest batches.
        ordinals = later.ordinals(wanted)
        preference = np.full(len(self._sizes), -1, np.int64)
        for least in (max(int(ordinals.max()) - FEW_HITS, 0), 0):
            preference[later.ids] = np.where(ordinals >= least, ordinals, -1)
            given_up = trim(now, keeps, preference, np.maximum.accumulate(excess), self._sizes)
            if given_up is not None:
                wanted &= ~self._flagged(given_up)[later.ids]
                break
        return wanted

    def _slots(self, epoch: int, start: int = 0) -> Slots:
        slots = Slots.of(self._rank_schedule.schedule(epoch, start).batch_range(), self._formats, len(self._favour))
        return slots if self._run_of_sample is None else RunSlots.by_run(slots, self._run_of_sample)

    def _first(self, slots: Slots, kept: int) -> Flags:
        return slots.first(self._shares(kept))

    def _chosen(self, epochs: Epochs, kept: int) -> Flags:
        """Return the slots of the later epoch to keep, if memory suffices."""
        if self._run_of_sample is not None:
            return self._first(epochs.later, kept)
        return choose(epochs, epochs.later.quota(self._shares(kept)), self._sizes)

    def _shares(self, kept: int) -> Indices:
        return np.minimum(np.round(kept * self._favour), ONE).astype(np.int64)

    def _kept(self, now: Slots, later: Slots, wanted: Flags) -> Flags:
        """Return the slots of the current epoch whose samples are wanted later."""
        return self._flagged(later.ids[wanted])[now.ids]

    def _flagged(self, ids: Indices) -> Flags:
        flags = np.zeros(len(self._sizes), bool)
        flags[ids] = True
        return flags

    def _occupancy(self, now: Slots, hits: Flags, keeps: Flags) -> Indices:
        sizes = self._sizes[now.ids]
        return occupancy(int(sizes[hits].sum()), now.starts, sizes * keeps - sizes * hits)


@dataclass(frozen=True)
class _Coming:
    """Epoch that is expected next."""

    epoch: int
    slots: Slots
    wanted: Flags


def _largest(peak: Callable[[int], int], most: int, capacity_bytes: int) -> int:
    """Return about the largest share, up to `most`, whose peak fits. A share of zero always fits."""
    highest = peak(most)
    if highest <= capacity_bytes:
        return most
    (low, low_peak), (high, high_peak) = (0, 0), (most, highest)
    for _ in range(ATTEMPTS):
        rise = (capacity_bytes * (1 + GOOD_ENOUGH) / 2 - low_peak) / (high_peak - low_peak)
        tried = low + int((high - low) * min(max(rise, 0.02), 0.98))
        tried_peak = peak(tried)
        if tried_peak > capacity_bytes:
            high, high_peak = tried, tried_peak
        else:
            low, low_peak = tried, tried_peak
        if GOOD_ENOUGH * capacity_bytes <= low_peak or high - low <= 1:
            break
    return low
