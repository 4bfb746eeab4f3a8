"""Work out what a loader asks of its memory, from the samples and the options. Pure; `budget.py` divides it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from penstock import _native
from penstock.index import Ids
from penstock.load.budget import CacheRequest, MemoryRequest, depth_for
from penstock.load.cache_layout import CacheLayout
from penstock.load.engine_table import EngineTable
from penstock.load.fidelity_schedule import as_fidelity
from penstock.load.header_probe import SizeEstimate
from penstock.load.loader_options import LoaderOptions
from penstock.load.resources import Resources
from penstock.load.windows import open_bytes
from penstock.machine import memory as machine_memory
from penstock.order import Order, RankSchedule
from penstock.order.caches import Cache, policy_of
from penstock.transforms import Chain

LARGEST_FILE_SHARE = 4  # a file may take one part in this many of the memory, where bad samples may fail

Sizes = npt.NDArray[np.int64]


@dataclass(frozen=True)
class HeaderReads:
    """Hold what the headers of some files say about the size of their images."""

    ids: Ids
    """Samples whose headers were read; at most 64."""
    found: SizeEstimate | None
    """The largest of them; None if no header could be read."""


@dataclass(frozen=True)
class PlanBasis:
    """Hold everything that decides how memory is divided."""

    samples: EngineTable
    options: LoaderOptions
    chain: Chain
    order: Order
    resources: Resources
    headers: HeaderReads | None
    """Sizes from headers; absent if the index has the sizes of images, or no cache needs them."""

    @property
    def policy(self) -> type[Cache]:
        """Return the cache policy."""
        return policy_of(self.resources.cache)

    @cached_property
    def rank_schedule(self) -> RankSchedule:
        """Return how this rank cuts its batches out of the order."""
        chosen = self.options.ordering
        return RankSchedule(self.order, chosen.batch_size, chosen.rank, chosen.world_size, chosen.drop_last)

    @property
    def most_sizes(self) -> Sizes:
        """Return encoded bytes by sample, at the highest fidelity that is planned."""
        return self.samples.sizes_at(as_fidelity(self.options.reading.fidelity, self.samples).most())

    def num_passing(self, depth: int) -> int:
        """Return how many samples of the batches under way may enter memory before others leave it.

        The runs of a window enter memory whatever the cache does.
        """
        under_way = depth * self.options.ordering.batch_size
        return under_way if self.order.reads_runs else self.policy.num_passing(under_way)


def memory_request(basis: PlanBasis, layout: CacheLayout) -> MemoryRequest:
    """Return what a loader asks for, if samples stay in memory as `layout` says."""
    samples, chosen = basis.samples, basis.options.ordering
    sizes = basis.most_sizes
    return MemoryRequest(
        chosen.batch_size,
        basis.resources.threads,
        _sample_bytes(basis),
        _largest_read_bytes(basis),
        samples.largest_pixel_bytes,
        samples.working_bytes + _between_bytes(basis) + layout.scratch_bytes(samples),
        _open_bytes(basis, sizes),
        _foreseen_bytes(basis),
        _cache_request(basis, layout, sizes) if basis.policy.keeps_samples else None,
    )


def _sample_bytes(basis: PlanBasis) -> int | None:
    """Return what a sample takes in a batch, at most; None if only decoding will tell."""
    largest, undecoded = int(basis.samples.sizes.max()), basis.options.output.undecoded
    if undecoded is _native.Undecoded.ALL:
        return largest
    decoded = _decoded_bytes(basis)
    return max(decoded, largest) if undecoded is _native.Undecoded.FOR_DEVICE and decoded else decoded


def _decoded_bytes(basis: PlanBasis) -> int | None:
    program, output = basis.chain.program(), basis.options.output
    if program.fixed_size is None or output.channels == "unchanged":
        return basis.samples.largest_pixel_bytes
    height, width = program.fixed_size
    channels = 3 if output.channels == "RGB" else 1
    item_bytes = np.dtype(program.output_type or np.uint16).itemsize
    masks = 2 * (len(basis.samples.image_fields) - 1)
    return height * width * (channels * item_bytes + masks)


def _largest_read_bytes(basis: PlanBasis) -> int:
    """Return the largest read. Where samples may fail, no file takes all memory: a larger one fails."""
    largest = basis.samples.largest_read_bytes
    if basis.samples.read_head is None or basis.options.errors.on_error == "raise":
        return largest
    memory = basis.resources.memory_bytes or machine_memory().available_bytes
    return min(largest, memory // LARGEST_FILE_SHARE)


def _between_bytes(basis: PlanBasis) -> int:
    """Return what transforms hold between their passes, where there is more than one."""
    return (basis.samples.largest_pixel_bytes or 0) if len(basis.chain.native) > 1 else 0


def _open_bytes(basis: PlanBasis, sizes: Sizes) -> int:
    """Return the bytes of encoded samples that enter memory before their batches do."""
    batch_size = basis.options.ordering.batch_size
    depth = depth_for(batch_size)
    fresh = basis.policy.fresh_bytes(sizes, depth * batch_size)
    return fresh + (0 if basis.policy.owns_order else open_bytes(basis.rank_schedule, sizes, depth))


def _foreseen_bytes(basis: PlanBasis) -> int | None:
    """Return what a thread takes to decode a file, by the headers that were read."""
    seen = None if basis.headers is None else basis.headers.found
    passes = 2 if len(basis.chain.native) > 1 else 1
    return None if seen is None else seen.pixel_bytes * passes + seen.working_bytes


def _cache_request(basis: PlanBasis, layout: CacheLayout, sizes: Sizes) -> CacheRequest:
    kept = layout.sizes_of(basis.samples, sizes)[basis.order.selection]
    all_bytes = int(kept.sum())
    passing_bytes = min(all_bytes, int(basis.num_passing(1) * float(kept.mean())))
    return CacheRequest(all_bytes, -(-all_bytes // basis.options.ordering.world_size), passing_bytes)
