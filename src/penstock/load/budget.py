"""Memory: what a loader needs to work, and what it may take. Pure arithmetic."""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.errors import ArgumentError
from penstock.units import bytes_text

MIB = 2**20
MOST_READ_BYTES = 64 * MIB  # under way; a fast disk needs a few MB, a slow one never more
LEAST_READ_BYTES = MIB
READ_IDLE_SHARE = 8  # of the memory for reads, kept beside it for the next ones
READ_SLACK = 8192  # of direct reads: their grid, before and behind
PREFETCHED_SAMPLES = 64
LEAST_DEPTH = 3
UNKNOWN_PIXEL_BYTES = 256 * MIB  # of an image whose header nobody has read: 85 megapixels in RGB


@dataclass(frozen=True, slots=True)
class Demand:
    """What the data and the wishes ask for."""

    batch_size: int
    threads: int
    sample_bytes: int | None
    """Of one sample of a batch; None if only decoding will tell."""
    largest_read_bytes: int
    largest_pixel_bytes: int | None
    working_bytes: int = 0
    """Of codec and transforms, for one sample: beside its encoded bytes and its pixels."""
    open_bytes: int = 0
    """Of encoded samples that a window reads before their batches."""

    @property
    def scratch_bytes(self) -> int | None:
        """Of one thread; None if only a header will tell."""
        return None if self.largest_pixel_bytes is None else self.largest_pixel_bytes + self.working_bytes


@dataclass(frozen=True, slots=True)
class Budget:
    """How the memory is shared out. The parts add up to at most what was given."""

    read_bytes: int
    scratch_bytes: int
    batch_bytes: int
    """Of one batch; 0 if only decoding will tell."""
    depth: int
    """Batches under way or waiting to be taken."""
    open_bytes: int = 0
    """Encoded samples that wait in memory for their batches."""
    cache_bytes: int = 0
    """Samples that stay in memory between epochs."""

    @property
    def idle_bytes(self) -> int:
        """Batches given back and kept for the next one."""
        return self.batch_bytes or 64 * MIB

    @property
    def working_bytes(self) -> int:
        """Everything but what the user holds."""
        reads = self.read_bytes + self.read_bytes // READ_IDLE_SHARE
        return reads + self.scratch_bytes + self.batch_bytes * self.depth + self.idle_bytes + self.open_bytes


def depth_for(batch_size: int) -> int:
    """How many batches are under way at most."""
    return max(LEAST_DEPTH, -(-PREFETCHED_SAMPLES // batch_size) + 1)


def plan_budget(demand: Demand, memory: int) -> Budget:
    """Share out `memory` bytes; 0 means: what working well takes, and no cache.

    Too little is refused with the least that would do.
    """
    batch_bytes = demand.batch_size * (demand.sample_bytes or 0)
    depth = depth_for(demand.batch_size)
    least_read = max(LEAST_READ_BYTES, demand.largest_read_bytes + READ_SLACK)
    most_read = max(least_read, MOST_READ_BYTES)
    one_scratch = demand.scratch_bytes
    if memory == 0:
        scratch = (one_scratch if one_scratch is not None else UNKNOWN_PIXEL_BYTES) * demand.threads
        return Budget(most_read, scratch, batch_bytes, depth, demand.open_bytes)
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
    return _grow(least, memory, demand, depth, most_read)


def _grow(least: Budget, memory: int, demand: Demand, depth: int, most_read: int) -> Budget:
    """Beyond the least: first a second batch, then every thread its scratch, then reads, then depth."""
    spare = memory - least.working_bytes
    batch = least.batch_bytes
    extra_depth = min(depth - 1, 1, spare // batch) if batch else depth - 1
    spare -= extra_depth * batch
    if demand.scratch_bytes is not None:
        scratch = min(spare, demand.scratch_bytes * (demand.threads - 1))
    else:
        scratch = min(spare // 2, UNKNOWN_PIXEL_BYTES * demand.threads)
    spare -= scratch
    reads = min(spare // 2, most_read - least.read_bytes)
    spare -= reads + -(-reads // READ_IDLE_SHARE) + 1
    if batch:
        extra_depth += max(0, min(depth - 1 - extra_depth, spare // batch))
    return replace(
        least,
        read_bytes=least.read_bytes + reads,
        scratch_bytes=least.scratch_bytes + scratch,
        depth=1 + extra_depth,
    )


def with_cache(budget: Budget, memory: int, mean_bytes: float, num_passing: int) -> Budget:
    """The budget with what is left of `memory` as a cache of samples of `mean_bytes`.

    Batches under way keep samples before those before them have dropped theirs; `num_passing` of them are held back.
    """
    return replace(budget, cache_bytes=max(0, memory - budget.working_bytes - int(num_passing * mean_bytes)))
