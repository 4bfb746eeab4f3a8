"""Analysis of a training run's epochs: representative time, rate, stall, and what a time or storage budget allows.

The methods are those of (DL)² (ICDE'23), so that its published runs and ours are judged equally.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from penstock.errors import ArgumentError
from penstock.lab.dllogger import Epoch


def representative_seconds(epochs: Sequence[Epoch]) -> float:
    """Return the mean time of an epoch without the first, which warms up caches and workers.

    >>> representative_seconds([Epoch(0, 90.0), Epoch(1, 20.0), Epoch(2, 22.0)])
    21.0
    """
    timed = [epoch.seconds for epoch in epochs if epoch.seconds is not None and epoch.number > 0]
    if not timed:
        raise ArgumentError("no epoch after the first has a time", where="epochs", fix="train for at least two epochs")
    return math.fsum(timed) / len(timed)


def images_per_second(epochs: Sequence[Epoch], num_images: int) -> float:
    """Return the rate of a representative epoch with this many images."""
    return num_images / representative_seconds(epochs)


def stall_share(epochs: Sequence[Epoch]) -> float | None:
    """Return the share of a step that waits for data, without the first epoch; None if steps were not timed."""
    waits = [
        (epoch.data_seconds, epoch.compute_seconds)
        for epoch in epochs
        if epoch.number > 0 and epoch.data_seconds is not None and epoch.compute_seconds is not None
    ]
    total = math.fsum(wait + step for wait, step in waits)
    return math.fsum(wait for wait, _ in waits) / total if total > 0 else None


def epochs_within(budget_seconds: float, epoch_seconds: float) -> int:
    """Return the number of whole epochs that a time budget allows.

    >>> epochs_within(5 * 3600, 516)
    34
    """
    return math.floor(budget_seconds / epoch_seconds)


def best_top1_within(epochs: Sequence[Epoch], budget_seconds: float, epoch_seconds: float) -> float | None:
    """Return the best accuracy within a budget if each epoch takes `epoch_seconds`; None if none fits."""
    allowed = epochs_within(budget_seconds, epoch_seconds)
    reached = [epoch.top1 for epoch in epochs if epoch.number < allowed and epoch.top1 is not None]
    return max(reached, default=None)


def mean_size(stages: Sequence[tuple[int, float]]) -> float:
    """Return the size of a regimen: its variants' sizes, weighted by the epochs that read them.

    >>> round(mean_size([(45, 14.5), (45, 145.7)]), 1)
    80.1
    """
    return math.fsum(epochs * size for epochs, size in stages) / sum(epochs for epochs, _ in stages)


def fits_storage(sizes: Mapping[str, float], limit: float) -> str | None:
    """Return the largest variant within a storage limit: of variants of one source, that of highest quality.

    >>> fits_storage({"raw": 145.7, "jpeg85": 67.5, "jpeg75": 51.3}, 72.85)
    'jpeg85'
    """
    return max((name for name in sizes if sizes[name] <= limit), key=lambda name: sizes[name], default=None)
