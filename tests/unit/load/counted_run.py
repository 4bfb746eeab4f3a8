"""Runs of real loaders, batch by batch: what came out, what the kernel saw them read, what their counters say."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from penstock import Loader, _native, plan_loader
from penstock.load.loader_options import OWN_CACHES
from penstock.load.open_samples import open_samples
from tests.unit.load.counted import memory_for
from tests.unit.load.witness import Pixels, Witness

PATIENCE_SECONDS = 60.0


@dataclass(frozen=True)
class Delivered:
    """One batch. No other was under way."""

    ids: npt.NDArray[np.int64]
    read: frozenset[int]
    """Ids of the samples that were read with it, by the kernel's word."""
    num_reads: int
    """Reads, by the loader's counter."""
    hits: int
    held_bytes: int
    """In the loader's cache after it."""
    is_exact: bool
    """Whether its pixels are those of the source."""


@dataclass(frozen=True)
class Run:
    """Some epochs of a loader, from a cold start on."""

    formats: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.int64]
    """Of each sample's record."""
    places: npt.NDArray[np.int64]
    """Where on disk each sample stands among all."""
    epochs: list[list[Delivered]]

    @property
    def num_samples(self) -> int:
        return len(self.sizes)

    @cached_property
    def ids(self) -> list[npt.NDArray[np.int64]]:
        """Delivered, by epoch."""
        return [np.concatenate([batch.ids for batch in epoch]) for epoch in self.epochs]

    @cached_property
    def read(self) -> list[frozenset[int]]:
        """Read, by epoch."""
        return [frozenset().union(*(batch.read for batch in epoch)) for epoch in self.epochs]

    def absent(self, epoch: int) -> frozenset[int]:
        """What an epoch delivered and did not read: it was in memory when the epoch began."""
        return frozenset(range(self.num_samples)) - self.read[epoch]

    def kept_per_batch(self, epoch: int) -> npt.NDArray[np.int64]:
        """Samples of each batch that stay in memory for the next epoch: those that it does not read."""
        stays = self.absent(epoch + 1)
        return np.array([sum(int(id_) in stays for id_ in batch.ids) for batch in self.epochs[epoch]])

    def resident_per_batch(self, epoch: int) -> npt.NDArray[np.int64]:
        """Records in memory before the first batch of an epoch, and after each."""
        gains = [len(batch.read) - len(batch.ids) for batch in self.epochs[epoch]] + self.kept_per_batch(epoch)
        return len(self.absent(epoch)) + np.concatenate([[0], np.cumsum(gains)])

    def held_bytes(self, epoch: int) -> int:
        """In memory when an epoch begins, by the loader's count."""
        return self.epochs[epoch - 1][-1].held_bytes


class Waited:
    """A pipeline that tells how many samples each batch has read."""

    def __init__(self, pipeline: _native.Pipeline) -> None:
        self._pipeline = pipeline
        self.num_wanted = 0

    def __getattr__(self, name: str) -> object:
        return getattr(self._pipeline, name)

    def wait(self, batch: _native.Batch) -> None:
        self._pipeline.wait(batch)
        self.num_wanted += batch.num_read

    def settled(self) -> int:
        """How many reads there were, once all that were asked for have come."""
        ends = time.monotonic() + PATIENCE_SECONDS
        while (num_reads := int(self._pipeline.stats()["num_reads"])) < self.num_wanted:
            assert time.monotonic() < ends, f"{num_reads} of {self.num_wanted} reads came"
        return num_reads


def run_loader(dataset: tuple[Path, Pixels], cache: str, part: float, seed: int, epochs: int, batch_size: int) -> Run:
    """Load with memory for a part of the dataset, one batch at a time."""
    path, pixels = dataset
    memory = memory_for(path, part, cache=cache, batch_size=batch_size, chain=()) if cache in OWN_CACHES else 0
    witness = Witness(path)
    try:
        plan = plan_loader(
            path, batch_size=batch_size, seed=seed, threads=2, cache=cache, memory=memory, overlap_epochs=False
        )
        with Loader(plan.with_depth(1)) as loader:
            loader.runner.pipeline = pipeline = Waited(loader.runner.pipeline)  # type: ignore[assignment]
            found = [_epoch_of(loader, pipeline, witness, pixels) for _ in range(epochs)]
            samples = open_samples(path)
            assert samples.places is not None
            return Run(samples.formats.astype(np.int64), samples.sizes, samples.places.astype(np.int64), found)
    finally:
        witness.close()


def _epoch_of(loader: Loader, pipeline: Waited, witness: Witness, pixels: Pixels) -> list[Delivered]:
    found, before = [], pipeline.settled()
    for batch in loader:
        num_reads = pipeline.settled()
        found.append(
            Delivered(
                ids=batch["id"],
                read=frozenset(witness.read()),
                num_reads=num_reads - before,
                hits=loader.runner.progress.hits[-1],
                held_bytes=loader.stats()["cache_bytes"],
                is_exact=bool(np.array_equal(batch["image"], pixels[batch["id"]])),
            )
        )
        before = num_reads
    return found
