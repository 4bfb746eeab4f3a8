"""What a loader may use: memory, threads and a cache, as given or chosen by what the machine has free."""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass

from penstock import _native
from penstock.machine import memory as machine_memory
from penstock.units import bytes_text, parse_bytes

LOG = logging.getLogger("penstock")


@dataclass(frozen=True, slots=True)
class Resources:
    """Of this rank: its part of what the node's ranks share."""

    memory_bytes: int
    """0 means working memory only."""
    threads: int
    cache: str

    def __str__(self) -> str:
        memory = bytes_text(self.memory_bytes) if self.memory_bytes else "working memory only"
        return f"memory {memory}, {self.threads} threads, cache '{self.cache}'"


def choose_resources(
    memory: int | str | None, threads: int, cache: str | None, dataset_bytes: int, *, keeps_decoded: bool = False
) -> Resources:
    """What is not given is chosen, and said once: half of what is free, all usable cores, the cache that fits.

    A dataset that fits half of what is free is left to the page cache, which survives restarts and is shared by jobs,
    but holds files only: what is to be kept decoded needs a cache of the loader's own.
    """
    free = machine_memory().available_bytes
    node_memory = free // 2 if memory is None else parse_bytes(memory)
    ranks = local_world_size()
    fits = dataset_bytes <= free // 2 and not keeps_decoded
    chosen = Resources(
        memory_bytes=node_memory // ranks,
        threads=max(1, (threads or _native.usable_cores()) // ranks),
        cache=cache or ("system" if fits or (node_memory == 0 and not keeps_decoded) else "rolling"),
    )
    if memory is None or threads == 0 or cache is None:
        LOG.info("Loader: %s, for %s of data with %s free", chosen, bytes_text(dataset_bytes), bytes_text(free))
    return chosen


def local_world_size() -> int:
    """Ranks of this node, as torchrun and its like tell them."""
    text = os.environ.get("LOCAL_WORLD_SIZE", "")
    return int(text) if text.isdigit() and int(text) > 0 else 1
