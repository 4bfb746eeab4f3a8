"""Loader in a separate process for bench/memory.py: loads epochs and prints the cost of each.

python -m bench.memory_epochs '{"path": …, "cache": …, "memory": …, "epochs": …}': a JSON object a line. With "alone",
nothing is read for a batch before the one before it is out: what the disk read meanwhile was read for that batch.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from dataclasses import asdict
from itertools import pairwise

import numpy as np

from bench.contenders.counting import disk_bytes, held_bytes
from penstock import Loader, plan_loader
from penstock.order.shuffle_quality import measure
from penstock.transforms import RandomResizedCrop


def main() -> None:
    """Load the epochs of a request."""
    wish = json.loads(sys.argv[1])
    epochs, quality, alone = wish.pop("epochs"), wish.pop("quality", False), wish.pop("alone", False)
    last: list[int] = []
    chain = [RandomResizedCrop(wish.pop("crop", 64))]
    plan = plan_loader(wish.pop("path"), transform=chain, overlap_epochs=False, **wish)
    with Loader(plan.with_depth(1) if alone else plan) as loader:
        for number in range(epochs):
            disk, read, cpu = disk_bytes(), loader.stats()["bytes_read"], cpu_seconds()
            began = time.perf_counter()
            times, counts, ids = [began], [disk or 0], list[int]()
            for batch in loader:
                times.append(time.perf_counter())
                counts.append(disk_bytes() or 0)
                ids += batch["id"].tolist()
            stats = loader.stats()
            found = {
                "epoch": number,
                "num_images": len(ids),
                "wall_seconds": times[-1] - began,
                "cpu_seconds": cpu_seconds() - cpu,
                "batch_size": loader.batch_size,
                "batch_seconds": [after - before for before, after in pairwise(times)],
                "batch_disk_bytes": [after - before for before, after in pairwise(counts)],
                "bytes_read": stats["bytes_read"] - read,
                "disk_bytes": None if disk is None else (disk_bytes() or 0) - disk,
                "hits": sum(loader.runner.progress.hits),
                "held_bytes": held_bytes(),
                "peak_memory_bytes": stats["peak_memory_bytes"],
                "cache_bytes": stats["cache_bytes"],
                "cached": stats["cached"],
            }
            if quality and last:
                shuffled = measure(np.array(last), np.array(ids), loader.batch_size)
                found["quality"] = asdict(shuffled)
            last = ids
            sys.stdout.write(json.dumps(found) + "\n")
            sys.stdout.flush()


def cpu_seconds() -> float:
    """Return the CPU seconds of the whole process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
