"""How random the orders are: a table for docs/guide/order.md, computed anew by `python -m scripts.docs`."""

from __future__ import annotations

import numpy as np

from penstock.order import Order, Share, Window
from penstock.order.caches import open_cache
from penstock.order.permutation import Indices, permutation
from penstock.order.quality import measure
from penstock.order.random import Purpose

NUM_SAMPLES = 20_000
FORMATS = np.arange(NUM_SAMPLES) % 2
BATCH_SIZES = (64, 256)


def quality_table() -> str:
    """A row per order."""
    orders = {
        "a full permutation": [permutation(NUM_SAMPLES, 1, Purpose.LIQUID, epoch) for epoch in (0, 1)],
        "the default, 240 lanes (`rolling`, `pinned`, `system`, `none`)": _epochs(Order(FORMATS, seed=1)),
        "48 lanes": _epochs(Order(FORMATS, seed=1, lanes=48)),
        "`Window(run=32, runs=1)`, 48 lanes": _epochs(Order(FORMATS, seed=1, lanes=48, window=Window(32, 1))),
        "`Window(run=32, runs=4)`, 48 lanes": _epochs(Order(FORMATS, seed=1, lanes=48, window=Window(32, 4))),
        "`liquid`, memory for 70 %": _liquid(0.7),
        "`liquid`, memory for 30 %": _liquid(0.3),
        "`liquid`, memory for 10 %": _liquid(0.1),
    }
    heads = "".join(f" company at {size} | neighbours at {size} |" for size in BATCH_SIZES)
    rows = [f"| {NUM_SAMPLES:,} samples, 2 formats | place |{heads}", "|---" * (2 + 2 * len(BATCH_SIZES)) + "|"]
    rows += [_row(name, epochs) for name, epochs in orders.items()]
    return "\n".join(rows) + "\n"


def _row(name: str, epochs: list[Indices]) -> str:
    measured = [measure(epochs[0], epochs[1], size) for size in BATCH_SIZES]
    cells = "".join(f" {quality.company:.1f} | {quality.neighbours:.1f} |" for quality in measured)
    return f"| {name} | {measured[0].place:.1f} |{cells}"


def _epochs(order: Order) -> list[Indices]:
    return [order.epoch(number).take(range(NUM_SAMPLES)) for number in (1, 2)]


def _liquid(part: float) -> list[Indices]:
    sizes = np.full(NUM_SAMPLES, 1000)
    cache = open_cache("liquid", Share(Order(FORMATS, seed=1), 64), sizes, int(sizes.sum() * part))
    return [cache.epoch(number).ids for number in range(3)][1:]
