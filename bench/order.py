"""How long does an epoch's order take, and what a cache does in it? Per epoch, in CPU seconds; nothing is read."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bench.timing import Session, arguments
from penstock.order import Batches, Order, RankSchedule, Schedule
from penstock.order.caches import open_cache

BATCH_SIZE = 256
MEMORY = 0.3


def main() -> None:
    options = arguments(str(__doc__)).parse_args()
    for num_samples in (10**6, 10**7):
        num_samples = options.limit or num_samples
        formats = np.arange(num_samples) % 2
        with Session(
            "order", str(__doc__), "generated", num_samples, rounds=options.rounds, record=options.record
        ) as session:
            timings = session.compare(contenders(formats), verify=lambda: check(formats))  # noqa: B023  called at once
            session.report(timings, baseline="order, one format")
        if options.limit:
            return


def contenders(formats: np.typing.NDArray[np.integer]) -> dict[str, Callable[[], object]]:
    num_samples = len(formats)
    alone, mixed = Order(np.zeros(num_samples, np.uint8)), Order(formats)
    middle = num_samples // BATCH_SIZE // 2

    def resume() -> object:
        """Resume in a new process: deal the lanes, and compute the one requested batch."""
        return Schedule(Order(formats).epoch(7), Batches(num_samples, BATCH_SIZE)).ids_of(middle)

    runs: dict[str, Callable[[], object]] = {
        "order, one format": lambda: alone.epoch(1).take(range(num_samples)),
        "order, two formats": lambda: mixed.epoch(1).take(range(num_samples)),
        "first batch of a resumed epoch": resume,
    }
    if num_samples <= 10**6:
        runs.update({f"cache {name}": warm_epochs(name, mixed) for name in ("rolling", "pinned", "liquid")})
    return runs


def warm_epochs(name: str, order: Order) -> Callable[[], object]:
    """Return a job of one epoch after the other, from the second on."""
    sizes = np.random.default_rng(0).lognormal(11, 0.5, order.num_samples).astype(np.int64)
    cache = open_cache(name, RankSchedule(order, BATCH_SIZE), sizes, int(sizes.sum() * MEMORY))
    epochs = iter(range(10**6))
    cache.epoch(next(epochs))
    return lambda: cache.epoch(next(epochs))


def check(formats: np.typing.NDArray[np.integer]) -> None:
    taken = Order(formats).epoch(1).take(range(len(formats)))
    assert (np.bincount(taken, minlength=len(formats)) == 1).all(), "a sample is missing or double"


if __name__ == "__main__":
    main()
