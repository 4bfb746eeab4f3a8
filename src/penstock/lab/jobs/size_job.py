"""Job that measures the bytes of a variant and the variation between its samples, from its index alone."""

from __future__ import annotations

from penstock.lab.jobs.contract import Measures, Order
from penstock.load.open_samples import open_samples
from penstock.types import OnProgress


def run(order: Order, on_progress: OnProgress) -> Measures:
    """Measure the size of a variant. Settings: `variant`."""
    samples = open_samples(order.paths[order.text("variant")])
    sizes = samples.sizes
    return {"encoded_bytes": int(sizes.sum()), "num_images": len(samples), "deviation_bytes": float(sizes.std())}
