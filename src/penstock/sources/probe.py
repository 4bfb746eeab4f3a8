"""A first look at a path, shared by all kinds of sources: a few names, no content."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from penstock.storage.refusal import refused

MAX_ENTRIES = 1000  # a folder of a million images is not listed to find out that it holds images
MAX_FOLDERS = 20


@dataclass(frozen=True, slots=True)
class Probe:
    """Some names at a path: of the file itself, or of a folder's first entries and those of its first sub-folders."""

    path: Path
    is_folder: bool
    top: frozenset[str] = frozenset()
    """Names directly in the folder (all of them, if there are not many)."""
    below: frozenset[str] = field(default_factory=frozenset)
    """Names of files one level deeper."""

    def has(self, *endings: str) -> bool:
        """Whether a file with one of these endings was seen."""
        return any(name.lower().endswith(endings) for name in (*self.top, *self.below))

    def named(self, *names: str) -> bool:
        """Whether all of these stand directly in the folder."""
        return all(name in self.top for name in names)


def probe(path: Path) -> Probe:
    """Look at a path; one that does not exist or cannot be listed is told."""
    try:
        if not path.is_dir():
            path.stat()
            return Probe(path, False, frozenset({path.name}))
        top = _names(path)
        folders = sorted(name for name, is_folder in top.items() if is_folder)[:MAX_FOLDERS]
        below = {name for folder in folders for name, is_folder in _names(path / folder).items() if not is_folder}
    except OSError as error:
        raise refused(error, "look at the source", path=path) from error
    return Probe(path, True, frozenset(top), frozenset(below))


def _names(folder: Path) -> dict[str, bool]:
    """Visible entries of a folder and whether each is a folder."""
    with os.scandir(folder) as entries:
        visible = (entry for entry in entries if not entry.name.startswith("."))
        return {entry.name: entry.is_dir() for entry in islice(visible, MAX_ENTRIES)}
