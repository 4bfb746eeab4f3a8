"""Errors that Penstock raises.

PenstockError
├── ArgumentError (also a ValueError)   1xx  a wrong argument, format text or option
├── DatasetError                        2xx  a folder that is not a dataset, or a damaged one
├── CodecError                          3xx  data that cannot be decoded, pixels that cannot be encoded
├── StorageError (also an OSError)      4xx  a file that cannot be opened, read or written
└── SourceError                         6xx  a source whose files are damaged or not laid out as its kind requires
"""

from __future__ import annotations

import re

_UNPRINTABLE = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    r"""Make text safe for terminals and logs: escape control characters, but keep newlines.

    File names may hold sequences that clear the screen, rename the window or turn the direction of writing.

    >>> printable("a\x1b[2J.png")
    'a\\x1b[2J.png'
    """
    return _UNPRINTABLE.sub(lambda found: found.group().encode("unicode_escape", "surrogatepass").decode(), text)


class PenstockError(Exception):
    """Base class of all errors: what happened, where, and how to fix it.

    >>> print(PenstockError("index lists 512 samples, header says 498", where="byte 64", fix="rebuild it"))
    index lists 512 samples, header says 498
      where: byte 64
      fix:   rebuild it
    """

    def __init__(self, what: str, *, where: str = "", fix: str = "", code: int = 0) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.fix = fix
        self.code = code

    def within(self, place: str) -> PenstockError:
        """Return the same error with an outer place put before its own.

        >>> PenstockError("it broke", where="byte 7").within("photo.jpg").where
        'photo.jpg: byte 7'
        """
        where = f"{place}: {self.where}" if self.where else place
        return type(self)(self.what, where=where, fix=self.fix, code=self.code)

    def __str__(self) -> str:
        lines = [self.what]
        if self.where:
            lines.append(f"  where: {self.where}")
        if self.fix:
            lines.append(f"  fix:   {self.fix}")
        return printable("\n".join(lines))

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.what, self.where, self.fix, self.code)


class ArgumentError(PenstockError, ValueError):
    """Error about a wrong argument, format text or option."""


class CodecError(PenstockError):
    """Error about data that cannot be decoded, or pixels that a format cannot hold."""


class DatasetError(PenstockError):
    """Error about a dataset that is damaged or incomplete, or that cannot be built as requested."""


class StorageError(PenstockError, OSError):
    """Error about a file that cannot be opened, read or written."""


class SourceError(PenstockError):
    """Error about a source that is not laid out as its kind requires: a damaged tar, a row without a file."""


def _rebuild(kind: type[PenstockError], what: str, where: str, fix: str, code: int) -> PenstockError:
    return kind(what, where=where, fix=fix, code=code)
