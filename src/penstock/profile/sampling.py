"""Which images of a source are measured: few, and like the rest."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from penstock.chance import draw
from penstock.types import Integers


def stratified(labels: npt.NDArray[np.int64] | None, source_bytes: Integers, count: int, *, seed: int = 0) -> Integers:
    """Rows that stand for all: evenly spaced through the samples sorted by label and size, in an order by chance.

    Any prefix of the result is a fair sample too, so that a measurement may stop when its time is up.

    >>> stratified(None, np.arange(100), 4).tolist()
    [37, 12, 87, 62]
    """
    total = len(source_bytes)
    keys = (source_bytes,) if labels is None else (source_bytes, labels)
    ordered = np.lexsort(keys)
    count = min(count, total)
    places = ((np.arange(count) + 0.5) * total / max(1, count)).astype(np.int64)
    rows = ordered[places]
    shuffled: Integers = rows[np.argsort(draw(seed, 3, rows), kind="stable")].astype(np.int64)
    return shuffled
