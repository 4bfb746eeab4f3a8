"""A place in a store: the store itself, a folder of it, or an object."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from penstock.errors import SourceError
from penstock.storage.local_store import LocalStore
from penstock.storage.object_tree import Entry, ObjectFolder, Tree
from penstock.storage.paths import check_exists, is_folder
from penstock.storage.ranges import ObjectReader
from penstock.storage.store import NO_LIMIT, Store, folder_prefix


@dataclass(frozen=True, slots=True)
class StorePath:
    """A place in a store, by its name; the empty name is the whole store.

    >>> from penstock.storage import MemoryStore
    >>> photos = StorePath(MemoryStore({"sets/photos/cat/1.jpg": b"", "sets/list.csv": b""}), "sets") / "photos"
    >>> photos.name, photos.is_folder(), photos.tree().files, str(photos.parent / "list.csv")
    ('sets/photos', True, ['cat/1.jpg'], 'memory/sets/list.csv')
    """

    store: Store
    name: str = ""

    @classmethod
    def of(cls, place: str | os.PathLike[str] | Store | StorePath) -> StorePath:
        """Return the place of a path of a local disk, or of a whole store. The path may not exist."""
        if isinstance(place, StorePath):
            return place
        if isinstance(place, Store):
            return cls(place)
        path = Path(place)
        return cls(LocalStore(path)) if is_folder(path) else cls(LocalStore(path.parent), path.name)

    def __truediv__(self, part: str) -> StorePath:
        return StorePath(self.store, folder_prefix(self.name) + part)

    def __str__(self) -> str:
        return self.store.where(self.name)

    @property
    def parent(self) -> StorePath:
        """Folder of the place; the store itself has none above it."""
        return StorePath(self.store, self.name.rpartition("/")[0])

    @property
    def suffix(self) -> str:
        """Ending of the last part of the name, with its dot."""
        return PurePosixPath(self.name).suffix

    @property
    def local(self) -> Path | None:
        """Path of the place on a local disk; None if the store is elsewhere."""
        return None if self.store.root is None else self.store.root / self.name

    def local_path(self, kind: str) -> Path:
        """Return the path on a local disk; raise `SourceError` for sources that can be read from there alone."""
        if self.store.root is None:
            raise SourceError(
                f"a source of kind '{kind}' is read from a local disk only",
                where=str(self),
                fix="copy it to a disk, and name the folder there",
                code=606,
            )
        return self.store.root / self.name

    def is_object(self) -> bool:
        """Tell whether there is an object, or a regular file, of this name."""
        return bool(self.name) and self.store.size(self.name) is not None

    def is_folder(self) -> bool:
        """Tell whether the place is a folder."""
        return self.store.is_folder(self.name)

    def is_there(self) -> bool:
        """Tell whether the place is an object or a folder."""
        return self.is_folder() or self.is_object()

    def check_there(self, doing: str) -> None:
        """Raise `StorageError` if there is nothing at the place."""
        if self.local is not None:
            check_exists(self.local, doing)
        elif not self.is_there():
            raise self.store.missing(self.name)

    def names(self, most: int | None = None) -> dict[str, bool]:
        """Return visible names in the folder, at most `most`, each with whether it is a folder."""
        return self.store.names_in(self.name, most)

    def tree(self) -> Tree:
        """Return the names of all objects below the folder."""
        return self.store.tree(self.name)

    def folders(self, check: Callable[[Entry], None]) -> Iterator[ObjectFolder]:
        """Yield the folder and every folder below it with their objects; `check` may refuse a name."""
        return self.store.folders(self.name, check)

    def read(self, max_bytes: int = NO_LIMIT) -> bytes:
        """Return the whole object."""
        return self.store.read(self.name, max_bytes=max_bytes)

    def open_object(self) -> ObjectReader:
        """Open the object for positioned reads."""
        return self.store.open_object(self.name)

    def references(self, names: Iterable[str]) -> list[bytes]:
        """Return what an index calls objects in the folder: paths on a local disk, else names in the store."""
        root = folder_prefix(self.name) if self.local is None else str(self.local)
        return [os.fsencode(os.path.join(root, name)) for name in names]  # noqa: PTH118 - called for a million names

    @property
    def foreign_store(self) -> Store | None:
        """The store that readers must ask for the bytes; None if they may open files of a local disk."""
        return None if self.store.root is not None else self.store


AnyPlace = str | os.PathLike[str] | Store | StorePath
"""A place that a source can be opened at."""
