"""Fidelity of a loader: a number of scans or layers, a schedule over epochs, or the choice of a tuner."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise

from penstock.errors import ArgumentError
from penstock.load.engine_table import EngineTable
from penstock.records.fidelity import check_fidelity

Schedule = Sequence[tuple[int, int | None]]
FidelityLike = int | Schedule | None


class Fidelity:
    """Fidelity of every epoch. It is read when an epoch starts, and never changes within one.

    >>> fidelity = Fidelity([(0, 2), (80, None)])
    >>> [fidelity.at(epoch) for epoch in (0, 79, 80)], fidelity.most()
    ([2, 2, None], None)
    """

    def __init__(self, wish: FidelityLike) -> None:
        self._steps = _steps(wish)
        self._override: tuple[int, int | None] | None = None

    def at(self, epoch: int) -> int | None:
        """Return the scans in an epoch; None means all."""
        if self._override is not None and self._override[0] == epoch:
            return self._override[1]
        return self._steps[max(bisect_right(self._steps, epoch, key=lambda step: step[0]) - 1, 0)][1]

    def most(self) -> int | None:
        """Return the highest planned fidelity."""
        known = [scans for _, scans in self._steps]
        return None if None in known else max(scans for scans in known if scans is not None)

    def set(self, epoch: int, scans: int | None) -> None:
        """Set the number of scans from `epoch` on, instead of the plan."""
        before = [step for step in self._steps if step[0] < epoch]
        self._steps = [*before, (epoch if before else 0, check_fidelity(scans))]
        self._override = None

    def resume(self, epoch: int, scans: int | None) -> None:
        """Keep the fidelity of the epoch that a state resumes."""
        self._override = epoch, scans


def as_fidelity(wish: FidelityLike, samples: EngineTable) -> Fidelity:
    """Convert an option to a `Fidelity`, checked against what is stored."""
    if wish is not None and samples.blocks is None:
        raise ArgumentError(
            f"fidelity is {wish!r}, and no format here stores more than one",
            where="fidelity",
            fix="leave it out, or build the dataset as pjpeg or sluice:layers=2",
            code=100,
        )
    return Fidelity(wish)


def _steps(wish: FidelityLike) -> list[tuple[int, int | None]]:
    if wish is None or isinstance(wish, int):
        return [(0, check_fidelity(wish))]
    steps = [(epoch, check_fidelity(scans)) for epoch, scans in wish]
    epochs = [epoch for epoch, _ in steps]
    if not steps or epochs[0] != 0 or any(one >= other for one, other in pairwise(epochs)):
        raise ArgumentError(
            f"epochs of the schedule are {epochs}",
            where="fidelity",
            fix="begin with epoch 0 and go up, for example [(0, 2), (80, None)]",
            code=100,
        )
    return steps
