"""Choice of the images of a source that are measured: few, and representative."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from penstock.counter_rng import draw_uniform
from penstock.types import Integers

GOLDEN = (5**0.5 - 1) / 2


def stratified(labels: npt.NDArray[np.int64] | None, source_bytes: Integers, count: int, *, seed: int = 0) -> Integers:
    """Choose representative rows: one at random from each slice of the samples, sorted by label and size.

    A random choice is needed because the middle of every slice would leave out the few very large images, which matter
    for the mean. Any prefix of the result is as even as the whole, so that a measurement may stop when its time is up:
    slices come in the order of multiples of the golden ratio, whose fractions leave no gap for any count.

    >>> stratified(None, np.arange(100), 4).tolist()
    [5, 58, 31, 75]
    """
    total = len(source_bytes)
    keys = (source_bytes,) if labels is None else (source_bytes, labels)
    ordered = np.lexsort(keys)
    count = min(count, total)
    slices = np.arange(count)
    places = ((slices + draw_uniform(seed, 3, slices)) * total / max(1, count)).astype(np.int64)
    turns = (slices * GOLDEN) % 1.0
    rows: Integers = ordered[places][np.argsort(turns, kind="stable")].astype(np.int64)
    return rows
