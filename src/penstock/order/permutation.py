"""Permutations by sorting: random high bits over an index in the low bits of one 64-bit word.

Every permutation is equally likely, up to ties of the random bits (with 10^7 samples, 2^-40 per pair). Sorting words in
place is the fastest keyed permutation that NumPy has: a cipher on indices takes dozens of passes.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from penstock.counter_rng import Purpose, words

Indices = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]


def permutation(num: int, seed: int, purpose: Purpose, epoch: int = 0, item: int = 0) -> Indices:
    """Return a permutation of 0 … num-1.

    >>> sorted(permutation(5, seed=1, purpose=Purpose.DEAL).tolist())
    [0, 1, 2, 3, 4]
    """
    return order_of(words(num, seed, purpose, epoch, item))


def order_of(keys: Words, groups: npt.NDArray[np.integer] | None = None, num_groups: int = 1) -> Indices:
    """Return the permutation that sorts by group, high bits of the keys, and index. Overwrites `keys`.

    >>> order_of(np.array([3, 1, 2], np.uint64) << np.uint64(60)).tolist()
    [1, 2, 0]
    """
    num = len(keys)
    group_bits = np.uint64((num_groups - 1).bit_length())
    if groups is not None and group_bits:
        keys >>= group_bits
        keys |= groups.astype(np.uint64) << (np.uint64(64) - group_bits)
    index_mask = np.uint64((1 << max(num - 1, 0).bit_length()) - 1)
    keys &= ~index_mask
    keys |= np.arange(num, dtype=np.uint64)
    keys.sort()
    keys &= index_mask
    return keys.view(np.int64)
