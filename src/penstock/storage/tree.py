"""Recursive listing of a folder with millions of files, following links, to find the images of a source."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from penstock.errors import StorageError
from penstock.storage.object_tree import Entry, ObjectFolder, Tree
from penstock.storage.refusal import refused

MAX_VISITS = 64
"""Largest number of visits of one folder through links; real folders are linked into a few places, not hundreds."""


def list_tree(root: str | os.PathLike[str], *, hidden: bool = False) -> Tree:
    """List all files and folders below a folder, in the same order on every file system and in every locale.

    Links are followed, except one that leads back to a folder above itself. Names that begin with a dot are left out
    unless `hidden` is set; pipes, sockets and devices are always left out. A folder that cannot be listed, a broken
    link and a name that is not UTF-8 are errors, because their files would be missing silently.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("b/1", "a/2", ".git/3"):
    ...         pathlib.Path(folder, name).parent.mkdir()
    ...         _ = pathlib.Path(folder, name).write_bytes(b"")
    ...     tree = list_tree(folder)
    >>> tree.files, tree.folders
    (['a/2', 'b/1'], ['a', 'b'])
    """
    tree = Tree(os.path.join(os.fspath(root), ""), [], [])  # noqa: PTH118 - with its slash
    for folder in _walk(root, hidden=hidden, check=_check_name):
        if folder.prefix:
            tree.folders.append(folder.prefix[:-1])
        for entry in folder.others:
            if entry.is_file():
                tree.files.append(folder.prefix + entry.name)
            elif entry.is_symlink():
                _check_link(entry.path)
    tree.files.sort()
    tree.folders.sort()
    return tree


def walk_tree(
    root: str | os.PathLike[str], *, hidden: bool = False, check: Callable[[Entry], None]
) -> Iterator[ObjectFolder]:
    """Yield every folder below a folder, and itself, with the files in it, in no special order.

    Links are followed as `FolderVisits` allows; names that begin with a dot are left out unless `hidden`. `check` is
    called for every entry, and may refuse its name.
    """
    for folder in _walk(root, hidden=hidden, check=check):
        yield ObjectFolder(folder.prefix, folder.changed_at, folder.others)


@dataclass(frozen=True, slots=True)
class _Listed:
    """A folder of a walk, with its time from before it was listed."""

    prefix: str
    changed_at: int
    others: list[os.DirEntry[str]]


def _walk(
    root: str | os.PathLike[str], *, hidden: bool, check: Callable[[os.DirEntry[str]], None]
) -> Iterator[_Listed]:
    top = os.fspath(root)
    visits = FolderVisits(top)
    waiting = [(top, "", visits.root)]
    while waiting:
        place, prefix, visit = waiting.pop()
        changed_at, others = _changed_at(place), []
        for entry in _entries(place):
            if entry.name.startswith(".") and not hidden:
                continue
            check(entry)
            if not entry.is_dir():
                others.append(entry)
                continue
            inner = visits.enter(entry, visit)
            if inner is not None:
                waiting.append((entry.path, f"{prefix}{entry.name}/", inner))
        yield _Listed(prefix, changed_at, others)


@dataclass(frozen=True, slots=True)
class Visit:
    """Folder that was entered, with the one above it."""

    identity: tuple[int, int]
    above: Visit | None


class FolderVisits:
    """Guard of a walk that follows links: decides which folders may be entered.

    A link back to a folder above itself is not entered. Links that branch (n folders can make 2^n paths) are refused:
    through links, no folder is entered more than `MAX_VISITS` times.
    """

    def __init__(self, root: str) -> None:
        self.root = Visit(_identity(root), None)
        self._num_visits: Counter[tuple[int, int]] = Counter()

    def enter(self, entry: os.DirEntry[str], above: Visit) -> Visit | None:
        """Return the visit of an inner folder; None if it is one of those above it."""
        identity = _identity(entry.path)
        if entry.is_symlink() and _is_above(identity, above):
            return None
        self._num_visits[identity] += 1
        if self._num_visits[identity] > MAX_VISITS:
            raise StorageError(
                f"links lead to one folder in more than {MAX_VISITS} ways",
                where=entry.path,
                fix="remove links to folders: each way would give every file in it once more",
                code=400,
            )
        return Visit(identity, above)


def _identity(folder: str) -> tuple[int, int]:
    try:
        status = os.stat(folder)  # noqa: PTH116
    except OSError as error:
        raise refused(error, "list the folder") from error
    return status.st_dev, status.st_ino


def _is_above(identity: tuple[int, int], visit: Visit | None) -> bool:
    while visit is not None:
        if visit.identity == identity:
            return True
        visit = visit.above
    return False


def _changed_at(folder: str) -> int:
    try:
        return os.stat(folder).st_mtime_ns  # noqa: PTH116
    except OSError as error:
        raise refused(error, "list the folder") from error


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError as error:
        raise refused(error, "list the folder") from error


def _check_name(entry: os.DirEntry[str]) -> None:
    if entry.name.isascii():
        return
    path = entry.path
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        shown = os.fsencode(path).decode("utf-8", "backslashreplace")
        raise StorageError(
            "a file name is not UTF-8", where=shown, fix="rename it: keys of a dataset are UTF-8 text", code=400
        ) from None


def _check_link(path: str) -> None:
    try:
        os.stat(path)  # noqa: PTH116 - a link to a pipe or a device is left out as these are
    except OSError as error:
        raise refused(error, "follow the link", path=path, fix="repair or remove the link") from error
