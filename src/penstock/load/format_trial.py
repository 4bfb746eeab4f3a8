"""Costs of samples in each form, measured on a few of them in a pipeline like the loader's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from penstock import _native
from penstock.index import Ids
from penstock.load.budget import MIB, Budget
from penstock.load.engine_table import EngineTable
from penstock.load.loader_options import LoaderOptions, native_options

FORM_NUMBERS = {"encoded": 0, "pixels": 1, "weir:fast": 2}
"""Numbers of the forms in the native table."""
MOST_PIXEL_BYTES = 48 * MIB  # of all samples of a format together
MOST_SAMPLES = 32
ROOM = 2  # times the pixels is more than any form takes: what is measured shall not be bounded by what is assumed
LEAST_ROOM = 65536
REPEATS = 3
KEEP = 1


@dataclass(frozen=True, slots=True)
class Trial:
    """Costs of some samples of one format in one form."""

    ids: Ids
    """Ids of the samples that loaded."""
    held_bytes: npt.NDArray[np.int64]
    hit_seconds: float
    """Seconds of one core per sample, decoding and transforms."""
    enter_seconds: float


@dataclass(frozen=True, slots=True)
class Bench:
    """Conditions of a trial: those of the loader, within its memory."""

    program: _native.TransformProgram
    options: LoaderOptions
    cache: str
    budget: Budget
    free_bytes: int
    """Bytes for cached samples."""


class Probe:
    """Trial of forms on a few samples of each format; changes `samples.table`."""

    def __init__(self, samples: EngineTable, formats: Mapping[str, Ids], bench: Bench) -> None:
        assert samples.pixel_sizes is not None, "of a dataset"
        self._samples = samples
        self._bench = bench
        self._rooms = (ROOM * samples.pixel_sizes + LEAST_ROOM).astype(np.uint64)
        most_bytes = min(MOST_PIXEL_BYTES, bench.free_bytes // (2 * ROOM))
        self._ids = {name: some(ids, samples.pixel_sizes, most_bytes) for name, ids in formats.items()}

    def try_form(self, form: str) -> dict[str, Trial]:
        """Return costs by format, without formats whose samples all failed."""
        forms = np.full(self._samples.num_samples, FORM_NUMBERS[form], np.uint8)
        self._samples.table.set_kept(forms, self._rooms)
        pipeline = _native.Pipeline(self._samples.table, self._bench.program, self._options())
        try:
            found = {name: self._try(pipeline, ids) for name, ids in self._ids.items()}
        finally:
            pipeline.close()
        return {name: trial for name, trial in found.items() if trial is not None}

    def _options(self) -> _native.PipelineOptions:
        budget, options = (
            self._bench.budget,
            native_options(self._bench.options, self._bench.cache, self._samples.store),
        )
        options.num_threads = 1
        options.read_bytes = budget.read_bytes
        options.scratch_bytes = budget.scratch_bytes
        options.idle_bytes = budget.idle_bytes
        options.cache_bytes = max(self._bench.free_bytes, 0)
        return options

    def _try(self, pipeline: _native.Pipeline, ids: Ids) -> Trial | None:
        """Read samples, keep them, and hit them repeatedly. The first pass warms up and drops failures."""
        failed = self._run(pipeline, ids, epoch=0, keep=False)[1]
        ids = np.delete(ids, failed)
        if len(ids) == 0:
            return None
        entered, _ = self._run(pipeline, ids, epoch=0, keep=True)
        hits = [self._run(pipeline, ids, epoch=epoch, keep=False)[0] for epoch in range(1, 1 + REPEATS)]
        held = np.array(pipeline.kept_bytes(ids.astype(np.uint64)), np.int64)
        pipeline.clear_cache()
        return Trial(ids, held, min(hits) / len(ids), entered / len(ids))

    def _run(self, pipeline: _native.Pipeline, ids: Ids, *, epoch: int, keep: bool) -> tuple[float, list[int]]:
        """Return the seconds of the decoding thread, and the positions of failures, one batch at a time."""
        before = pipeline.stats()["decode_busy_seconds"]
        failed: list[int] = []
        batch_size = self._bench.options.ordering.batch_size
        for begin in range(0, len(ids), batch_size):
            part = ids[begin : begin + batch_size].astype(np.uint64)
            keeping = np.full(len(part), KEEP, np.uint8) if keep else None
            batch = pipeline.submit(part, 0, epoch, keeping, None, 0)
            pipeline.wait(batch)
            failed += [begin + failure[0] for failure in batch.failures()]
        return float(pipeline.stats()["decode_busy_seconds"]) - before, failed


def some(ids: Ids, pixel_sizes: npt.NDArray[np.int64], most_bytes: int) -> Ids:
    """Select a few samples from all over the dataset, fewer if they are large."""
    count = int(np.clip(most_bytes // max(float(pixel_sizes[ids].mean()), 1.0), 1, min(MOST_SAMPLES, len(ids))))
    places = (np.arange(count) + 0.5) * len(ids) / count
    return np.asarray(ids[places.astype(np.int64)])
