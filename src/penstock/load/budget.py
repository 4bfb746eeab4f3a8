"""Division of a loader's memory: what it needs to work, and what is left for a cache. Pure arithmetic."""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.errors import ArgumentError
from penstock.units import bytes_text

MIB = 2**20
MOST_READ_BYTES = 64 * MIB  # under way; a fast disk needs a few MB, a slow one never more
FEW_READ_BYTES = 8 * MIB  # 1 GB/s at 8 ms: what reads get before a cache has its part
READ_SHARE = 16  # of the memory: beside a cache, one part in so many is for reads, once that is more than a few MB
LEAST_READ_BYTES = MIB
READ_IDLE_SHARE = 8  # of the memory for reads, kept beside it for the next ones
READ_SLACK = 8192  # of direct reads: their grid, before and behind
PREFETCHED_SAMPLES = 64
LEAST_DEPTH = 3
UNKNOWN_PIXEL_BYTES = 256 * MIB  # of an image whose header nobody has read: 85 megapixels in RGB
UNFORESEEN_SHARE = 8  # of the memory: one part in so many decodes an image, alone, that is larger than headers foretold
MOST_MEMORY = 2**50  # that is looked for


@dataclass(frozen=True, slots=True)
class CacheRequest:
    """Data that could be kept in memory between epochs."""

    all_bytes: int
    """Bytes of all samples, which no cache exceeds."""
    wanted_bytes: int
    """Bytes of the samples that come to this rank."""
    passing_bytes: int = 0
    """Bytes of one batch in flight whose samples enter memory before others leave it."""

    def room(self, depth: int) -> int:
        """Return the memory for keeping everything with `depth` batches in flight."""
        return min(self.all_bytes, self.wanted_bytes + depth * self.passing_bytes)

    def held(self, room: int, depth: int) -> int:
        """Return the bytes that may stay between epochs within `room`. If all samples fit, none has to leave."""
        return room if room >= self.all_bytes else max(0, room - depth * self.passing_bytes)


@dataclass(frozen=True, slots=True)
class MemoryRequest:
    """Memory that the data and the options ask for."""

    batch_size: int
    threads: int
    sample_bytes: int | None
    """Bytes of one sample of a batch; None if unknown before decoding."""
    largest_read_bytes: int
    largest_pixel_bytes: int | None
    working_bytes: int = 0
    """Scratch of codec and transforms for one sample, besides its encoded bytes and pixels."""
    open_bytes: int = 0
    """Bytes of encoded samples that a window reads before their batches."""
    foreseen_bytes: int | None = None
    """Estimated scratch per thread, from sampled image headers; None if no header was read."""
    cache: CacheRequest | None = None
    """Request of the cache; absent if nothing is cached."""

    @property
    def scratch_bytes(self) -> int | None:
        """Scratch of one thread; None if it is unknown before a header is read."""
        return None if self.largest_pixel_bytes is None else self.largest_pixel_bytes + self.working_bytes


@dataclass(frozen=True, slots=True)
class Budget:
    """Division of the memory. The parts add up to at most the given memory."""

    read_bytes: int
    scratch_bytes: int
    batch_bytes: int
    """Bytes of one batch; 0 if unknown before decoding."""
    depth: int
    """Batches under way or waiting to be taken."""
    open_bytes: int = 0
    """Encoded samples that wait in memory for their batches."""
    cache_bytes: int = 0
    """Samples that stay in memory between epochs."""

    @property
    def idle_bytes(self) -> int:
        """Bytes of returned batches that are kept for the next one."""
        return self.batch_bytes or 64 * MIB

    @property
    def reserved_read_bytes(self) -> int:
        """Memory for reads, including blocks that are kept for the next ones."""
        return self.read_bytes + self.read_bytes // READ_IDLE_SHARE

    @property
    def working_bytes(self) -> int:
        """All memory except what the user holds and the cache."""
        return (
            self.reserved_read_bytes
            + self.scratch_bytes
            + self.batch_bytes * self.depth
            + self.idle_bytes
            + self.open_bytes
        )


def depth_for(batch_size: int) -> int:
    """Return the largest number of batches in flight."""
    return max(LEAST_DEPTH, -(-PREFETCHED_SAMPLES // batch_size) + 1)


def plan_budget(demand: MemoryRequest, memory: int) -> Budget:
    """Divide `memory` bytes; 0 means the memory for working well, without a cache.

    If the memory is too small, the error states the minimum.
    """
    batch_bytes = demand.batch_size * (demand.sample_bytes or 0)
    least_read = max(LEAST_READ_BYTES, demand.largest_read_bytes + READ_SLACK)
    one_scratch = demand.scratch_bytes
    if memory == 0:
        scratch = (one_scratch if one_scratch is not None else UNKNOWN_PIXEL_BYTES) * demand.threads
        depth = depth_for(demand.batch_size)
        return Budget(max(least_read, MOST_READ_BYTES), scratch, batch_bytes, depth, demand.open_bytes)
    # One batch on its way and one given back: below that nothing moves.
    least = Budget(least_read, one_scratch or MIB, batch_bytes, 1, demand.open_bytes)
    if memory < least.working_bytes:
        raise ArgumentError(
            f"{bytes_text(memory)} of memory is less than what batches of {demand.batch_size} take",
            where="memory",
            fix=f"give at least {least.working_bytes} bytes ({bytes_text(least.working_bytes)}), or smaller batches"
            + (", or a smaller window" if demand.open_bytes else ""),
            code=100,
        )
    if demand.cache is None:
        return _grow(least, memory, demand)
    budget = _grow_beside(least, memory, demand, demand.cache)
    if budget.cache_bytes:
        return budget
    # Batches under way leave a cache nothing: work has its part, too.
    alone = replace(demand, foreseen_bytes=None)
    return _with_cache(_grow(least, memory, alone), memory, demand.cache)


def memory_for_cache(demand: MemoryRequest, cache_bytes: int) -> int:
    """Return a memory that leaves the cache exactly this many bytes, or slightly more if it grows in steps."""
    assert demand.cache is not None, "there is one"
    low, high = 0, MOST_MEMORY
    while low < high:
        middle = (low + high) // 2
        try:
            is_enough = plan_budget(demand, middle).cache_bytes >= cache_bytes
        except ArgumentError:  # less than what batches take
            is_enough = False
        low, high = (low, middle) if is_enough else (middle + 1, high)
    return low


def _grow(least: Budget, memory: int, demand: MemoryRequest) -> Budget:
    """Grow beyond the minimum: first a second batch, then scratch for every thread, then reads, then depth."""
    budget = _second_batch(least, memory)
    most_read = max(least.read_bytes, MOST_READ_BYTES)
    return _grown(budget, demand, memory - budget.working_bytes, most_read, least.batch_bytes)


def _grow_beside(least: Budget, memory: int, demand: MemoryRequest, cache: CacheRequest) -> Budget:
    """Grow next to a cache: work gets half of the memory beyond a second batch, or what the cache cannot use.

    Reads get a few MB, and more only with much memory. A batch in flight also costs the samples that pass through the
    cache for it.
    """
    budget = _second_batch(least, memory)
    spare = memory - budget.working_bytes
    room = cache.room(depth_for(demand.batch_size))
    most_read = min(max(least.read_bytes, FEW_READ_BYTES, memory // READ_SHARE), max(least.read_bytes, MOST_READ_BYTES))
    batch_cost = least.batch_bytes + cache.passing_bytes
    unforeseen = min(memory // UNFORESEEN_SHARE, UNKNOWN_PIXEL_BYTES)
    budget = _grown(budget, demand, max(spare // 2, spare - room), most_read, batch_cost, unforeseen)
    return _with_cache(budget, memory, cache)


def _second_batch(least: Budget, memory: int) -> Budget:
    """Add a second batch; without it, nothing is decoded while a batch is used."""
    return replace(least, depth=2) if memory - least.working_bytes >= least.batch_bytes else least


def _grown(
    budget: Budget, demand: MemoryRequest, spare: int, most_read: int, batch_cost: int, unforeseen: int = 0
) -> Budget:
    """Add `spare` bytes to scratch, reads and depth, in this order."""
    if demand.scratch_bytes is not None:
        scratch = min(spare, demand.scratch_bytes * (demand.threads - 1))
    elif demand.foreseen_bytes is not None:
        scratch = min(spare, max(demand.foreseen_bytes * demand.threads, unforeseen))
    else:
        scratch = min(spare // 2, UNKNOWN_PIXEL_BYTES * demand.threads)
    spare -= scratch
    reads = max(0, min(spare // 2, most_read - budget.read_bytes))
    spare -= reads + -(-reads // READ_IDLE_SHARE) + 1
    more = depth_for(demand.batch_size) - budget.depth
    if batch_cost:
        more = min(more, max(0, spare // batch_cost))
    return replace(
        budget,
        read_bytes=budget.read_bytes + reads,
        scratch_bytes=budget.scratch_bytes + scratch,
        depth=budget.depth + more,
    )


def _with_cache(budget: Budget, memory: int, cache: CacheRequest) -> Budget:
    return replace(budget, cache_bytes=cache.held(memory - budget.working_bytes, budget.depth))
