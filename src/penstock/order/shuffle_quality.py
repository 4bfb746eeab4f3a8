"""Randomness of an order, compared with a full permutation.

Three ratios about two successive epochs, each 1 for full permutations: whether a sample's position predicts its next
one, whether samples of a batch share a batch again, and whether neighbours on disk share a batch.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.order.permutation import Indices

PARTS = 10


@dataclass(frozen=True)
class Quality:
    """Ratios to a full permutation of the same samples: 1 is as random, more is less random."""

    place: float
    """Unevenness with which the samples of one tenth of an epoch spread over the tenths of the next."""
    company: float
    """Frequency with which two samples of one batch are in one batch again."""
    neighbours: float
    """Frequency with which two samples that are close on disk are in one batch."""

    def __str__(self) -> str:
        ratios = f"place {self.place:.2f}, company {self.company:.2f}, neighbours {self.neighbours:.2f}"
        return f"{ratios} (1 = a full permutation)"


def measure(first: Indices, second: Indices, batch_size: int, reach: int = 8) -> Quality:
    """Compare two successive epochs, given as the samples in order, with full permutations.

    Samples up to `reach` apart count as close on disk. The expectation of chance is computed, not drawn.

    >>> everything = np.arange(1000)
    >>> str(measure(everything, everything, batch_size=100))[:39]
    'place 111.11, company 10.09, neighbours'
    """
    ids = np.sort(first)
    places = [np.empty(len(ids), np.int64) for _ in range(2)]
    for place, epoch in zip(places, (first, second), strict=True):
        place[np.searchsorted(ids, epoch)] = np.arange(len(ids))
    batches = [place // batch_size for place in places]
    return Quality(_place(*places), _company(*batches), _neighbours(batches[0], reach))


def _place(before: Indices, after: Indices) -> float:
    """Compute the chi-square of the table of tenths, per degree of freedom."""
    num = len(before)
    tenths = [np.minimum(place * PARTS // max(num, 1), PARTS - 1) for place in (before, after)]
    seen = np.bincount(tenths[0] * PARTS + tenths[1], minlength=PARTS * PARTS).reshape(PARTS, PARTS)
    expected = np.outer(seen.sum(axis=1), seen.sum(axis=0)) / max(num, 1)
    return float(((seen - expected) ** 2 / np.maximum(expected, 1e-9)).sum() / (PARTS - 1) ** 2)


def _company(before: Indices, after: Indices) -> float:
    """Divide the pairs that share a batch in both epochs by those of independent epochs."""
    num = len(before)
    both = _pairs(np.unique(before * (after.max(initial=0) + 1) + after, return_counts=True)[1])
    expected = _pairs(np.bincount(before)) * _pairs(np.bincount(after)) / max(num * (num - 1) / 2, 1)
    return both / expected if expected else 1.0


def _neighbours(batches: Indices, reach: int) -> float:
    """Divide the pairs of near neighbours that share a batch by those of a full permutation."""
    num = len(batches)
    seen = sum(int((batches[distance:] == batches[:-distance]).sum()) for distance in range(1, min(reach, num - 1) + 1))
    pairs = sum(num - distance for distance in range(1, min(reach, num - 1) + 1))
    expected = pairs * _pairs(np.bincount(batches)) / max(num * (num - 1) / 2, 1)
    return seen / expected if expected else 1.0


def _pairs(counts: Indices) -> float:
    return float((counts * (counts - 1) / 2).sum())
