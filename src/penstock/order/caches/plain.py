"""The two caches that keep nothing themselves."""

from __future__ import annotations

import numpy as np

from penstock.order.caches.contract import Cache, Traffic
from penstock.order.share import Share


class NoCache(Cache):
    """Every batch reads all its records, past the page cache."""

    def __init__(self, share: Share) -> None:
        self._share = share

    def epoch(self, epoch: int, start: int = 0) -> Traffic:
        """Reads everything."""
        stretch = self._share.schedule(epoch, start).stretch()
        nothing = np.zeros(len(stretch.ids), bool)
        resident_bytes = np.zeros(len(stretch.starts), np.int64)
        return Traffic(epoch, stretch.ids, stretch.starts, nothing, nothing, resident_bytes, refills=nothing)


class SystemCache(NoCache):
    """Reads everything too, but through the page cache: best where all of the dataset fits it."""

    buffered = True
