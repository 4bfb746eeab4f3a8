"""Means and differences with confidence intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from penstock.tools import import_tool

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Estimate:
    """Mean with its 95 % confidence interval (Student's t); a point for one value."""

    mean: float
    low: float
    high: float
    count: int

    @property
    def is_above_zero(self) -> bool:
        """True if the whole interval is above zero; never for a single value."""
        return self.count > 1 and self.low > 0

    @property
    def is_below_zero(self) -> bool:
        """True if the whole interval is below zero; never for a single value."""
        return self.count > 1 and self.high < 0

    def __str__(self) -> str:
        return f"{self.mean:.3g} ± {(self.high - self.low) / 2:.2g}"


def estimate(values: Sequence[float]) -> Estimate:
    """Estimate the mean of repeated measurements.

    >>> found = estimate([10.0, 12.0, 11.0])
    >>> found.mean, round(found.low, 3), round(found.high, 3)
    (11.0, 8.516, 13.484)
    """
    mean = fmean(values)
    if len(values) < 2:
        return Estimate(mean, mean, mean, len(values))
    t = import_tool("scipy.stats").t  # only an analysis needs it

    half = float(t.ppf((1 + CONFIDENCE) / 2, len(values) - 1)) * stdev(values) / math.sqrt(len(values))
    return Estimate(mean, mean - half, mean + half, len(values))


def paired_difference(ours: Mapping[int, float], theirs: Mapping[int, float]) -> Estimate | None:
    """Estimate the difference per seed, which removes the seed's effect (order, weights). None without pairs.

    >>> difference = paired_difference({0: 5.0, 1: 7.0}, {0: 4.0, 1: 6.0, 2: 9.0})
    >>> (difference.mean, difference.low, difference.count) if difference else None
    (1.0, 1.0, 2)
    """
    shared = sorted(ours.keys() & theirs.keys())
    return estimate([ours[seed] - theirs[seed] for seed in shared]) if shared else None


def paired_ratio(ours: Mapping[int, float], theirs: Mapping[int, float]) -> Estimate | None:
    """Estimate the ratio of `ours` to `theirs` per seed, as a geometric mean with its interval."""
    difference = paired_difference(
        {seed: math.log(value) for seed, value in ours.items()},
        {seed: math.log(value) for seed, value in theirs.items()},
    )
    if difference is None:
        return None
    return Estimate(math.exp(difference.mean), math.exp(difference.low), math.exp(difference.high), difference.count)
