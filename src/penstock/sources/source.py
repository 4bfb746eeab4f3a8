"""Contract of a source. One small file of `sources/` implements each kind.

A source lists its samples and the places of their images' bytes. The native core reads the bytes itself, on its own
threads. A source never writes, and never decodes pixels.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from penstock.index import Listing
from penstock.storage import StorePath


class Source(Protocol):
    """Place that samples come from. It is constructed with a place, and lists nothing before `listing` is called."""

    kind: str
    """Kind as a word in lower case, for messages and the manifest: "folder", "webdataset"…."""

    @property
    def path(self) -> Path | StorePath:
        """Path on a local disk, or place in another store."""

    def listing(self) -> Listing:
        """List all samples. Called once; the same source gives the same answer. May raise `PenstockError`."""

    def read(self, field: str, rows: npt.NDArray[np.int64]) -> Iterable[bytes]:
        """Return the bytes of an image field for these rows (of the listing), all of which said ASK.

        Called once for each such row, in ascending order, in batches. The bytes go to one work file next to the new
        dataset, so that only one batch is in memory. Sources that never say ASK derive from `FilesOnly`.
        """

    def state(self) -> bytes:
        """Return bytes that differ once the source has changed, such as sizes and times; b"" if unknown.

        A resumed build compares it with that of the build it goes on with. It is in no file of a finished dataset.
        """


class FilesOnly:
    """Base class of sources whose bytes all lie in files; they never say ASK."""

    def read(self, field: str, rows: npt.NDArray[np.int64]) -> Iterable[bytes]:
        """Raise `TypeError`: the caller has made a mistake."""
        raise TypeError(f"{type(self).__name__} has its bytes in files: read field '{field}' from its places")
