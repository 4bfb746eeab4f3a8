"""Job that loads epochs without using the batches, and measures rates and bytes read from the disk."""

from __future__ import annotations

import os
import time

from penstock.doctor.usage import TreeMeter
from penstock.lab.jobs.contract import Measures, Order
from penstock.lab.jobs.spec import spec_of, start_cold
from penstock.lab.loaders import LabLoader, open_loader
from penstock.types import OnProgress


def run(order: Order, on_progress: OnProgress) -> Measures:
    """Load some epochs and measure them.

    Settings: those of `spec_of`, `loader`, `epochs`, `max_seconds` (of an epoch; 0: no limit), `cold`. Cold means that
    the page cache drops the data before each epoch. The first epoch warms up; it is recorded, but not part of the
    rates.
    """
    spec = spec_of(order)
    loader = open_loader(order.text("loader", "penstock"), spec)
    meter = TreeMeter(os.getpid())
    count = order.integer("epochs", 3)
    epochs = []
    for number in range(count):
        start_cold(order, spec)
        epochs.append(_epoch(loader, meter, order, (number, count), on_progress))
    counted = epochs[1:] or epochs
    facts = loader.facts()
    measures: Measures = {
        "num_images": loader.num_images,
        "epochs": epochs,
        "images_per_second": _rate(counted),
        "disk_bytes_per_epoch": sum(epoch["disk_bytes"] for epoch in counted) / len(counted),
        "cpu_seconds_per_image": sum(e["cpu_seconds"] for e in counted) / max(1, sum(e["num_images"] for e in counted)),
        "anonymous_bytes": meter.anonymous_bytes(),
        **facts,
    }
    loader.close()
    return measures


def _epoch(
    loader: LabLoader, meter: TreeMeter, order: Order, place: tuple[int, int], on_progress: OnProgress
) -> dict[str, float]:
    before, counted = meter.look(), loader.facts().get("bytes_read", 0.0)
    begin = time.perf_counter()
    num_images = 0
    limit = order.number("max_seconds")
    for _, _, count in loader.epoch():
        num_images += count
        on_progress(f"epoch {place[0] + 1} of {place[1]}", num_images, loader.num_images)
        if limit and time.perf_counter() - begin > limit:
            break
    seconds = time.perf_counter() - begin
    after = meter.look()
    return {
        "num_images": num_images,
        "seconds": seconds,
        "cpu_seconds": after.cpu_seconds - before.cpu_seconds,
        "disk_bytes": after.disk_bytes - before.disk_bytes,
        "bytes_read": loader.facts().get("bytes_read", 0.0) - counted,
    }


def _rate(epochs: list[dict[str, float]]) -> float:
    return sum(epoch["num_images"] for epoch in epochs) / sum(epoch["seconds"] for epoch in epochs)
