"""Predict hits and bytes read of epochs, by running a plan's caches without I/O."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from penstock.load.cache_layout import DECODED, WEIR
from penstock.load.cache_session import CacheSession
from penstock.load.engine_table import EngineTable
from penstock.load.fidelity_schedule import as_fidelity
from penstock.load.plan_values import PlanValues
from penstock.order.cache_formats import ENCODED
from penstock.order.caches import EpochCachePlan, open_cache
from penstock.order.permutation import Indices

PAGE = 4096  # records are read by whole pages, as disk and page cache do
MOST_READ_BYTES = 4 << 20  # of one read; a loader with little memory for reads makes smaller ones
READ_PARTS = 4  # one read takes at most this part of the memory for reads
MEASURED_ERROR = 0.02  # samples that do not fit the room that was planned for them are not kept
ESTIMATED_ERROR = {WEIR: 0.25}  # of the hit ratio, before the loader has measured what Weir takes


@dataclass(frozen=True)
class EpochPrediction:
    """Hits and reads of one epoch of one rank."""

    epoch: int
    num_samples: int
    hits: tuple[int, ...]
    """Samples of each batch that are in memory."""
    bytes_read: int
    num_refills: int
    """Samples that are read again only because the cache was restarted."""
    peak_cache_bytes: int
    """The most that the cache holds during the epoch."""
    error: float | None
    """Possible error of the hit ratio; 0 means exact, None unknown without measuring."""

    @property
    def num_hits(self) -> int:
        """Number of samples that are in memory."""
        return sum(self.hits)

    @property
    def num_batches(self) -> int:
        """Number of batches."""
        return len(self.hits)

    @property
    def hit_ratio(self) -> float:
        """Share of samples that are in memory."""
        return self.num_hits / max(1, self.num_samples)


def predict_epochs(plan: PlanValues, epochs: Iterable[int]) -> tuple[EpochPrediction, ...]:
    """Predict some epochs, one after the other, that begin with an empty cache."""
    session, fidelity = CacheSession(plan), as_fidelity(plan.options.reading.fidelity, plan.samples)
    nothing = open_cache("none", plan.rank_schedule, plan.samples.sizes, 0)
    found = []
    for epoch in epochs:
        scans = fidelity.at(epoch)
        cache_plan = session.epoch(plan.state(epoch, 0, scans), scans) or nothing.epoch(epoch)
        found.append(_prediction(plan, cache_plan, scans))
    return tuple(found)


def _prediction(plan: PlanValues, cache_plan: EpochCachePlan, fidelity: int | None) -> EpochPrediction:
    hits = cache_plan.hits_per_batch if plan.policy.owns_order else cache_plan.found_per_batch
    return EpochPrediction(
        epoch=cache_plan.epoch,
        num_samples=len(cache_plan.ids),
        hits=tuple(hits.tolist()),
        bytes_read=bytes_read(plan.samples, cache_plan, plan.memory.read_bytes, fidelity),
        num_refills=int(cache_plan.refills.sum()),
        peak_cache_bytes=cache_plan.peak_bytes,
        error=_error(plan),
    )


def _error(plan: PlanValues) -> float | None:
    wanted = plan.options.caching.cache_format
    if plan.samples.blocks is not None or "window" in plan.unmeasured:
        return None
    if wanted == ENCODED or plan.cache_layout.forms is None:
        return 0.0
    if "cache_format" in plan.unmeasured:
        return None if wanted == DECODED else ESTIMATED_ERROR.get(wanted, MEASURED_ERROR)
    return MEASURED_ERROR


def bytes_read(samples: EngineTable, cache_plan: EpochCachePlan, read_bytes: int, fidelity: int | None = None) -> int:
    """Return the bytes that an epoch reads: whole pages of records, those that touch in one read; whole files."""
    ids, starts = cache_plan.reads
    if samples.records is None or samples.blocks is not None:
        return int(samples.sizes_at(fidelity)[ids].sum())
    files, offsets = samples.records
    batches = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    in_turn = np.lexsort((offsets[ids], files[ids], batches))
    ids, batches = ids[in_turn], batches[in_turn]
    begins = offsets[ids].astype(np.int64) // PAGE * PAGE
    ends = -(-(offsets[ids].astype(np.int64) + samples.sizes[ids]) // PAGE) * PAGE
    if samples.file_bytes is not None:
        ends = np.minimum(ends, samples.file_bytes[files[ids]])
    is_new = np.ones(len(ids), bool)
    is_new[1:] = (np.diff(batches) != 0) | (np.diff(files[ids].astype(np.int64)) != 0) | (begins[1:] > ends[:-1])
    first = np.flatnonzero(is_new)
    lengths = np.maximum.reduceat(ends, first) - begins[first] if len(first) else np.zeros(0, np.int64)
    most = min(MOST_READ_BYTES, read_bytes // READ_PARTS)
    total = int(lengths[lengths <= most].sum())
    last = np.append(first[1:], len(ids))
    for number in np.flatnonzero(lengths > most).tolist():
        total += _split_bytes(begins[first[number] : last[number]], ends[first[number] : last[number]], most)
    return total


def _split_bytes(begins: Indices, ends: npt.NDArray[np.integer], most: int) -> int:
    """Return the bytes of records that touch, read in parts of `most` bytes: a page in two parts counts twice."""
    total, begin, end = 0, int(begins[0]), int(ends[0])
    for next_begin, next_end in zip(begins[1:].tolist(), ends[1:].tolist(), strict=True):
        if max(next_end, end) - begin <= most:
            end = max(next_end, end)
        else:
            total += end - begin
            begin, end = next_begin, next_end
    return total + end - begin
