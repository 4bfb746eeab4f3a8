"""Wrapper around any loader that measures how long the loop waits for its batches."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

from penstock.doctor.diagnosis import Diagnosis, Observed, diagnose_run
from penstock.doctor.usage import TreeMeter
from penstock.machine import this_machine

Batch = TypeVar("Batch")


class Watch(Generic[Batch]):
    """Wrapper that yields what a loader yields. After a pass it has `observed` and `diagnosis`, and calls `report`."""

    def __init__(self, loader: Iterable[Batch], report: Callable[[str], None] | None) -> None:
        self._loader = loader
        self._report = report
        self.observed: Observed | None = None

    @property
    def diagnosis(self) -> Diagnosis:
        """Diagnosis of the last pass; raises RuntimeError before the first has begun to yield."""
        if self.observed is None:
            raise RuntimeError("nothing was watched yet: loop over it first")
        return diagnose_run(self.observed)

    def __len__(self) -> int:
        return len(self._loader)  # type: ignore[arg-type]  # as long as the loader has a length

    def __iter__(self) -> Iterator[Batch]:
        meter = TreeMeter(os.getpid())
        begin_usage, begin = meter.look(), time.perf_counter()
        waits, num_batches, first_wait, last_end = 0.0, 0, 0.0, begin
        first_end = begin
        source = iter(self._loader)
        try:
            while True:
                asked = time.perf_counter()
                try:
                    batch = next(source)
                except StopIteration:
                    last_end = asked
                    break
                came = time.perf_counter()
                num_batches += 1
                if num_batches == 1:
                    first_wait, first_end = came - begin, came
                else:
                    waits += came - asked
                yield batch
                last_end = time.perf_counter()
        finally:
            usage = meter.look()
            self.observed = Observed(
                num_batches=num_batches,
                wait_seconds=waits,
                step_seconds=max(0.0, last_end - first_end - waits),
                first_wait_seconds=first_wait,
                wall_seconds=time.perf_counter() - begin,
                cpu_seconds=usage.cpu_seconds - begin_usage.cpu_seconds,
                cores=this_machine().cores,
                disk_bytes=usage.disk_bytes - begin_usage.disk_bytes,
            )
            if self._report is not None and num_batches:
                self._report("penstock: " + " ".join(self.diagnosis.advice))


def watch(loader: Iterable[Batch], *, report: Callable[[str], None] | None = print) -> Watch[Batch]:
    """Time a loader against the loop that uses it: `for batch in penstock.watch(loader)`.

    After every pass, `report` is called with a sentence; None keeps silent. `.diagnosis` has the numbers.

    >>> watched = watch([1, 2, 3], report=None)
    >>> list(watched), watched.observed.num_batches
    ([1, 2, 3], 3)
    """
    return Watch(loader, report)
