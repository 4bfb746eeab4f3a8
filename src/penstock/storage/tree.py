"""Everything under a folder, links followed: what a source of images is found in. Made for millions of files."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import StorageError
from penstock.storage.refusal import refused


@dataclass(frozen=True, slots=True)
class Tree:
    """Paths under a folder, relative to it, with `/` between names; sorted by Unicode code point."""

    root: str
    files: list[str]
    folders: list[str]
    """The empty ones too; without the root itself."""

    def path(self, file: str) -> str:
        """Where a file of the tree really is."""
        return os.path.join(self.root, file)  # noqa: PTH118 - called a million times

    def paths(self) -> list[Path]:
        """Where all files of the tree really are."""
        return [Path(self.root, file) for file in self.files]


def list_tree(root: str | os.PathLike[str]) -> Tree:
    """All files and folders below a folder, the same on every file system and in every locale.

    Links are followed; one that leads back to a folder above itself is not entered again. Names that begin with a dot
    are left out, as are pipes, sockets and devices. A folder that cannot be listed, a link that leads nowhere and a
    name that is not UTF-8 are errors: what they hide would be missing from the result without a word.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("b/1", "a/2", ".git/3"):
    ...         pathlib.Path(folder, name).parent.mkdir()
    ...         _ = pathlib.Path(folder, name).write_bytes(b"")
    ...     tree = list_tree(folder)
    >>> tree.files, tree.folders
    (['a/2', 'b/1'], ['a', 'b'])
    """
    top = os.fspath(root)
    tree = Tree(top, [], [])
    _walk(tree, top, "", ())
    tree.files.sort()
    tree.folders.sort()
    return tree


def _walk(tree: Tree, folder: str, prefix: str, above: tuple[tuple[int, int], ...]) -> None:
    try:
        status = os.stat(folder)  # noqa: PTH116
        identity = (status.st_dev, status.st_ino)
        if identity in above:
            return
        if prefix:
            tree.folders.append(prefix[:-1])
        with os.scandir(folder) as entries:
            inner = _take_files(tree, entries, prefix)
    except OSError as error:
        if isinstance(error, StorageError):
            raise
        raise refused(error, "list the folder") from error
    for name in inner:
        _walk(tree, f"{folder}/{name}", f"{prefix}{name}/", (*above, identity))


def _take_files(tree: Tree, entries: Iterable[os.DirEntry[str]], prefix: str) -> list[str]:
    """Note the files among the entries of one folder; gives the names of its folders."""
    inner: list[str] = []
    files = tree.files
    for entry in entries:
        name = entry.name
        if name.startswith("."):
            continue
        if not name.isascii():
            _check_name(entry.path)
        if entry.is_dir():
            inner.append(name)
        elif entry.is_file():
            files.append(prefix + name)
        elif entry.is_symlink():
            _check_link(entry.path)
    return inner


def _check_name(path: str) -> None:
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
