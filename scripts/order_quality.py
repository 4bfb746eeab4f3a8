"""Table of the randomness of orders for docs/guide/order.md, computed by `python -m scripts.docs`."""

from __future__ import annotations

import numpy as np

from penstock.counter_rng import Purpose
from penstock.order import Order, RankSchedule, Window
from penstock.order.caches import open_cache
from penstock.order.permutation import Indices, permutation
from penstock.order.shuffle_quality import measure

NUM_SAMPLES = 20_000
FORMATS = np.arange(NUM_SAMPLES) % 2
BATCH_SIZES = (64, 256)


def quality_table() -> str:
    """Make a table with one row per order."""
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
    cache = open_cache("liquid", RankSchedule(Order(FORMATS, seed=1), 64), sizes, int(sizes.sum() * part))
    return [cache.epoch(number).ids for number in range(3)][1:]


MIXES = ((1, 1), (61, 39), (97, 3), (1, 1, 1), (70, 20, 10), (60, 30, 9, 1))


def mix_table() -> str:
    """Make a table of the distance of batches from the mix, with one row per number of lanes."""
    rows = ["| Lanes | Samples | batch of 16 | batch of 64 | batch of 256 |", "|---|---|---|---|---|"]
    for num_samples in (1_600, 3_200, 20_000, 62_000):
        orders = [Order(_mixed(num_samples, mix), seed=1) for mix in MIXES]
        off = [np.concatenate([_off_the_mix(order, size) for order in orders]) for size in (16, 64, 256)]
        cells = "".join(f" {np.median(some):.1f}, {some.max():.1f} |" for some in off)
        rows.append(f"| {orders[0].lanes} | {num_samples:,} |{cells}")
    return "\n".join(rows) + "\n"


def _mixed(num_samples: int, mix: tuple[int, ...]) -> Indices:
    edges = np.cumsum(mix) * num_samples // sum(mix)
    return np.searchsorted(edges, np.arange(num_samples), side="right").astype(np.int64)


def _off_the_mix(order: Order, batch_size: int) -> np.typing.NDArray[np.float64]:
    """Return the deviation of each batch of each rank from the mix, in samples, for 1 to 16 ranks."""
    sequence = order.formats[order.epoch(1).take(range(order.num_samples))]
    exact = np.bincount(order.formats) / order.num_samples * batch_size
    found = []
    for world_size in range(1, 17):
        for rank in range(world_size):
            mine = sequence[rank::world_size]
            batches = mine[: len(mine) // batch_size * batch_size].reshape(-1, batch_size)
            counts = np.stack([(batches == number).sum(axis=1) for number in range(len(exact))], axis=1)
            found.append(np.abs(counts - exact).max(axis=1, initial=0))
    return np.concatenate(found)
