"""Lanes: every sample always belongs to one lane, and the sequence takes the lanes in turn.

Position p of an epoch is step p // V of lane p % V. So with R ranks, where R divides V, a sample stays with its rank in
every epoch. Samples are dealt to the lanes format by format, in one continuous round: number n of the deal is in lane
n % V. So lanes differ by at most one sample, in all and of each format, and a lane holds its formats one behind the
other.
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from penstock.counter_rng import Purpose, words
from penstock.order.permutation import Indices, Words, order_of, permutation
from penstock.order.window import Window, deal_runs, shuffle_in_windows

# How far the pattern of formats turns from one position to the next: the ratio of a whole number and a golden part to
# the lanes, so that it turns by the golden part along a lane. The whole numbers were found by search: they keep
# 5 to 256 successive samples of a rank closest to the mix, for 1 to 16 ranks and every divisor of the lanes. With fewer
# lanes one turn for all is as good.
GOLDEN = (5**0.5 - 1) / 2
WHOLE_TURNS = {960: 54, 480: 253, 240: 70, 120: 70}
ANY_TURN = 0.7644004374083184


class Lanes:
    """Assignment of samples to lanes, and how an epoch shuffles it.

    `members` are the samples of each format; a window takes its runs along them. Values are computed at their first
    use.
    """

    def __init__(self, members: list[Indices], num_lanes: int, seed: int, window: Window | None = None) -> None:
        self.seed = seed
        self.window = window
        self.num_lanes = num_lanes
        self.num_formats = len(members)
        self.bounds = np.cumsum([0, *(len(ids) for ids in members)])
        self.num_samples = int(self.bounds[-1])
        self.height = -(-self.num_samples // num_lanes)
        self._members = members

    def length(self, lane: int) -> int:
        """Return the number of samples of a lane."""
        return (self.num_samples - lane + self.num_lanes - 1) // self.num_lanes

    def shuffled(self, epoch: int, lane: int) -> npt.NDArray[np.integer]:
        """Return the samples of a lane in the order of `epoch`; samples of one format change places with each other."""
        edges = self._edges(lane)
        samples: npt.NDArray[np.integer] = self._dealt[lane][self._shuffled_rows(epoch, lane, edges)]
        if self.num_formats == 1:
            return samples
        in_turn = np.empty_like(samples)
        in_turn[self._steps_by_format(epoch, lane, edges)] = samples
        return in_turn

    def run_of_sample(self, num_samples: int) -> Indices:
        """Return the run number of every sample; without a window, runs have one sample."""
        length = self.window.run if self.window else 1
        runs = np.zeros(num_samples, np.int64)
        num_runs = 0
        for lane in range(self.num_lanes):
            for begin, end in pairwise(self._edges(lane).tolist()):
                runs[self._dealt[lane, begin:end]] = num_runs + np.arange(end - begin) // length
                num_runs += -(-(end - begin) // length)
        return runs

    def _edges(self, lane: int) -> Indices:
        """Return the start of each format in a lane's column, and the end of the last one."""
        edges: Indices = np.maximum((self.bounds - lane + self.num_lanes - 1) // self.num_lanes, 0)
        return edges

    def _shuffled_rows(self, epoch: int, lane: int, edges: Indices) -> Indices:
        """Return a permutation of a lane's column that leaves every format in place."""
        keys = words(self.length(lane), self.seed, Purpose.SHUFFLE, epoch, lane)
        if self.window:
            return self._windowed_rows(self.window, epoch, lane, edges, keys)
        return order_of(keys, np.repeat(np.arange(self.num_formats), np.diff(edges)), self.num_formats)

    def _windowed_rows(self, window: Window, epoch: int, lane: int, edges: Indices, keys: Words) -> Indices:
        runs = words(len(keys), self.seed, Purpose.RUNS, epoch, lane)
        phase = lane * window.samples // self.num_lanes
        parts = [
            begin + shuffle_in_windows(window, runs[begin:end], keys[begin:end], phase)
            for begin, end in pairwise(edges.tolist())
        ]
        return np.concatenate(parts)

    def _steps_by_format(self, epoch: int, lane: int, edges: Indices) -> Indices:
        """Return the steps of a lane for format 0, ascending, then those for format 1, and so on.

        The pattern is even along a lane, across lanes, and for every rank. Each position has an angle in [0, 1), and
        the lane's lowest angles get its first format, and so on. Each epoch rotates the whole; otherwise a format with
        one sample in a lane would have the same position in every epoch.
        """
        positions = np.arange(lane, self.num_samples, self.num_lanes, dtype=np.uint64)
        turns = positions * np.uint64(_turn(self.num_lanes)) + words(1, self.seed, Purpose.TURN, epoch)
        pattern = np.empty(len(turns), np.uint16)
        pattern[order_of(turns)] = np.repeat(np.arange(self.num_formats), np.diff(edges))
        return np.argsort(pattern, kind="stable")

    @cached_property
    def _dealt(self) -> npt.NDArray[np.integer]:
        """Table of samples with one row per lane. The last cell of a row is empty if a lane is one sample short."""
        small = max((int(ids.max()) for ids in self._members if len(ids)), default=0) < 2**31
        dealt = np.zeros(self.height * self.num_lanes, np.int32 if small else np.int64)
        for number, ids in enumerate(self._members):
            begin, end = self.bounds[number : number + 2]
            dealt[begin:end] = self._deal(number, ids)
        return np.ascontiguousarray(dealt.reshape(self.height, self.num_lanes).T)

    def _deal(self, number: int, ids: Indices) -> Indices:
        if self.window and self.window.run > 1:
            return deal_runs(ids, self.num_lanes, self.window.run, self.seed, item=number)
        return ids[permutation(len(ids), self.seed, Purpose.DEAL, item=number)]


def _turn(num_lanes: int) -> int:
    """Return the rotation from one position to the next, in parts of 2^64."""
    whole = WHOLE_TURNS.get(num_lanes)
    return round((ANY_TURN if whole is None else (whole + GOLDEN) / num_lanes) * 2**64)
