"""Benches a loader in a process of its own, under limits: as if on a smaller machine."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass

from penstock.bench.loader import LoaderBenchOptions
from penstock.documents import Document
from penstock.errors import PenstockError
from penstock.limits import Limits, Means, run
from penstock.units import bytes_text


@dataclass(frozen=True, slots=True)
class EmulatedBench:
    """What the other process found, and what held its limits."""

    found: Document
    """As `penstock bench loader --json` prints it."""
    means: Means

    @property
    def images_per_second(self) -> float:
        """The median over epochs."""
        return self.found.child("images_per_second").number("median")


def bench_under(path: str | os.PathLike[str], options: LoaderBenchOptions, limits: Limits) -> EmulatedBench:
    """Run `penstock bench loader` under limits. PenstockError if it fails or is killed for its memory."""
    command = [sys.executable, "-m", "penstock", "bench", "loader", os.fsdecode(path), *_arguments(options), "--json"]
    done = run(command, limits, on=path, quiet=True)
    if done.was_killed_for_memory:
        what = f"the loader was killed at its memory limit of {bytes_text(limits.memory_bytes or 0)}"
        raise PenstockError(what, where=os.fsdecode(path), fix="allow it more", code=500)
    if done.exit_code != 0:
        what = f"the bench ended with status {done.exit_code}: {done.stderr.decode(errors='replace').strip()[-400:]}"
        raise PenstockError(what, where=os.fsdecode(path), fix="run `penstock bench loader` to see more", code=500)
    return EmulatedBench(Document(json.loads(done.stdout), "bench"), done.means)


def _arguments(options: LoaderBenchOptions) -> list[str]:
    given = {
        "--transform": options.transform,
        "--batch-size": options.batch_size,
        "--threads": options.threads,
        "--memory": options.memory,
        "--cache": options.cache,
        "--cached": options.cached,
        "--decode": options.decode,
        "--epochs": options.epochs,
        "--max-seconds": options.max_seconds,
        "--cache-bytes": options.cache_bytes or None,
        "--window": options.window,
        "--on-error": options.on_error,
    }
    return [word for name, value in given.items() if value is not None for word in (name, str(value))]
