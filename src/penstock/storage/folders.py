"""What files a local folder holds."""

from __future__ import annotations

import os
from pathlib import Path

from penstock.storage.refusal import refused


def find_files(folder: str | os.PathLike[str]) -> list[Path]:
    """All files under a folder, sorted by path; hidden ones are left out, links to folders are not followed."""
    found: list[Path] = []
    for place, folders, files in os.walk(folder, onerror=_refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += (Path(place, name) for name in files if not name.startswith("."))
    return sorted(found, key=Path.as_posix)


def _refuse(error: OSError) -> None:
    raise refused(error, "list the folder") from error
