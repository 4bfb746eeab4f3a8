"""Resources of a loader: memory, threads and a cache, as given or chosen from what the machine has free."""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass

from penstock import _native
from penstock.load.loader_options import LoaderOptions
from penstock.machine import memory as machine_memory
from penstock.units import bytes_text, parse_bytes

LOG = logging.getLogger("penstock")


@dataclass(frozen=True, slots=True)
class Resources:
    """Resources of this rank: its part of what the node's ranks share."""

    memory_bytes: int
    """0 means working memory only."""
    threads: int
    cache: str

    def __str__(self) -> str:
        memory = bytes_text(self.memory_bytes) if self.memory_bytes else "working memory only"
        return f"memory {memory}, {self.threads} threads, cache '{self.cache}'"


def choose_resources(options: LoaderOptions, dataset_bytes: int) -> Resources:
    """Choose what is not given: half of the free memory, all usable cores, the cache that fits.

    A dataset that fits in half of the free memory is left to the page cache, which survives restarts and is shared by
    jobs. But the page cache only holds files: decoded samples need the loader's own cache.
    """
    caching = options.caching
    free = machine_memory().available_bytes
    node_memory = free // 2 if caching.memory is None else parse_bytes(caching.memory)
    ranks = local_world_size()
    keeps_decoded = caching.cache_format != "encoded"
    fits = dataset_bytes <= free // 2 and not keeps_decoded
    return Resources(
        memory_bytes=node_memory // ranks,
        threads=max(1, (options.reading.threads or _native.usable_cores()) // ranks),
        cache=caching.cache or ("system" if fits or (node_memory == 0 and not keeps_decoded) else "rolling"),
    )


def log_choice(resources: Resources, options: LoaderOptions, dataset_bytes: int) -> None:
    """Log the choices, if anything was left to choose."""
    if options.caching.memory is None or options.reading.threads == 0 or options.caching.cache is None:
        free = machine_memory().available_bytes
        LOG.info("Loader: %s, for %s of data with %s free", resources, bytes_text(dataset_bytes), bytes_text(free))


def local_world_size() -> int:
    """Return the number of ranks on this node, from the environment of torchrun."""
    text = os.environ.get("LOCAL_WORLD_SIZE", "")
    return int(text) if text.isdigit() and int(text) > 0 else 1
