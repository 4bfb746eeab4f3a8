"""Random numbers as functions of a counter: the same on every machine, each without those before it. Not for secrets.

`words` gives streams of the order: the raw words of NumPy's Philox 4x64 with ten rounds, which the algorithm fixes;
the results of `numpy.random.Generator` may change between versions. `draw` gives one word per number, for choices
among samples (SplitMix64, spec/plan.md).
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
import numpy.typing as npt

from penstock.types import Floats

Words = npt.NDArray[np.uint64]


class Purpose(IntEnum):
    """Purpose of random numbers. Purposes never share a number; the values are part of the order and never change."""

    DEAL = 1
    SHUFFLE = 2
    TURN = 3
    RUNS = 4
    LIQUID = 5
    PINNED = 6


def words(num: int, seed: int, purpose: Purpose, epoch: int = 0, item: int = 0) -> Words:
    """Return the first `num` 64-bit words of the stream of `item` (a lane, a format) in `epoch`.

    >>> bool((words(3, 7, Purpose.DEAL) == words(5, 7, Purpose.DEAL)[:3]).all())
    True
    """
    key = np.array([seed, int(purpose)], np.uint64)
    counter = np.array([0, item, epoch, 0], np.uint64)
    return np.random.Philox(key=key, counter=counter).random_raw(num)


def draw(seed: int, stream: int, numbers: npt.ArrayLike) -> Words:
    """Return a random word for each number; streams of one seed are independent.

    >>> [hex(word) for word in draw(0, 1, [0, 1]).tolist()]
    ['0x44e5b98100c67fb0', '0x465391958fc61f13']
    """
    start = _mix(_mix(np.asarray([seed % 2**64], np.uint64)) ^ np.uint64(stream))
    return _mix(start ^ np.asarray(numbers).astype(np.uint64))


def draw_uniform(seed: int, stream: int, numbers: npt.ArrayLike) -> Floats:
    """Return numbers in [0, 1), multiples of 2⁻⁵³, from the upper bits of `draw`."""
    uniform: Floats = (draw(seed, stream, numbers) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return uniform


def _mix(words: Words) -> Words:
    """Apply one step of SplitMix64 (Steele, Lea and Flood, 2014), a bijection that leaves no pattern."""
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
