"""Summary of repeated measurements: the median and the range."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spread:
    """Median and range of repeats, or of images."""

    median: float
    lowest: float
    highest: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread:
        """Summarize at least one value.

        >>> Spread.of([3.0, 1.0, 2.0])
        Spread(median=2.0, lowest=1.0, highest=3.0)
        """
        found = sorted(values)
        return cls(statistics.median(found), found[0], found[-1])

    @property
    def half_range(self) -> float:
        """Half of the range as a share of the median: the x of "± x"."""
        return (self.highest - self.lowest) / 2 / self.median if self.median else 0.0
