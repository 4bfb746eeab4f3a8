"""How many bytes a variant of the data takes, and how uneven its samples are. Reads its index alone."""

from __future__ import annotations

from penstock.lab.jobs.contract import Measures, Order
from penstock.load.open_samples import open_samples
from penstock.types import OnProgress


def run(order: Order, on_progress: OnProgress) -> Measures:
    """Settings: `variant`."""
    samples = open_samples(order.paths[order.text("variant")])
    sizes = samples.sizes
    return {"encoded_bytes": int(sizes.sum()), "num_images": len(samples), "deviation_bytes": float(sizes.std())}
