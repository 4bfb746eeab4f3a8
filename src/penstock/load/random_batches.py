"""Batches of random samples outside any epoch, the same ones at every fidelity."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from penstock import _native
from penstock.index import Ids
from penstock.load.delivery import BatchDict
from penstock.load.engine_table import EngineTable
from penstock.load.failures import Failure

SAMPLE_STREAM = 0xF1DE  # apart from the numbers that shuffle epochs


def chosen_samples(selection: Ids, count: int, seed: int, rank: int, world_size: int) -> Ids:
    """Return the samples of a rank: its part of a random choice that is the same on all ranks."""
    rng = np.random.default_rng([seed, SAMPLE_STREAM])
    chosen: Ids = rng.permutation(selection)[: count * world_size][rank::world_size]
    return chosen


def read_samples(
    pipeline: _native.Pipeline, samples: EngineTable, ids: Ids, batch_size: int, seed: int, fidelity: int | None
) -> Iterator[BatchDict]:
    """Load these samples in batches with the random choices of epoch 0. Nothing is cached."""
    for begin in range(0, len(ids), batch_size):
        rows = ids[begin : begin + batch_size]
        batch = pipeline.submit(rows.astype(np.uint64), seed, 0, None, None, fidelity or 0)
        pipeline.wait(batch)
        failures = batch.failures()
        if failures:
            raise Failure.of(failures[0]).error
        found: BatchDict = {name: batch.pixels(index) for index, name in enumerate(samples.image_fields)}
        for name, column in samples.scalars.items():
            found[name] = column[rows]
        found["id"] = rows
        yield found
