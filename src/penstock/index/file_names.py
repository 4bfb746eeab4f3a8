"""Names of many files as one text and the end of each name, so that no Python object exists per file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True, eq=False)
class FileNames:
    """Paths of files, each made of a common folder and a name.

    >>> names = FileNames.of(["a/1.png", "b.png"], root="/data")
    >>> len(names), names[1], names.ends.tolist()
    (2, b'/data/b.png', [7, 12])
    """

    root: bytes
    """Folder before every name, with its slash; empty if names are whole paths."""
    text: npt.NDArray[np.uint8]
    ends: npt.NDArray[np.uint64]

    @classmethod
    def of(cls, names: Sequence[str | bytes], root: str | os.PathLike[str] = "") -> FileNames:
        """Pack names. Paths that are not UTF-8 are bytes as `os.fsencode` gives them."""
        text, ends = pack_names([os.fsencode(name) for name in names])
        return cls(as_folder(root) if root else b"", text, ends)

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, file: int) -> bytes:
        """Return the path of a file."""
        return self.root + self.name(file)

    def __iter__(self) -> Iterator[bytes]:
        text, begin = self.text.tobytes(), 0
        for end in self.ends.tolist():
            yield self.root + text[begin:end]
            begin = end

    def name(self, file: int) -> bytes:
        """Return the name of a file, without the folder."""
        begin = int(self.ends[file - 1]) if file else 0
        return self.text[begin : int(self.ends[file])].tobytes()

    def path(self, file: int) -> str:
        """Return the path of a file as text."""
        return os.fsdecode(self[file])

    def ending_with(self, endings: Sequence[str]) -> list[int]:
        """Return the numbers of files whose names end in one of these texts, in any case.

        >>> FileNames.of(["a.TIF", "b.png", "c.tif"]).ending_with([".tif"])
        [0, 2]
        """
        if len(self) == 0:
            return []
        ends = self.ends.astype(np.int64)
        begins = np.concatenate(([0], ends[:-1]))
        last = self.text[np.maximum(ends - 1, 0)] | 32  # letters become small
        found: set[int] = set()
        for ending in endings:
            # The last letter leaves few of a million names, whose tails are then compared.
            for file in np.flatnonzero(last == ord(ending[-1])).tolist():
                if self.text[begins[file] : ends[file]].tobytes().lower().endswith(ending.encode()):
                    found.add(file)
        return sorted(found)


def pack_names(names: Sequence[bytes]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint64]]:
    """Join names to one text and note where each ends, as the native table expects them."""
    text = np.frombuffer(b"".join(names), np.uint8)
    return text, np.cumsum([len(name) for name in names]).astype(np.uint64)


def as_folder(path: str | os.PathLike[str]) -> bytes:
    """Return a folder's path with the slash that stands between it and a name."""
    return os.path.join(os.fsencode(path), b"")  # noqa: PTH118  # bytes: not every name is UTF-8
