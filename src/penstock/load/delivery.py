"""Running epoch: batches are requested ahead, waited for in order, and delivered."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock import _native
from penstock.load.batch_columns import Drawn
from penstock.load.engine_table import EngineTable
from penstock.load.failures import Failure, FailureLog, substitutes
from penstock.order import Batches, Order
from penstock.order.caches import EpochCachePlan

BatchDict = dict[str, Any]
"""Arrays by field; a list of arrays where samples have different shapes."""
Row = npt.NDArray[np.uint64]
"""Ids of one batch, in the order of its samples."""
MOST_SUBSTITUTIONS = 8


@dataclass
class Progress:
    """Counters of what a loader has delivered over all epochs."""

    num_batches: int = 0
    num_samples: int = 0
    wait_seconds: float = 0.0
    """Time that the consumer waited for batches."""
    hits: list[int] = field(default_factory=list)
    """Samples of each batch that were in memory, of the epoch under way or the last one."""
    bytes_saved: int = 0
    """Encoded bytes of the samples handed out that their fidelity did not need."""
    refill_bytes: int = 0
    """Bytes that were read only because the cache was restarted."""
    run_seconds: float = 0.0
    """Time from the request of the first batch to the delivery of the last, over the epochs."""


@dataclass(frozen=True)
class EpochPart:
    """Rest of an epoch to deliver, with the actions of a cache."""

    order: Order
    epoch: int
    batches: Batches
    cache_plan: EpochCachePlan | None = None
    """Plan of the loader's cache; absent without one."""
    program: _native.TransformProgram | None = None
    """Moves boxes as it moves pixels; None leaves them."""
    fidelity: int | None = None
    """Scans of what is stored in blocks; None is all."""
    draws_anew: bool = False
    """Batches are drawn from what was read for any of them: a hit is a sample more than a batch reads."""
    open_limit_bytes: int = 0
    """Memory of samples that a window reads before their batches."""


def keeping_of(cache_plan: EpochCachePlan, batch: int) -> npt.NDArray[np.uint8]:
    """Return what to do with each sample's bytes after a batch: 0 nothing, 1 keep, 2 drop."""
    keeps = cache_plan.keeps[cache_plan.slots(batch)]
    return np.where(keeps, 1, np.where(cache_plan.leaves_of(batch), 2, 0)).astype(np.uint8)


class Delivery(Iterator[BatchDict]):
    """Iterator over the rest of an epoch. `delivered` counts its samples on all ranks together.

    Its first batches may be requested while an earlier epoch is delivered (`request_ahead`). `begin` starts it.
    """

    def __init__(
        self,
        pipeline: _native.Pipeline,
        samples: EngineTable,
        part: EpochPart,
        depth: int,
        log: FailureLog,
        progress: Progress,
    ) -> None:
        order, batches, epoch = part.order, part.batches, part.epoch
        self.epoch = epoch
        self.fidelity = part.fidelity
        self._read_sizes = samples.sizes_at(part.fidelity)
        self._saved = None if part.fidelity is None else samples.sizes - self._read_sizes
        self.batches = batches
        self.delivered = batches.start
        self._pipeline = pipeline
        self._samples = samples
        self._order = order
        self._samples_at = order.epoch(epoch)
        self._cache_plan = part.cache_plan
        self._drawn = None if part.program is None else Drawn(part.program, order.seed, epoch)
        self._depth = depth
        self._log = log
        self._progress = progress
        self.pending: deque[tuple[_native.Batch, Row]] = deque()
        self._num_failed_before = pipeline.num_failed
        self.num_submitted = 0
        self._num_taken = 0
        self._since = perf_counter()
        self._draws_anew = part.draws_anew
        self._open_limit_bytes = part.open_limit_bytes
        self._is_cancelled = False
        self.tally = pipeline.open_tally()

    def begin(self) -> Delivery:
        """Request the first batches, and count hits and time from now on."""
        self._progress.hits.clear()
        self._since = perf_counter()
        self.request()
        return self

    def __next__(self) -> BatchDict:
        self.request()
        try:
            batch, ids = self.pending.popleft()
        except IndexError:  # the end, or given up by another thread
            raise StopIteration from None
        try:
            began = perf_counter()
            self._pipeline.wait(batch)
            failures = batch.failures()
            found = self._mend(batch, ids, failures) if failures else self._collect(batch, ids)
            ended = perf_counter()
        except BaseException:
            self.cancel()
            raise
        self._num_taken += 1
        self.delivered = self.batches.edge(self._num_taken)
        self._progress.hits.append(max(0, len(ids) - batch.num_read) if self._draws_anew else batch.num_hits)
        self._count_refills()
        self._account(found["id"], ended - began, ended)
        return found

    def count_wait(self, seconds: float) -> None:
        """Record that the consumer waited for a batch after it was taken, for functions in Python."""
        now = perf_counter()
        self._progress.wait_seconds += seconds
        self._progress.run_seconds += now - self._since
        self._since = now

    def replacements(self, failed: list[int], attempt: int) -> BatchDict:
        """Return other samples, as a batch, for those that failed after decoding."""
        order = self._order
        ids = substitutes(order.selection, order.seed, self.epoch, failed, attempt).astype(np.uint64)
        batch = self._pipeline.submit(ids, order.seed, self.epoch, None, None, self.fidelity or 0, self.tally)
        self._pipeline.wait(batch)
        failures = [Failure.of(failure) for failure in batch.failures()]
        if failures:
            self._log.add(failures)
            ids = self._substitute(batch, ids, failures)
        return self._collect(batch, ids)

    def settle(self) -> None:
        """Wait for batches in flight; they are delivered later, in order."""
        for batch, _ in list(self.pending):
            self._pipeline.wait(batch)

    def cancel(self) -> None:
        """Cancel batches in flight."""
        self._is_cancelled = True
        for batch, _ in list(self.pending):  # another thread may be taking one of them
            batch.cancel()
        self.pending.clear()
        self.num_submitted = self.batches.num_batches

    def request(self) -> None:
        """Request batches, as many as may be in flight."""
        while len(self.pending) < self._allowed_depth() and self.num_submitted < self.batches.num_batches:
            self._request_next()

    @property
    def room_ahead(self) -> int:
        """Number of batches of the next epoch that may be in flight; 0 until all batches of this one are."""
        if self._is_cancelled or self.num_submitted < self.batches.num_batches:
            return 0
        return max(0, self._allowed_depth() - len(self.pending))

    def request_ahead(self, before: Delivery) -> None:
        """Request first batches while the epoch before is delivered, within the memory that it leaves."""
        most = min(before.room_ahead, self._allowed_depth())
        while len(self.pending) < most and self.num_submitted < self.batches.num_batches:
            if self._must_wait(before):
                break
            self._request_next()

    def _request_next(self) -> None:
        ids, keeping, ahead = self._wishes(self.num_submitted)
        seed, fidelity = self._order.seed, self.fidelity or 0
        batch = self._pipeline.submit(ids, seed, self.epoch, keeping, ahead, fidelity, self.tally)
        self.pending.append((batch, ids))
        self.num_submitted += 1

    def _must_wait(self, before: Delivery) -> bool:
        """Return whether the next batch would read samples that the epoch before still uses, or too many bytes.

        Only samples that are read ahead of their batches stand in memory where both epochs would find them.
        """
        cache_plan = self._cache_plan
        if cache_plan is None or cache_plan.ahead is None:
            return False
        used = [ids for batch, ids in before.pending if not batch.is_done]
        if used and np.isin(cache_plan.reads_of(self.num_submitted), np.concatenate(used)).any():
            return True
        if cache_plan.open_bytes is None:
            return False
        return self._open_bytes(0, self.num_submitted + 1) + before.open_bytes > self._open_limit_bytes

    @property
    def open_bytes(self) -> int:
        """Most bytes that samples of this epoch still take before their batches, if a window reads them."""
        return self._open_bytes(self._num_taken, self.num_submitted)

    def _open_bytes(self, taken: int, submitted: int) -> int:
        cache_plan = self._cache_plan
        if cache_plan is None or cache_plan.ahead is None or cache_plan.open_bytes is None:
            return 0
        ids, starts = cache_plan.ahead
        coming = self._read_sizes[ids[starts[taken] : starts[submitted]]]
        return int(cache_plan.open_bytes[taken]) + int(coming.sum())

    def _allowed_depth(self) -> int:
        """Return the number of batches to read ahead; 1 after an error that will be raised."""
        ends_soon = self._log.policy.on_error == "raise" and self._pipeline.num_failed > self._num_failed_before
        return 1 if ends_soon else self._depth

    def _wishes(self, number: int) -> tuple[Row, npt.NDArray[np.uint8] | None, Row | None]:
        """Return the samples of a batch, the actions on their bytes, and the samples to read ahead."""
        cache_plan = self._cache_plan
        if cache_plan is None:
            return self._samples_at.take(self.batches.positions(number)).astype(np.uint64), None, None
        ahead = cache_plan.reads_of(number).astype(np.uint64) if cache_plan.ahead else None
        return cache_plan.ids[cache_plan.slots(number)].astype(np.uint64), keeping_of(cache_plan, number), ahead

    def _collect(self, batch: _native.Batch, ids: Row) -> BatchDict:
        found: BatchDict = {name: batch.pixels(index) for index, name in enumerate(self._samples.image_fields)}
        rows = ids.astype(np.int64)
        for name, column in self._samples.scalars.items():
            found[name] = column[rows]
        for name, values in self._samples.lists.items():
            found[name] = values.take(rows, self._drawn)
        found["id"] = rows
        if self._log.policy.on_error == "replace":
            found["valid"] = np.ones(len(rows), bool)
        return found

    def _mend(
        self,
        batch: _native.Batch,
        ids: Row,
        failures: list[tuple[int, int, int, str, str, str, int]],
    ) -> BatchDict:
        """Apply the error policy to a batch with failed samples."""
        failed = [Failure.of(failure) for failure in failures]
        self._log.add(failed)
        positions = [failure.position for failure in failed]
        if self._log.policy.on_error == "skip":
            batch.drop(positions)
            return self._collect(batch, np.delete(ids, positions))
        found_ids = self._substitute(batch, ids.copy(), failed)
        found = self._collect(batch, found_ids)
        valid = np.ones(len(ids), bool)
        valid[positions] = False
        found["valid"] = valid
        return found

    def _substitute(self, batch: _native.Batch, ids: Row, failed: list[Failure]) -> Row:
        wanted = {failure.position: failure.id for failure in failed}
        for attempt in range(MOST_SUBSTITUTIONS):
            positions = [failure.position for failure in failed]
            replaced = [wanted[position] for position in positions]
            chosen = substitutes(self._order.selection, self._order.seed, self.epoch, replaced, attempt)
            ids[positions] = chosen
            self._pipeline.resubmit(batch, positions, chosen.astype(np.uint64))
            self._pipeline.wait(batch)
            failures = batch.failures()
            if not failures:
                return ids
            failed = [Failure.of(failure) for failure in failures]
            self._log.add(failed)
        raise failed[0].error

    def _count_refills(self) -> None:
        if self._cache_plan is not None:
            slots = self._cache_plan.slots(self._num_taken - 1)
            ids = self._cache_plan.ids[slots][self._cache_plan.refills[slots]]
            self._progress.refill_bytes += int(self._samples.sizes[ids].sum())

    def _account(self, ids: npt.NDArray[np.int64], waited: float, now: float) -> None:
        progress = self._progress
        progress.num_batches += 1
        progress.num_samples += len(ids)
        progress.bytes_saved += int(self._saved[ids].sum()) if self._saved is not None else 0
        progress.wait_seconds += waited
        progress.run_seconds += now - self._since
        self._since = now
