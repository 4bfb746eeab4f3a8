"""Protocol of a contender: a process in its own environment that loads an epoch on request.

A line on its standard input asks for an epoch; a JSON object a line comes back. The first says that it is warm.
Only the standard library is used here: rivals have environments without Penstock.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

TICKS = os.sysconf("SC_CLK_TCK")
Epoch = Callable[[], Iterable[tuple[int, float]]]
"""Loads everything once: (samples, mean level) of each batch; the level may be computed for the first batch alone."""


def arguments(*names: str) -> argparse.Namespace:
    """Parse what the benchmark tells every contender; `names` come first, without dashes."""
    parser = argparse.ArgumentParser()
    for name in names:
        parser.add_argument(name)
    parser.add_argument("--variant", default="")
    parser.add_argument("--source", type=Path, required=True, help="Folder or file to load from.")
    parser.add_argument("--job", choices=["train224", "full"], default="train224")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=256)
    return parser.parse_args()


def image_files(folder: Path) -> list[str]:
    """List all images of a folder, sorted."""
    endings = (".jpeg", ".jpg", ".png")
    return sorted(str(path) for path in folder.rglob("*") if path.suffix.lower() in endings)


def serve(
    epoch: Epoch,
    *,
    began: float,
    prepare: Callable[[], None] = lambda: None,
    **facts: Any,  # noqa: ANN401  # whatever JSON takes
) -> None:
    """Warm up with one epoch, then do what standard input asks for until it ends.

    `began` is when the contender started to open its data, imports left out. `prepare` runs before every epoch and is
    not timed: an endless pipeline drops there what it loaded while others had their turn.
    """
    batches = iter(epoch())
    _, level = next(iter(batches))
    first_batch_seconds = time.perf_counter() - began
    for _ in batches:
        pass
    _say({"first_batch_seconds": first_batch_seconds, "level": level, **facts})
    for _ in sys.stdin:
        prepare()
        cpu_began, wall_began = cpu_seconds(), time.perf_counter()
        num_images = sum(count for count, _ in epoch())
        wall, cpu = time.perf_counter() - wall_began, cpu_seconds() - cpu_began
        _say({"num_images": num_images, "wall_seconds": wall, "cpu_seconds": cpu})
    os._exit(0)  # some loaders wait for threads that never end


def cpu_seconds() -> float:
    """Return the CPU seconds of this process and its children, running or ended."""
    children: dict[int, list[int]] = {}
    used: dict[int, float] = {}
    for place in Path("/proc").iterdir():
        name = place.name
        if not name.isdigit():
            continue
        try:
            fields = (place / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        children.setdefault(int(fields[1]), []).append(int(name))
        used[int(name)] = sum(map(int, fields[11:15])) / TICKS
    waiting, total = [os.getpid()], 0.0
    while waiting:
        process = waiting.pop()
        total += used.get(process, 0.0)
        waiting += children.get(process, [])
    return total


def _say(answer: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()
