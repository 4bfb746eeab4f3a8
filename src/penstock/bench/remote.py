"""Benchmark of a loader in a worker process under limits, as if on a smaller machine."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from penstock.bench.loader_bench import LoaderBenchOptions, bench_loader
from penstock.documents import Document, Json
from penstock.errors import PenstockError
from penstock.limits import Enforcement, Limits, call_worker
from penstock.types import OnProgress, no_progress
from penstock.units import bytes_text

TASK = "bench loader"


@dataclass(frozen=True, slots=True)
class EmulatedBench:
    """Result of a benchmark in another process, and what enforced its limits."""

    found: Document
    """`LoaderBench.as_dict()` of the other process."""
    enforced_by: Enforcement

    @property
    def images_per_second(self) -> float:
        """Median rate over the epochs."""
        return self.found.child("images_per_second").number("median")


def bench_under(
    path: str | os.PathLike[str],
    options: LoaderBenchOptions,
    limits: Limits,
    *,
    on_progress: OnProgress = no_progress,
) -> EmulatedBench:
    """Run `bench_loader` in a worker process under limits.

    Raises PenstockError if the process is killed at its memory limit, and whatever `bench_loader` raises there.
    """
    arguments: dict[str, Json] = {"path": os.fsdecode(path), "options": asdict(options)}
    reply = call_worker(TASK, arguments, limits, on=path, on_progress=on_progress)
    if reply.was_killed_for_memory:
        what = f"the loader was killed at its memory limit of {bytes_text(limits.memory_bytes or 0)}"
        raise PenstockError(what, where=os.fsdecode(path), fix="allow it more memory", code=500)
    return EmulatedBench(Document(reply.result(), "bench"), reply.enforced_by)


def run_bench_task(arguments: Mapping[str, Any], on_progress: OnProgress) -> dict[str, Json]:
    """Run the worker's side of `bench_under`."""
    options = LoaderBenchOptions(**arguments["options"])
    return bench_loader(arguments["path"], options, on_progress=on_progress).as_dict()
