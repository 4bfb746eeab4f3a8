"""Windows of a loader: the meaning of `window` for a dataset, its memory, and how well it shuffles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.load.disk_probe import DEFAULT, measure_pattern
from penstock.load.engine_table import EngineTable
from penstock.load.loader_options import WindowLike, check_count
from penstock.order import Order, RankSchedule, Window
from penstock.order.caches import EpochCachePlan, open_cache, policy_of
from penstock.order.shuffle_quality import measure
from penstock.units import parse_bytes

EPOCHS_LOOKED_AT = 3
ROOM = 1.1  # for epochs that nobody looked at; what does not fit is read when its batch needs it

AUTO = "auto"


@dataclass(frozen=True)
class FoundWindow:
    """Window, and what `stats()["reading"]` says about it."""

    window: Window | None
    reading: Mapping[str, Any]


def find_window(window: WindowLike, samples: EngineTable, cache: str | None = None) -> FoundWindow:
    """Return the window that an option means; nothing is measured.

    The option is a number of samples of a run, bytes of a run as text ("4MiB"), or a `Window`; None and "auto" mean
    what the dataset records, False none. A cache that owns the order ignores what a dataset records.
    """
    if window is False:
        return FoundWindow(None, reading_of(None, "given"))
    if window is not None and window != AUTO:
        given = _given(window, samples)
        return FoundWindow(given, reading_of(given, "given"))
    if samples.window is None:
        return FoundWindow(None, reading_of(None, DEFAULT))
    recorded = None if cache is not None and policy_of(cache).owns_order else samples.window
    return FoundWindow(recorded, reading_of(recorded, "dataset" if recorded is not None else "cache"))


def measure_window(samples: EngineTable) -> FoundWindow | None:
    """Measure which window the disk needs; None for files, and for shards that are too small to tell."""
    measured = measure_pattern(samples)
    return None if measured is None else FoundWindow(measured.window, measured.as_stats())


def reading_of(window: Window | None, reason: str) -> dict[str, Any]:
    """Return how the disk is read, and the origin of that choice."""
    return {"pattern": "random" if window is None else "runs", "from": reason}


def _given(window: Window | int | str, samples: EngineTable) -> Window:
    if isinstance(window, str):
        run_bytes = parse_bytes(window, name="window")
        return Window(max(1, int(run_bytes // max(1.0, float(samples.sizes.mean())))))
    if isinstance(window, Window):
        return window
    check_count("window", window, 1)
    return Window(window)


def open_bytes(rank_schedule: RankSchedule, sizes: npt.NDArray[np.int64], depth: int) -> int:
    """Return the largest number of bytes that wait in memory for their batches, with `depth` in flight."""
    if not rank_schedule.order.reads_runs:
        return 0
    cache = open_cache("none", rank_schedule, sizes, 0)
    return int(ROOM * max(_most_open(cache.epoch(epoch), sizes, depth) for epoch in range(EPOCHS_LOOKED_AT)))


def _most_open(cache_plan: EpochCachePlan, sizes: npt.NDArray[np.int64], depth: int) -> int:
    """Return the peak, assuming that reads of the batches in flight have arrived and no sample is used yet."""
    assert cache_plan.open_bytes is not None
    ids, starts = cache_plan.reads
    read = np.concatenate([[0], np.cumsum(sizes[ids])])[starts]
    last = np.minimum(np.arange(len(starts)) + depth, len(starts) - 1)
    return int((cache_plan.open_bytes + read[last] - read).max())


def window_stats(order: Order, batch_size: int) -> dict[str, Any] | None:
    """Return the window, and how random it is compared with a full permutation: 1 is as random, more is less."""
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
