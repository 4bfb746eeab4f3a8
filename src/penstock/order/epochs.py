"""Order of samples: a function of (seed, epoch, dataset, window) that never depends on memory, threads or ranks."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from penstock.errors import ArgumentError
from penstock.lane_counts import MOST_LANES, choose_lanes
from penstock.order.lanes import Lanes
from penstock.order.permutation import Indices
from penstock.order.window import Window


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Order:
    """Map positions of an epoch to samples; frozen.

    `formats` holds, for every sample of the dataset, the number of its format; `selection`, ascending, the samples to
    take (all, if absent). `lanes` is what the manifest records; a small selection gets fewer. `shuffle=False` gives the
    samples in ascending order, every epoch. A window takes its runs along `places`, the rank of every sample of the
    dataset on disk; without them, in ascending order. `blocks` has the number of each sample's block, where samples are
    stored in blocks that are read as a whole: runs are then whole blocks, as far as they are selected.

    >>> order = Order(np.zeros(1000, np.uint8), seed=7)
    >>> epoch = order.epoch(0)
    >>> batch = epoch.take(range(640, 704))  # by position, in any part of the epoch
    >>> sorted(epoch.take(range(1000)).tolist()) == list(range(1000))
    True
    """

    seed: int
    window: Window | None
    shuffle: bool
    places: npt.NDArray[np.integer] | None
    blocks: npt.NDArray[np.integer] | None
    selection: Indices
    formats: npt.NDArray[np.integer]
    lanes: int

    def __init__(
        self,
        formats: npt.NDArray[np.integer],
        *,
        seed: int = 0,
        selection: npt.NDArray[np.integer] | None = None,
        lanes: int = MOST_LANES,
        window: Window | None = None,
        shuffle: bool = True,
        places: npt.NDArray[np.integer] | None = None,
        blocks: npt.NDArray[np.integer] | None = None,
    ) -> None:
        _check(formats, seed, selection, lanes)
        chosen = np.arange(len(formats)) if selection is None else np.array(selection, np.int64)
        self._set(
            seed=seed,
            window=window,
            shuffle=shuffle,
            places=places,
            blocks=blocks,
            selection=chosen,
            formats=formats if selection is None else formats[chosen],
            lanes=choose_lanes(len(chosen), lanes),
        )

    @property
    def num_samples(self) -> int:
        """Number of samples of an epoch."""
        return len(self.selection)

    def with_options(self, *, seed: int, lanes: int, window: Window | None, shuffle: bool) -> Order:
        """Return another order of the same samples."""
        return self._changed(seed=seed, lanes=choose_lanes(self.num_samples, lanes), window=window, shuffle=shuffle)

    def on_disk(self, places: npt.NDArray[np.integer] | None, blocks: npt.NDArray[np.integer] | None) -> Order:
        """Return the same order for samples that lie at `places` on disk, in `blocks`."""
        return self._changed(places=places, blocks=blocks)

    def _changed(self, **values: object) -> Order:
        order = object.__new__(Order)
        order._set(**{field.name: getattr(self, field.name) for field in fields(self)} | values)
        return order

    def _set(self, **values: object) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def epoch(self, epoch: int) -> EpochOrder:
        """Return the order of one epoch. Costs nothing until samples are taken."""
        if epoch < 0 or epoch >= 2**64:
            raise ArgumentError(f"there is no epoch {epoch}", where="epoch", fix="count from 0", code=100)
        return EpochOrder(self, epoch)

    @cached_property
    def dealt(self) -> Lanes:
        """Samples in their lanes."""
        members = [self.selection[self.formats == number] for number in np.unique(self.formats)]
        if self.window is not None and self.places is not None:
            members = [self._along_the_disk(ids, self.places, self.window.run) for ids in members]
        return Lanes(members, self.lanes, self.seed, self.window)

    @property
    def reads_runs(self) -> bool:
        """True if neighbouring records should be read together."""
        return self.shuffle and self.window is not None and self.window.run > 1

    def run_of_sample(self, num_samples: int) -> Indices:
        """Return the run number of every sample of the dataset; 0 outside the selection.

        For blocks, a run is what is read together. A run that is not a whole block is one read for every block in it.
        The remainder at the end, one short run per lane, is read block by block in any lane.
        """
        runs = self.dealt.run_of_sample(num_samples)
        if self.blocks is None or self.window is None:
            return runs
        lengths = np.bincount(runs[self.selection])
        short = lengths[runs] < self.window.run
        blocks = self.blocks.astype(np.int64)
        keys = np.where(short, -1, runs) * (int(blocks.max(initial=0)) + 1) + blocks
        units: Indices = np.zeros(num_samples, np.int64)
        units[self.selection] = np.unique(keys[self.selection], return_inverse=True)[1]
        return units

    def _along_the_disk(self, ids: Indices, places: npt.NDArray[np.integer], run: int) -> Indices:
        """Sort samples by place; those of partially selected blocks come last, so that runs are blocks."""
        if self.blocks is None:
            return ids[np.argsort(places[ids], kind="stable")]
        block = np.unique(self.blocks[ids], return_inverse=True)[1]
        whole = np.bincount(block)[block] >= run
        return ids[np.lexsort((places[ids], ~whole))]

    @cached_property
    def fingerprint(self) -> str:
        """Digest of the selected samples and their formats: another selection or mix has another order."""
        digest = blake2b(digest_size=12)
        digest.update(self.selection.astype("<i8").data)
        digest.update(self.formats.astype("<i4").data)
        return digest.hexdigest()


class EpochOrder:
    """Map from position to sample for one epoch. Computes requested lanes once. Not for two threads at a time."""

    def __init__(self, order: Order, epoch: int) -> None:
        self.order = order
        self.epoch = epoch
        self.num_samples = order.num_samples

    def take(self, positions: range) -> Indices:
        """Return the samples at an ascending range of positions."""
        begin, stride = positions.start, positions.step
        if len(positions):
            self._check_positions(begin, positions[-1])
        if not self.order.shuffle:
            return self.order.selection[begin : positions.stop : stride]
        if not len(positions) or self.order.lanes % stride:
            return self.at(np.arange(begin, positions.stop, stride))
        num_lanes = self.order.lanes // stride
        self._prepare(np.arange(begin, positions.stop, stride)[:num_lanes] % self.order.lanes)
        steps = slice(begin // self.order.lanes, positions[-1] // self.order.lanes + 1)
        in_turn: npt.NDArray[np.integer] = self._table[begin % stride :: stride, steps].T.reshape(-1)
        skipped = begin % self.order.lanes // stride
        return in_turn[skipped : skipped + len(positions)].astype(np.int64)

    def at(self, positions: npt.NDArray[np.integer]) -> Indices:
        """Return the samples at any positions."""
        if positions.size:
            self._check_positions(int(positions.min()), int(positions.max()))
        if not self.order.shuffle:
            return self.order.selection.take(positions)
        steps, lanes = np.divmod(positions, self.order.lanes)
        self._prepare(lanes)
        samples: Indices = self._table[lanes, steps].astype(np.int64)
        return samples

    @property
    def num_lanes_computed(self) -> int:
        """Number of lanes computed so far, which is the cost of this epoch."""
        return int(self._ready.sum())

    def _check_positions(self, least: int, most: int) -> None:
        if least < 0 or most >= self.num_samples:
            raise ArgumentError(
                f"positions {least} to {most} of an epoch of {self.num_samples} samples",
                where="positions",
                fix="ask for positions inside the epoch",
                code=100,
            )

    @cached_property
    def _table(self) -> npt.NDArray[np.integer]:
        """Table with one row per lane and one column per step, filled lane by lane."""
        small = self.order.selection[-1:].max(initial=0) < 2**31
        return np.empty((self.order.lanes, self.order.dealt.height), np.int32 if small else np.int64)

    @cached_property
    def _ready(self) -> npt.NDArray[np.bool_]:
        return np.zeros(self.order.lanes, bool)

    def _prepare(self, lanes: Indices) -> None:
        for lane in np.unique(lanes[~self._ready[lanes]]).tolist():
            samples = self.order.dealt.shuffled(self.epoch, lane)
            self._table[lane, : len(samples)] = samples
            self._ready[lane] = True


def _check(formats: npt.NDArray[np.integer], seed: int, selection: npt.NDArray[np.integer] | None, lanes: int) -> None:
    if not 0 <= seed < 2**64:
        raise ArgumentError(f"the seed is {seed}", where="seed", fix="give a number from 0 to 2^64 - 1", code=100)
    if lanes < 1:
        raise ArgumentError(f"{lanes} lanes", where="lanes", fix="give at least 1", code=100)
    if (
        selection is not None
        and len(selection)
        and not ((np.diff(selection) > 0).all() and selection[0] >= 0 and selection[-1] < len(formats))
    ):
        raise ArgumentError(
            f"the selection is not an ascending list of samples below {len(formats)}",
            where="selection",
            fix="sort it and remove what is double",
            code=100,
        )
