"""A source that lists its samples once, however often it is asked."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import numpy as np
import numpy.typing as npt

from penstock.index import Listing
from penstock.sources.source import Source


class ListedOnce:
    """Wrap a source, so that several steps of one command share its listing.

    Listing a folder of a million files takes seconds, and one of tars reads every header.
    """

    def __init__(self, source: Source) -> None:
        self.kind = source.kind
        self.path = source.path
        self._source = source

    def listing(self) -> Listing:
        """Return the source's listing; only the first call lists."""
        return self._listing

    def read(self, field: str, rows: npt.NDArray[np.int64]) -> Iterable[bytes]:
        """Return the bytes of an image field for these rows, as the source gives them."""
        return self._source.read(field, rows)

    def state(self) -> bytes:
        """Return the state of the source, as it is now."""
        return self._source.state()

    @cached_property
    def _listing(self) -> Listing:
        return self._source.listing()
