"""Names of exported files that any file system, tar and program accepts. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from hashlib import sha256

MAX_NAME_BYTES = 200  # of a component; file systems stop at 255, and a suffix may follow
_ODD = re.compile(r"[\0-\x1f\x7f\\]")


def safe_path(text: str) -> str:
    """Convert a text to a relative path that stays below its folder, is not hidden, and has no long component.

    >>> safe_path("cats/1.jpg"), safe_path("/etc/../.ssh//id"), safe_path("")
    ('cats/1.jpg', 'etc/_../_.ssh/id', '_')
    """
    parts = [_safe_name(part) for part in text.split("/") if part not in ("", ".")]
    return "/".join(parts) or "_"


def _safe_name(part: str) -> str:
    name = _ODD.sub("_", part)
    name = f"_{name}" if name.startswith(".") else name
    if len(name.encode()) <= MAX_NAME_BYTES:
        return name
    stem, dot, ending = name.rpartition(".")
    ending = dot + ending if stem and len(ending) <= 10 else ""
    begin = name.encode()[: MAX_NAME_BYTES - 20].decode("utf-8", "ignore")
    return f"{begin}-{sha256(name.encode()).hexdigest()[:8]}{ending}"


def unique_paths(paths: Sequence[str]) -> list[str]:
    """Make paths unique: a path that is taken by a file or a folder gets a number before its ending.

    >>> unique_paths(["a.png", "a.png", "b", "b/c"])
    ['a.png', 'a-1.png', 'b-1', 'b/c']
    """
    taken = {folder for path in paths for folder in folders_above(path)}
    result: list[str] = []
    for path in paths:
        free, number = path, 0
        while free in taken:
            number += 1
            free = _numbered(path, number)
        taken.add(free)
        result.append(free)
    return result


def _numbered(path: str, number: int) -> str:
    dot = path.rfind(".")
    end = dot if dot > path.rfind("/") + 1 else len(path)
    return f"{path[:end]}-{number}{path[end:]}"


def folders_above(path: str) -> list[str]:
    """List the folders that a relative path needs, the outermost first.

    >>> folders_above("a/b/c.png")
    ['a', 'a/b']
    """
    return [path[:end] for end, letter in enumerate(path) if letter == "/"]


def under(key: str, folders: Iterable[str]) -> str:
    """Put a key below these folders, unless they are among its own, in this order.

    >>> wanted = ["train", "cat"]
    >>> under("0001", wanted), under("data/train/cat/1.jpg", wanted), under("train/1", wanted)
    ('train/cat/0001', 'data/train/cat/1.jpg', 'train/cat/1')
    """
    wanted = list(folders)
    own = iter(key.split("/")[:-1])
    if all(folder in own for folder in wanted):
        return key
    while wanted and key.startswith(f"{wanted[0]}/"):
        key = key[len(wanted[0]) + 1 :]
    return "/".join([*wanted, key])


def with_ending(path: str, endings: Sequence[str], known: frozenset[str]) -> str:
    """Give a path one of `endings`: keep a valid one, else replace a known ending by the first.

    >>> known = frozenset({".jpg", ".png"})
    >>> with_ending("a.JPG", [".jpg"], known), with_ending("a.jpg", [".png"], known)
    ('a.JPG', 'a.png')
    >>> with_ending("v1.2", [".png"], known)
    'v1.2.png'
    """
    begin = path.rfind("/") + 1
    dot = path.rfind(".")
    ending = path[dot:].lower() if dot > begin else ""
    if ending in endings:
        return path
    return (path[:dot] if ending in known else path) + endings[0]
