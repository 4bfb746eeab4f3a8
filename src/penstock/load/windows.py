"""Windows of a loader: what `window` means for a dataset, the memory it takes, and how well it shuffles."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.load.disk_probe import DEFAULT, measure_pattern
from penstock.load.loader_options import check_count
from penstock.load.samples import Samples
from penstock.order import Order, RankSchedule, Window
from penstock.order.caches import EpochCachePlan, open_cache
from penstock.order.shuffle_quality import measure
from penstock.units import parse_bytes

EPOCHS_LOOKED_AT = 3
ROOM = 1.1  # for epochs that nobody looked at; what does not fit is read when its batch needs it

AUTO = "auto"

WindowLike = Window | int | str | bool | None


def as_window(window: WindowLike, samples: Samples, cache: str | None = None) -> tuple[Window | None, dict[str, Any]]:
    """The window that is meant, and what `stats()["reading"]` says of it.

    Samples of a run, bytes of a run as text ("4MiB"), or a `Window`; None means what the dataset records, "auto" what
    the disk is measured to need, False none. The liquid cache has an order of its own, whatever a dataset records.
    """
    if window == AUTO:
        measured = measure_pattern(samples)
        if measured is not None:
            return measured.window, measured.as_stats()
    if window is False:
        return None, reading_of(None, "given")
    if window is not None and window != AUTO:
        given = _given(window, samples)
        return given, reading_of(given, "given")
    if samples.window is None:
        return None, reading_of(None, DEFAULT)
    recorded = None if cache == "liquid" else samples.window
    return recorded, reading_of(recorded, "dataset" if recorded is not None else "cache")


def reading_of(window: Window | None, reason: str) -> dict[str, Any]:
    """How the disk is read, and who decided that."""
    return {"pattern": "random" if window is None else "runs", "from": reason}


def _given(window: Window | int | str, samples: Samples) -> Window:
    if isinstance(window, str):
        run_bytes = parse_bytes(window, name="window")
        return Window(max(1, int(run_bytes // max(1.0, float(samples.sizes.mean())))))
    if isinstance(window, Window):
        return window
    check_count("window", window, 1)
    return Window(window)


def open_bytes(rank_schedule: RankSchedule, sizes: npt.NDArray[np.int64], depth: int) -> int:
    """The most that waits in memory for its batches, with `depth` of them under way."""
    if not rank_schedule.order.reads_runs:
        return 0
    cache = open_cache("none", rank_schedule, sizes, 0)
    return int(ROOM * max(_most_open(cache.epoch(epoch), sizes, depth) for epoch in range(EPOCHS_LOOKED_AT)))


def _most_open(cache_plan: EpochCachePlan, sizes: npt.NDArray[np.int64], depth: int) -> int:
    """Reads of the batches under way may have come, and none of their samples be used."""
    assert cache_plan.open_bytes is not None
    ids, starts = cache_plan.reads
    read = np.concatenate([[0], np.cumsum(sizes[ids])])[starts]
    last = np.minimum(np.arange(len(starts)) + depth, len(starts) - 1)
    return int((cache_plan.open_bytes + read[last] - read).max())


def window_stats(order: Order, batch_size: int) -> dict[str, Any] | None:
    """The window and how random it is, next to a full permutation: 1 is as random, more is less."""
    if order.window is None:
        return None
    epochs = (order.epoch(number).take(range(order.num_samples)) for number in (0, 1))
    first, second = (ids if order.places is None else np.asarray(order.places)[ids] for ids in epochs)
    quality = measure(first, second, batch_size)
    return {
        "run": order.window.run,
        "runs": order.window.runs,
        "lanes": order.lanes,
        "quality": {"place": quality.place, "company": quality.company, "neighbours": quality.neighbours},
    }
