"""The stages of loading, each alone and all together, on one dataset under one set of limits.

Reading alone gives encoded images; decoding alone has everything in memory from the second epoch on; together they read
past the page cache and decode.
"""

from __future__ import annotations

import time
from dataclasses import replace

from penstock.lab.jobs.contract import Measures, Order
from penstock.lab.jobs.spec import spec_of
from penstock.lab.loaders import LabLoader, LoaderSpec, open_loader
from penstock.load.source import open_samples
from penstock.types import OnProgress

DEFAULT_SECONDS = 1.0


def run(order: Order, on_progress: OnProgress) -> Measures:
    """Settings: those of `spec_of`; `seconds` that each stage is timed for, whole epochs."""
    spec = spec_of(order)
    total = int(open_samples(spec.path).sizes.sum())
    seconds = order.number("seconds", DEFAULT_SECONDS)
    reading = replace(spec, cache="none", is_encoded=True, size=0)
    decoding = replace(spec, cache="pinned", cache_bytes=2 * total)
    measures: Measures = {"data_bytes": total}
    on_progress("reading", 0, 3)
    measures["load_rate"] = _rate(reading, seconds)
    on_progress("decoding", 1, 3)
    measures["decode_rate"] = _rate(decoding, seconds, warm_ups=1)
    on_progress("both", 2, 3)
    measures["both_rate"] = _rate(replace(spec, cache=spec.cache if spec.cache_bytes else "none"), seconds, warm_ups=1)
    return measures


def _rate(spec: LoaderSpec, seconds: float, *, warm_ups: int = 0) -> float:
    """Images per second over as many epochs as the time allows, the first `warm_ups` left out."""
    loader = open_loader("penstock", spec)
    try:
        for _ in range(warm_ups):
            _drain(loader)
        begin = time.perf_counter()
        num_images = 0
        while time.perf_counter() - begin < seconds:
            num_images += _drain(loader)
        return num_images / (time.perf_counter() - begin)
    finally:
        loader.close()


def _drain(loader: LabLoader) -> int:
    return sum(count for _, _, count in loader.epoch())
