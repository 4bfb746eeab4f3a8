"""Advice for a loader that waits for small, slow reads. It uses the loader's own counters and reads nothing itself."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, ClassVar

from penstock.errors import printable
from penstock.load.disk_probe import DEFAULT
from penstock.load.engine_table import EngineTable
from penstock.units import bytes_text

PATIENCE_SECONDS = 5.0
"""Time of waiting for reads before it is worth a sentence."""
SMALL_BYTES = 1 << 19
"""Largest mean read that counts as small: a disk that seeks reads twice as fast in larger ones."""
SLOW_BYTES_PER_SECOND = 50e6
"""Rate that every solid-state disk exceeds with small reads."""
LOG = logging.getLogger("penstock")


class SlowReadWatch:
    """Monitor that says, once per process and dataset, that a loader waits for small and slow reads."""

    advised_places: ClassVar[set[str]] = set()
    """Datasets that this process has given its advice for."""

    def __init__(self, samples: EngineTable, reading: dict[str, Any]) -> None:
        self._samples = samples
        self._reading = reading
        self._is_over = reading["from"] != DEFAULT or samples.records is None

    def is_time(self, wait_seconds: float, run_seconds: float) -> bool:
        """Return whether the consumer has waited long enough to look at the counters."""
        return not self._is_over and wait_seconds >= max(PATIENCE_SECONDS, run_seconds / 2)

    def look(self, counters: Mapping[str, Any], run_seconds: float) -> None:
        """Judge the counters of the loader's own reads."""
        self._is_over = True
        num_reads, num_bytes = counters["num_reads"], counters["bytes_read"]
        if counters["decode_wait_seconds"] <= counters["decode_busy_seconds"] or not num_reads:
            return
        mean, rate = num_bytes / num_reads, num_bytes / run_seconds
        if mean > SMALL_BYTES or rate > SLOW_BYTES_PER_SECOND:
            return
        found = f"reads of {bytes_text(round(mean))} come at {num_reads / run_seconds:,.0f} per second"
        self._reading["advice"] = f'{found}; `window="4MiB"` would read neighbouring records together'
        if self._samples.place in self.advised_places:
            return
        self.advised_places.add(self._samples.place)
        LOG.warning(
            'Loader: batches wait for the disk of %s: %s. If large reads are faster there, `window="4MiB"` helps. '
            "`penstock profile` and `plan` on this disk measure it and say which window to use. It is part of the "
            "order, so write it for every rank. `window=False` keeps the full permutation, and says no more.",
            printable(self._samples.place),
            found,
        )
