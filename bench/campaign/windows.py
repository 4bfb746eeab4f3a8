"""Rates of loaders in steady state: a process that keeps several open, and measures one at a time under a throttle.

The process fills caches as fast as the disk goes and joins the control group of a setting only for the seconds that
count. Loaders stay open between windows, so repeats can be interleaved without filling anything again. Orders come as
JSON lines on its standard input; one answer each.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.circumstances import busy_seconds
from penstock import Loader
from penstock.bench.loader_bench import LoaderBenchOptions, plan_for
from penstock.limits import Limits
from penstock.limits.cgroups import make_groups
from penstock.limits.limited_run import device_of

ROOT = Path(__file__).parents[2]
BATCH_SIZE = 32
WARM_SECONDS, WARM_BATCHES = 0.2, 4  # what was read ahead before the throttle, and its first credit, are used up then


@dataclass(frozen=True, slots=True)
class Window:
    """Result of one window."""

    images_per_second: float
    seconds: float
    num_images: int
    bytes_read: int
    cpu_seconds: float
    hit_ratio: float
    foreign_cores: float
    """CPU use of other programs."""


class Windows:
    """The caller's side. Loaders are known by the names they were opened with."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "bench.campaign.windows"]
        self._process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self) -> Windows:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def open(self, name: str, path: Path, transform: str, cache_bytes: int = 0) -> dict[str, Any]:
        """Open a loader and fill its cache."""
        order = {"path": str(path), "transform": transform, "cache_bytes": cache_bytes}
        return self._ask({"do": "open", "name": name, **order})

    def measure(self, name: str, seconds: float, group: Path | None) -> Window:
        """Load for so many seconds in a control group, or as fast as the machine goes."""
        found = self._ask({"do": "measure", "name": name, "seconds": seconds, "group": str(group) if group else ""})
        return Window(**found)

    def close(self, name: str) -> None:
        """Let go of a loader and its memory."""
        self._ask({"do": "close", "name": name})

    def _ask(self, order: dict[str, object]) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            sys.exit(f"the process of the loaders ended with {self._process.wait()} at {order}")
        found: dict[str, Any] = json.loads(answer)
        return found


@contextmanager
def throttled(limits: Limits, on: Path) -> Iterator[Path]:
    """Yield the folder of a control group with these limits, which is removed at the end."""
    groups = make_groups(f"penstock-campaign-{uuid.uuid4().hex[:8]}", limits, device_of(on))
    try:
        if not groups:
            sys.exit("no control group can hold the disk here: run as root on a machine with blkio or io")
        yield groups[0].folder
    finally:
        for group in groups:
            group.remove()


class Opened:
    """A loader that goes on from window to window."""

    def __init__(self, path: str, transform: str, cache_bytes: int) -> None:
        self.loader = _open(path, transform, cache_bytes)
        self.batches = self._forever()
        if cache_bytes:
            for _ in range(len(self.loader) + 1):  # until the first batch of the second epoch: the cache is full
                next(self.batches)

    def measure(self, seconds: float) -> Window:
        """Measure the rate between two batches that are at least this many seconds apart."""
        self._run(WARM_SECONDS, WARM_BATCHES)
        before, cpu, busy = self.loader.stats(), _cpu_seconds(), busy_seconds()
        taken, num_images = self._run(seconds)
        after = self.loader.stats()
        read = after["bytes_read"] - before["bytes_read"]
        samples = [found["num_samples"] for found in (before, after)]
        hits = [found["hit_ratio"] * count for found, count in zip((before, after), samples, strict=True)]
        ratio = (hits[1] - hits[0]) / max(1, samples[1] - samples[0])
        cpu = _cpu_seconds() - cpu
        foreign = max(0.0, busy_seconds() - busy - cpu) / taken
        return Window(num_images / taken, taken, num_images, read, cpu, ratio, foreign)

    def _forever(self) -> Iterator[dict[str, Any]]:
        while True:
            yield from self.loader

    def _run(self, seconds: float, least_batches: int = 1) -> tuple[float, int]:
        num_images, num_batches, begin = 0, 0, time.perf_counter()
        while (taken := time.perf_counter() - begin) < seconds or num_batches < least_batches:
            num_images += len(next(self.batches)["id"])
            num_batches += 1
        return taken, num_images


def _open(path: str, transform: str, cache_bytes: int) -> Loader:
    cache = "rolling" if cache_bytes else "none"
    wanted = LoaderBenchOptions(transform, BATCH_SIZE, memory=0, cache=cache, cache_bytes=cache_bytes)
    return Loader(plan_for(path, wanted))


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _join(group: Path) -> None:
    (group / "cgroup.procs").write_text(str(os.getpid()))


def main() -> None:
    """Serve orders until standard input ends."""
    opened: dict[str, Opened] = {}
    for line in sys.stdin:
        order = json.loads(line)
        name = order["name"]
        answer: dict[str, object] = {}
        if order["do"] == "open":
            opened[name] = Opened(order["path"], order["transform"], order["cache_bytes"])
        elif order["do"] == "close":
            opened.pop(name).loader.close()
        elif order["group"]:
            _join(Path(order["group"]))
            try:
                answer = asdict(opened[name].measure(order["seconds"]))
            finally:
                _join(Path(order["group"]).parent)
        else:
            answer = asdict(opened[name].measure(order["seconds"]))
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
