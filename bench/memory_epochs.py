"""One loader of ours in a process of its own, for bench/memory.py: loads epochs and prints what each of them took.

python -m bench.memory_epochs '{"path": …, "cache": …, "memory": …, "epochs": …}': a JSON object a line.
"""

from __future__ import annotations

import json
import sys
import time
from itertools import pairwise

import numpy as np

from bench.peers.counting import disk_bytes, held_bytes
from penstock import Loader
from penstock.order.quality import measure
from penstock.transforms import RandomResizedCrop


def main() -> None:
    """Load."""
    wish = json.loads(sys.argv[1])
    epochs, quality = wish.pop("epochs"), wish.pop("quality", False)
    last: list[int] = []
    with Loader(wish.pop("path"), transform=[RandomResizedCrop(wish.pop("crop", 64))], **wish) as loader:
        for number in range(epochs):
            disk, read, began = disk_bytes(), loader.stats()["bytes_read"], time.perf_counter()
            times, ids = [began], list[int]()
            for batch in loader:
                times.append(time.perf_counter())
                ids += batch["id"].tolist()
            stats = loader.stats()
            found = {
                "epoch": number,
                "num_images": len(ids),
                "wall_seconds": times[-1] - began,
                "batch_seconds": [after - before for before, after in pairwise(times[1:])],
                "bytes_read": stats["bytes_read"] - read,
                "disk_bytes": None if disk is None else (disk_bytes() or 0) - disk,
                "hits": sum(loader._progress.hits),
                "held_bytes": held_bytes(),
                "peak_memory_bytes": stats["peak_memory_bytes"],
                "cache_bytes": stats["cache_bytes"],
            }
            if quality and last:
                shuffled = measure(np.array(last), np.array(ids), loader.batch_size)
                found["quality"] = {"place": shuffled.place, "neighbours": shuffled.neighbours}
            last = ids
            sys.stdout.write(json.dumps(found) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
