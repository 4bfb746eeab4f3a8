"""Runner of all benchmarks: alone (a file lock), verified first, warmed up, interleaved, repeated, recorded.

    with Session("png_decode", "How fast do PNGs decode?", corpus="cityscapes", count=len(files)) as session:
        timings = session.compare({"penstock": run_penstock, "libspng": run_libspng}, verify=check, amount_bytes=total)
        session.report(timings, baseline="libspng")

A contender is a function that does the whole job once. Start a benchmark from the root: `python -m bench.NAME`.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import IO

from bench.circumstances import busy_seconds, commit_text, own_seconds
from penstock import _native
from penstock.machine import cpu_model

RESULTS = Path(__file__).parent / "results"
LOCK = Path(tempfile.gettempdir()) / "penstock-bench.lock"

Contender = Callable[[], object]
Clock = Callable[[], float]

MIN_ROUNDS = 7
BUSY_CORES = 0.15  # foreign load above this is pointed out


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds of one contender, a value per round; round i of all contenders ran side by side."""

    name: str
    seconds: tuple[float, ...]

    @property
    def best(self) -> float:
        """The least disturbed round."""
        return min(self.seconds)

    @property
    def median(self) -> float:
        """The usual round."""
        return statistics.median(self.seconds)

    @property
    def worst(self) -> float:
        """The most disturbed round."""
        return max(self.seconds)


@dataclass(frozen=True, slots=True)
class Ratio:
    """Speed of one contender relative to another."""

    of_best: float
    median: float
    lowest: float
    highest: float


def ratio(fast: Timing, slow: Timing) -> Ratio:
    """Compute how many times faster `fast` is than `slow`: by their best rounds, and round by round."""
    pairs = [theirs / ours for ours, theirs in zip(fast.seconds, slow.seconds, strict=True)]
    return Ratio(slow.best / fast.best, statistics.median(pairs), min(pairs), max(pairs))


def interleave(
    contenders: Mapping[str, Contender], *, rounds: int, warm_ups: int = 1, clock: Clock = time.process_time
) -> dict[str, Timing]:
    """Time contenders round by round, each round in another order, so that drift and heat meet all of them."""
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for run in contenders.values():
        for _ in range(warm_ups):
            run()
    order = list(contenders)
    for _ in range(rounds):
        for name in order:
            begin = clock()
            contenders[name]()
            seconds[name].append(clock() - begin)
        order.append(order.pop(0))
    return {name: Timing(name, tuple(values)) for name, values in seconds.items()}


@dataclass
class Session:
    """One benchmark run: holds the machine-wide lock, times, prints, and appends to bench/results if asked to."""

    name: str
    question: str
    corpus: str
    count: int
    seed: int = 0
    threads: int = 1
    rounds: int = 9
    record: bool = False
    packages: Sequence[str] = ()
    """Installed packages whose versions belong to the result: the rivals."""

    foreign_cores: float = field(default=0.0, init=False)
    _lock: IO[str] | None = field(default=None, init=False, repr=False)

    def __enter__(self) -> Session:
        self._lock = LOCK.open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"waiting for {LOCK}: another benchmark or build is running", file=sys.stderr)
            fcntl.flock(self._lock, fcntl.LOCK_EX)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._lock is not None:
            self._lock.close()

    def compare(
        self, contenders: Mapping[str, Contender], *, verify: Callable[[], object], clock: Clock = time.process_time
    ) -> dict[str, Timing]:
        """Check that the contenders do the same job (`verify` raises if not), then time them."""
        if self.rounds < MIN_ROUNDS:
            print(f"note: {self.rounds} rounds are fewer than {MIN_ROUNDS}; do not quote these", file=sys.stderr)
        verify()
        busy, own, wall = busy_seconds(), own_seconds(), time.perf_counter()
        timings = interleave(contenders, rounds=self.rounds, clock=clock)
        wall = time.perf_counter() - wall
        self.foreign_cores = max(0.0, (busy_seconds() - busy) - (own_seconds() - own)) / wall
        return timings

    def report(
        self, timings: Mapping[str, Timing], *, baseline: str, amount_bytes: int = 0, **facts: object
    ) -> dict[str, Ratio]:
        """Print a line per contender and append it to bench/results; gives how many times faster than `baseline`.

        `amount_bytes` is what one round processes (raw pixels), for MB/s; `facts` go into the record as they are.
        """
        load = f", foreign load {self.foreign_cores:.2f} cores" + " (disturbed)" * (self.foreign_cores > BUSY_CORES)
        threads = f"{self.threads} thread{'s' * (self.threads != 1)}"
        print(f"{self.question}  {self.corpus}, {self.count} images, {threads}, {_native.simd_path()}{load}")
        width = max(map(len, timings))
        ratios: dict[str, Ratio] = {}
        for name, timing in timings.items():
            found = ratios[name] = ratio(timing, timings[baseline])
            speed = f"{amount_bytes / timing.best / 1e6:9.1f} MB/s" if amount_bytes else ""
            line = f"  {name:<{width}}  best {timing.best:.4f} s, median {timing.median:.4f} "
            line += f"({timing.best:.4f}..{timing.worst:.4f}){speed}"
            if name != baseline:
                line += f"  {found.of_best:.2f}x {baseline} (by round {found.median:.2f}, "
                line += f"{found.lowest:.2f}..{found.highest:.2f})"
            print(line)
            if self.record:
                self._append(timing, found, baseline, amount_bytes, facts)
        return ratios

    def _append(
        self, timing: Timing, found: Ratio, baseline: str, amount_bytes: int, facts: Mapping[str, object]
    ) -> None:
        line = {
            "question": self.question,
            "contender": timing.name,
            "best_seconds": timing.best,
            "median_seconds": timing.median,
            "worst_seconds": timing.worst,
            "rounds": len(timing.seconds),
            "megabytes_per_second": amount_bytes / timing.best / 1e6 if amount_bytes else None,
            "baseline": baseline,
            "ratio_of_best": found.of_best,
            "ratio_median": found.median,
            "ratio_range": [found.lowest, found.highest],
            **facts,
            **self._circumstances(),
        }
        RESULTS.mkdir(exist_ok=True)
        with (RESULTS / f"{self.name}.jsonl").open("a") as file:
            file.write(json.dumps(line, allow_nan=False) + "\n")

    def _circumstances(self) -> dict[str, object]:
        return {
            "corpus": self.corpus,
            "count": self.count,
            "seed": self.seed,
            "threads": self.threads,
            "commit": commit_text(),
            "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
            "cpu": cpu_model(),
            "simd": _native.simd_path(),
            "foreign_cores": round(self.foreign_cores, 3),
            "libraries": dict(_native.library_versions()) | {name: version(name) for name in self.packages},
        }


def arguments(question: str) -> argparse.ArgumentParser:
    """Return a parser with the options of every benchmark; a benchmark may add its own."""
    parser = argparse.ArgumentParser(description=question, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9, help="Number of interleaved rounds.")
    parser.add_argument("--limit", type=int, default=0, help="Number of images, evenly spread; 0: all.")
    parser.add_argument("--record", action="store_true", help="Append the results to bench/results.")
    return parser
