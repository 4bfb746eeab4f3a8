"""First look at a path, shared by all kinds of sources: a few names, no content."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from penstock.errors import StorageError
from penstock.sources.names import image_endings
from penstock.storage import StorePath
from penstock.storage.refusal import refused

MAX_ENTRIES = 1000  # a folder of a million images is not listed to find out that it holds images
MAX_FOLDERS = 20
MAX_LEVELS = 4  # ROOT/train/class/image.jpg


@dataclass(frozen=True, slots=True)
class Probe:
    """Some names at a path: of the file itself, or of a folder's first entries and those of its first sub-folders."""

    path: StorePath
    is_folder: bool
    top: frozenset[str] = frozenset()
    """Names directly in the folder; all of them, unless there are many."""
    below: frozenset[str] = field(default_factory=frozenset)
    """Names of files one level deeper."""

    def has(self, *endings: str) -> bool:
        """Return whether a file with one of these endings was seen."""
        return any(name.lower().endswith(endings) for name in (*self.top, *self.below))

    def named(self, *names: str) -> bool:
        """Return whether all of these are directly in the folder, even if it has many entries."""
        is_cut = len(self.top) >= MAX_ENTRIES
        return all(name in self.top or (is_cut and (self.path / name).is_there()) for name in names)

    def holds(self, *names: str) -> bool:
        """Return whether all of these are folders directly in the folder."""
        return self.is_folder and all((self.path / name).is_folder() for name in names)

    def is_made_of(self, *endings: str) -> bool:
        """Return whether the path mainly has files of these endings; a few next to a tree of images do not count."""
        if not self.is_folder or not self.has(*endings):
            return self.has(*endings)
        names = list(_names_below(self.path))
        num_files = sum(name.lower().endswith(endings) for name in names)
        images = tuple(image_endings())
        return num_files > 0 and num_files >= sum(name.lower().endswith(images) for name in names)

    def files_in(self, folder: str = "") -> tuple[str, ...]:
        """Return names of files in a sub-folder and the folders below it; only the first ones if there are many."""
        place = self.path / folder if folder else self.path
        return tuple(_names_below(place)) if self.is_folder and place.is_folder() else ()


def probe(path: StorePath) -> Probe:
    """Look at a place; raise an error if it does not exist or cannot be listed."""
    try:
        if not path.is_folder():
            path.check_there("look at the source")
            return Probe(path, False, frozenset({path.name.rpartition("/")[2]}))
        top = path.names(MAX_ENTRIES)
        folders = sorted(name for name, is_folder in top.items() if is_folder)[:MAX_FOLDERS]
        below = {
            name
            for folder in folders
            for name, is_folder in (path / folder).names(MAX_ENTRIES).items()
            if not is_folder
        }
    except StorageError:
        raise
    except OSError as error:
        raise refused(error, "look at the source", path=str(path)) from error
    return Probe(path, True, frozenset(top), frozenset(below))


def _names_below(root: StorePath) -> Iterator[str]:
    """Yield names of files, level by level, in the first folders of each level; skip unreadable folders."""
    level = [root]
    for _ in range(MAX_LEVELS):
        deeper: list[StorePath] = []
        for folder in level[:MAX_FOLDERS]:
            try:
                entries = folder.names(MAX_ENTRIES)
            except OSError:
                continue
            yield from (name for name, is_folder in entries.items() if not is_folder)
            deeper += [folder / name for name, is_folder in sorted(entries.items()) if is_folder]
        level = deeper
