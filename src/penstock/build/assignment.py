"""Which sample gets which format, and in which order samples are written. Pure; spec/plan.md says how.

Everything is a function of the seed and a sample's rank in the sorted keys of the source.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Ranks = npt.NDArray[np.int64]

FORMAT_STREAM = 1
ORDER_STREAM = 2


def hash_ranks(seed: int, stream: int, ranks: Ranks) -> npt.NDArray[np.uint64]:
    """A number of 64 bits for every rank, as good as random.

    >>> [hex(number) for number in hash_ranks(0, 1, np.array([0, 1]))]
    ['0xa48eac74ed594fd6', '0x5cbfb6f7ee2e2ac3']
    """
    with np.errstate(over="ignore"):
        state = _mix(np.array([seed % 2**64], np.uint64)) ^ np.uint64(stream)
        return _mix(_mix(state) ^ ranks.astype(np.uint64))


def assign_formats(ranks: Ranks, shares: Sequence[float], seed: int) -> npt.NDArray[np.int32]:
    """The index of a format for each of these samples: a uniform choice, at the exact shares.

    >>> np.bincount(assign_formats(np.arange(10), [0.55, 0.45], seed=0)).tolist()
    [6, 4]
    """
    shuffled = np.argsort(hash_ranks(seed, FORMAT_STREAM, ranks), kind="stable")
    chosen = np.empty(len(ranks), np.int32)
    chosen[shuffled] = np.repeat(np.arange(len(shares), dtype=np.int32), exact_counts(len(ranks), shares))
    return chosen


def exact_counts(total: int, shares: Sequence[float]) -> list[int]:
    """Whole numbers in these proportions that add up to `total`: largest remainders first, ties to the earlier.

    >>> exact_counts(10, [0.5, 0.25, 0.25])
    [5, 3, 2]
    """
    exact = np.array(shares, float) * (total / sum(shares))
    # A share of 0.1 + 0.2 is a little more than 0.3: what is nearly whole is whole.
    whole = np.floor(exact + 1e-9)
    remainders = np.round(exact - whole, 9)
    missing = total - int(whole.sum())
    whole[np.argsort(-remainders, kind="stable")[:missing]] += 1
    return [int(count) for count in whole]


def write_order(ranks: Ranks, seed: int, runs: int = 1) -> Ranks:
    """The samples of one format in the order in which they are written; neighbours stay together in runs of `runs`.

    >>> write_order(np.arange(6), seed=0, runs=3).tolist()
    [0, 1, 2, 3, 4, 5]
    """
    groups = ranks // runs
    return ranks[np.lexsort((ranks, groups, hash_ranks(seed, ORDER_STREAM, groups)))]


def _mix(state: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """The output function of SplitMix64."""
    state = state + np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))
