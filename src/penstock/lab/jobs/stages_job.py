"""Job that measures the stages of loading, alone and together, on one dataset under one set of limits.

Reading alone gives encoded images. Decoding alone has everything in memory from the second epoch on. Together they
read past the page cache and decode.
"""

from __future__ import annotations

import time
from dataclasses import replace

from penstock.lab.jobs.contract import Measures, Order
from penstock.lab.jobs.spec import spec_of
from penstock.lab.loaders import LabLoader, LoaderSpec, open_loader
from penstock.load.open_samples import open_samples
from penstock.types import OnProgress

DEFAULT_SECONDS = 1.0


def run(order: Order, on_progress: OnProgress) -> Measures:
    """Measure each stage. Settings: those of `spec_of`, and `seconds` per stage, in whole epochs."""
    spec = spec_of(order)
    total = int(open_samples(spec.path).sizes.sum())
    seconds = order.number("seconds", DEFAULT_SECONDS)
    reading = replace(spec, cache="none", is_encoded=True, size=0)
    decoding = replace(spec, cache="pinned", cache_bytes=2 * total)
    measures: Measures = {"data_bytes": total}
    on_progress("reading", 0, 3)
    measures["load_rate"], _ = _rate(reading, seconds)
    on_progress("decoding", 1, 3)
    measures["decode_rate"], _ = _rate(decoding, seconds)
    on_progress("both", 2, 3)
    together = replace(spec, cache=spec.cache if spec.cache_bytes else "none")
    measures["both_rate"], cache_bytes = _rate(together, seconds)
    measures["held_share"] = min(1.0, cache_bytes / total)
    return measures


def _rate(spec: LoaderSpec, seconds: float) -> tuple[float, float]:
    """Return images/s over as many epochs as the time allows, and the bytes that the loader left its cache.

    The first epoch is left out: it fills the cache, and a throttle lets its first bytes through at once.
    """
    loader = open_loader("penstock", spec)
    try:
        _drain(loader)
        begin = time.perf_counter()
        num_images = 0
        while time.perf_counter() - begin < seconds:
            num_images += _drain(loader)
        return num_images / (time.perf_counter() - begin), loader.facts()["cache_limit_bytes"]
    finally:
        loader.close()


def _drain(loader: LabLoader) -> int:
    return sum(count for _, _, count in loader.epoch())
