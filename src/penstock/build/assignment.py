"""Assignment of formats to samples, and the order in which samples are written. Pure; specified in spec/plan.md.

All results are functions of the seed and a sample's rank in the sorted keys of the source.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from penstock.counter_rng import draw

Ranks = npt.NDArray[np.int64]

FORMAT_STREAM = 1
ORDER_STREAM = 2


def assign_formats(ranks: Ranks, shares: Sequence[float], seed: int) -> npt.NDArray[np.int32]:
    """Choose a format index for each sample, uniformly at random, with the exact shares.

    >>> np.bincount(assign_formats(np.arange(10), [0.55, 0.45], seed=0)).tolist()
    [6, 4]
    """
    shuffled = np.argsort(draw(seed, FORMAT_STREAM, ranks), kind="stable")
    chosen = np.empty(len(ranks), np.int32)
    chosen[shuffled] = np.repeat(np.arange(len(shares), dtype=np.int32), exact_counts(len(ranks), shares))
    return chosen


def exact_counts(total: int, shares: Sequence[float]) -> list[int]:
    """Divide `total` in these proportions into whole numbers: largest remainders first, ties to the earlier.

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


def write_order(ranks: Ranks, rows: Ranks, seed: int, runs: int = 1) -> Ranks:
    """Return the samples of one format in the order in which they are written.

    `rows` are the positions of these samples in the source. With `runs` above 1, neighbours there stay together.

    >>> write_order(np.array([5, 3, 4]), rows=np.array([0, 1, 2]), seed=0, runs=3).tolist()
    [5, 3, 4]
    """
    if runs == 1:
        return ranks[np.lexsort((ranks, draw(seed, ORDER_STREAM, ranks)))]
    groups = rows // runs
    return ranks[np.lexsort((rows, groups, draw(seed, ORDER_STREAM, groups)))]
