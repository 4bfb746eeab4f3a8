"""Random numbers as a function of a key: the same on every machine, each without those before it.

Uses the raw words of NumPy's Philox 4x64 with ten rounds, which the algorithm fixes; the results of
`numpy.random.Generator` may change between versions. Not for secrets.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
import numpy.typing as npt


class Purpose(IntEnum):
    """Purpose of random numbers. Purposes never share a number; the values are part of the order and never change."""

    DEAL = 1
    SHUFFLE = 2
    TURN = 3
    RUNS = 4
    LIQUID = 5
    PINNED = 6


def words(num: int, seed: int, purpose: Purpose, epoch: int = 0, item: int = 0) -> npt.NDArray[np.uint64]:
    """Return the first `num` 64-bit words of the stream of `item` (a lane, a format) in `epoch`.

    >>> bool((words(3, 7, Purpose.DEAL) == words(5, 7, Purpose.DEAL)[:3]).all())
    True
    """
    key = np.array([seed, int(purpose)], np.uint64)
    counter = np.array([0, item, epoch, 0], np.uint64)
    return np.random.Philox(key=key, counter=counter).random_raw(num)
