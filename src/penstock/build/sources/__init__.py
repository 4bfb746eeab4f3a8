"""Where samples can come from: one small file each, behind the contract of `penstock.build.source`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Protocol

from penstock.build.source import Source
from penstock.build.sources.folder import ImageFolder
from penstock.errors import ArgumentError

__all__ = ["SOURCES", "open_source"]


class SourceKind(Protocol):
    """A class of sources: what the table below holds."""

    kind: str

    def detects(self, path: Path) -> bool:
        """Whether this is such a source; looks at names, reads little."""

    def __call__(self, path: Path) -> Source:
        """The source at this path."""


SOURCES: tuple[SourceKind, ...] = (ImageFolder,)
"""In the order in which they are asked: the more special first."""


def open_source(path: str | os.PathLike[str], kind: str = "") -> Source:
    """The source at a path: of the kind named, else of the first kind that recognises it."""
    place = Path(path)
    for candidate in SOURCES:
        if candidate.kind == kind or (not kind and candidate.detects(place)):
            return candidate(place)
    known = ", ".join(candidate.kind for candidate in SOURCES)
    what = f"there is no kind of source '{kind}'" if kind else f"'{place}' is no source of a known kind"
    raise ArgumentError(what, where=str(place), fix=f"check the path, or name the kind: {known}", code=130)
