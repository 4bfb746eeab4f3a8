"""Random choices as pure functions: (seed, stream, number) → 64 bits, the same on every machine (spec/plan.md)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from penstock.types import Floats

Words = npt.NDArray[np.uint64]


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
