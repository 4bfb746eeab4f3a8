"""First batches of the next epoch, requested while the last ones of an epoch are delivered. At most one epoch ahead."""

from __future__ import annotations

from dataclasses import dataclass

from penstock import _native
from penstock.load.cache_session import CacheSession
from penstock.load.delivery import Delivery
from penstock.order import State

EPOCHS_BEFORE = 2  # a loader that is used for one epoch requests nothing that it does not deliver


@dataclass(frozen=True)
class AheadEpoch:
    """Epoch that has not begun, with some batches requested."""

    start: State
    delivery: Delivery
    caches: CacheSession
    """Session whose latest epoch is this one; the session before it knows nothing of it."""


class EpochAhead:
    """Hold the epoch that is requested ahead, and account for those that did not come."""

    def __init__(self, wanted: bool | None) -> None:
        self._wanted = wanted
        self._num_begun = 0
        self._discarded: list[_native.Tally] = []
        self._discarded_bytes = 0
        self.found: AheadEpoch | None = None
        self.unfinished: list[_native.Batch] = []
        """Batches that were discarded and may still be at work; they may have changed the cache's memory."""

    @property
    def is_wanted(self) -> bool:
        """True if the epoch after this one should be requested ahead."""
        return self._num_begun >= EPOCHS_BEFORE if self._wanted is None else self._wanted

    @property
    def tally(self) -> _native.Tally | None:
        """Tally of the epoch that has not begun."""
        found = self.found
        return None if found is None else found.delivery.tally

    @property
    def discarded_bytes(self) -> int:
        """Bytes that were read for batches of epochs that did not come."""
        return self._discarded_bytes + sum(tally.bytes_read for tally in self._discarded)

    def begin(self, start: State) -> AheadEpoch | None:
        """Return the epoch that begins, if it is the one requested ahead; discard any other."""
        self._num_begun += 1
        if self.found is not None and self.found.start != start:
            self.discard()
        found, self.found = self.found, None
        return found

    def discard(self) -> None:
        """Cancel what was requested ahead."""
        found, self.found = self.found, None
        if found is None:
            return
        self._discarded_bytes = self.discarded_bytes  # reads of those before have ended by now
        self._discarded = [found.delivery.tally]
        self.unfinished += [batch for batch, _ in found.delivery.pending]
        found.delivery.cancel()
