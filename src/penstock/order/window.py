"""Windows for disks with slow random reads: lanes hold runs of neighbouring records instead of single samples.

An epoch permutes the runs of a lane, and then shuffles samples inside windows over them. Whole runs are read; about one
window per lane is open at a time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.counter_rng import Purpose
from penstock.errors import ArgumentError
from penstock.order.permutation import Indices, Words, order_of, permutation

WINDOW_LANES = 48
"""Largest number of lanes with a window, one of which is open per lane. Divisible by many numbers of ranks."""


@dataclass(frozen=True, slots=True)
class Window:
    """Distance over which neighbours on disk are shuffled.

    `run` neighbouring samples are read together; the samples of `runs` such runs of a lane are shuffled with each
    other.
    """

    run: int
    runs: int = 2

    def __post_init__(self) -> None:
        if self.run < 1 or self.runs < 1:
            raise ArgumentError(
                f"a window of {self.runs} runs of {self.run} samples", fix="give at least 1 of each", code=100
            )

    @property
    def samples(self) -> int:
        """Number of samples of one lane that are shuffled with each other."""
        return self.run * self.runs


def deal_runs(ids: Indices, num_lanes: int, run: int, seed: int, item: int) -> Indices:
    """Deal neighbours together: number i of the result goes to lane i % num_lanes, counted from the round's start.

    A lane gets whole runs as long as there is one for every lane, and then a shorter one.
    """
    rounds = len(ids) // (num_lanes * run)
    whole = ids[: rounds * num_lanes * run].reshape(-1, run)
    dealt = whole[permutation(len(whole), seed, Purpose.DEAL, item=item)]
    in_rounds = dealt.reshape(rounds, num_lanes, run).transpose(0, 2, 1)
    return np.concatenate([in_rounds.reshape(-1), _deal_rest(ids[whole.size :], num_lanes, seed, item)])


def _deal_rest(rest: Indices, num_lanes: int, seed: int, item: int) -> Indices:
    """Deal the rest as one run per lane, with lengths that differ by at most one."""
    number = np.arange(len(rest))
    lengths = np.bincount(number % num_lanes, minlength=num_lanes)
    turn = permutation(num_lanes, seed, Purpose.DEAL, epoch=1, item=item)
    begins = np.empty(num_lanes, np.int64)
    begins[turn] = np.cumsum(lengths[turn]) - lengths[turn]
    dealt: Indices = rest[begins[number % num_lanes] + number // num_lanes]
    return dealt


def shuffle_in_windows(window: Window, words_of_runs: Words, words_of_samples: Words, phase: int) -> Indices:
    """Order the members of one format in one lane: permute runs, then shuffle samples in windows.

    Both arrays of words are random, one per member. Windows begin `phase` samples earlier than runs. If lanes have
    different phases, their reads are spread evenly over the epoch.
    """
    place = np.arange(len(words_of_runs))
    in_runs = order_of(words_of_runs[place // window.run * window.run])
    number = (place + phase) // window.samples
    in_windows = order_of(words_of_samples, number, len(place) // window.samples + 2)
    return in_runs[in_windows]
