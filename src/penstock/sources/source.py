"""What a build reads from: the contract of a source. One small file of `sources/` implements each.

A source says which samples there are and *where* the bytes of their images lie; the native core reads the bytes itself,
on its own threads. It opens nothing for writing, and it looks at no pixel.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pyarrow as pa

ABSENT = -1
"""A `Places.file`: this sample has no such image; its columns become null."""

ASK = -2
"""A `Places.file`: the bytes lie in no file that can be read by offset; `Source.read` hands them out."""

WHOLE = -1
"""A `Places.length`: to the end of the file. Say the real length if it is known: estimates are made from it."""


class Role(Enum):
    """What an image means. It decides how a palette is read: an image's as colours, a mask's as indices."""

    IMAGE = "image"
    MASK = "mask"
    DEPTH = "depth"


@dataclass(frozen=True, slots=True)
class Places:
    """Where the bytes of one image field lie, an entry per sample."""

    file: npt.NDArray[np.int32]
    """Index into `Samples.files`, or ABSENT, or ASK."""
    offset: npt.NDArray[np.int64]
    length: npt.NDArray[np.int64]
    checksum: npt.NDArray[np.int64] | None = None
    """CRC-32C of the bytes, where somebody noted it when they were written; -1 elsewhere. None: nowhere."""

    def checksums(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Of some samples, -1 where it is not known."""
        return np.full(len(rows), -1, np.int64) if self.checksum is None else self.checksum[rows]

    def __len__(self) -> int:
        return len(self.file)


@dataclass(frozen=True, slots=True)
class Samples:
    """All samples of a source, as columns. Rows may come in any order; the build sorts them by key."""

    keys: pa.StringArray
    """Unique; the path relative to the source, with "/" between its parts, or what else names a sample for good."""
    places: Mapping[str, Places]
    """Of every image field; `image` must be among them."""
    files: Sequence[bytes]
    """Paths of the files that `places` speak of, as `os.fsencode` gives them."""
    splits: pa.StringArray | None = None
    """Such as train and val; null where a sample is in none."""
    columns: Mapping[str, pa.Array] = field(default_factory=dict)
    """`label` and further columns: numbers, strings, booleans, and lists of those (boxes)."""


@dataclass(frozen=True, slots=True)
class Layout:
    """What the columns of a source mean; known without listing the samples where that is cheap."""

    roles: Mapping[str, Role]
    """Of every image field; `image` first."""
    classes: tuple[str, ...] | None = None
    """Names of the classes that `label` counts, if it is an index into such a table."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """What the source holds beside its samples and fields, and how often: told to the user, kept nowhere."""


class Source(Protocol):
    """Where samples come from. Constructed with a path; nothing is listed before `samples` is called."""

    kind: str
    """Lower-case word for messages and the manifest: "folder", "webdataset"…"""

    def samples(self) -> tuple[Layout, Samples]:
        """List everything. Called once; the same source gives the same answer. May raise `PenstockError`."""

    def read(self, field: str, rows: npt.NDArray[np.int64]) -> Iterable[bytes]:
        """The bytes of an image field for these rows (of `samples`), all of which said ASK.

        Called once for each such row, in ascending order, in batches; what it gives is put into one work file beside
        the new dataset, so that only one batch need be in memory. Sources that never say ASK derive from `FilesOnly`.
        """

    def state(self) -> bytes:
        """What would have changed if the source had: sizes, times, inode numbers; b"" if nothing is known.

        A resumed build compares it with that of the build it goes on with. It is in no file of a finished dataset.
        """


class FilesOnly:
    """Base of the sources whose bytes all lie in files: they never say ASK, so nobody asks them."""

    def read(self, field: str, rows: npt.NDArray[np.int64]) -> Iterable[bytes]:
        """A mistake of the caller."""
        raise TypeError(f"{type(self).__name__} has its bytes in files: read field '{field}' from its places")
