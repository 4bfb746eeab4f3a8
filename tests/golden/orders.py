"""Small orders that stay as they are: a state saved by any released version must find its place again.

`python -m tests.golden.orders` writes those that are missing, by hand, in a commit of its own; none is ever rewritten.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from penstock.order import Order, Window

FILE = Path(__file__).with_name("orders.json")
FORMATS = (np.arange(200) * 7 % 10 < 3).astype(np.uint8)

ORDERS = {
    "version 1, one format": (Order(np.zeros(150, np.uint8), seed=1), 0),
    "version 1, two formats": (Order(FORMATS, seed=2), 3),
    "version 1, a subset": (Order(FORMATS, seed=3, selection=np.arange(0, 200, 2)), 0),
    "version 1, a window": (Order(FORMATS, seed=4, window=Window(run=4, runs=2)), 1),
}


def samples(name: str) -> list[int]:
    """The whole epoch of an order of the table."""
    order, epoch = ORDERS[name]
    return [int(sample) for sample in order.epoch(epoch).take(range(order.num_samples))]


def main() -> None:
    """Write what is missing."""
    frozen = json.loads(FILE.read_text()) if FILE.exists() else {}
    frozen.update({name: samples(name) for name in ORDERS if name not in frozen})
    FILE.write_text("{\n" + ",\n".join(f"  {json.dumps(name)}: {frozen[name]}" for name in frozen) + "\n}\n")


if __name__ == "__main__":
    main()
