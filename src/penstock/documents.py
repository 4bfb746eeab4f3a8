"""JSON documents: manifest, plan, profile, results. Errors name their place, and the bytes are canonical.

This is deliberately not a schema language. A reader asks for the members it needs, by type, and gets an error with
the place of a wrong one.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import TypeAlias

from penstock.errors import ArgumentError, PenstockError

MAX_INTEGER = 2**63 - 1
MAX_UNSIGNED = 2**64 - 1
Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"


class Document:
    """JSON object with its place in the file. Members are requested by name and type.

    >>> doc = read_document(b'{"kind": "penstock plan", "version": 1, "seed": 7}', kind="penstock plan", version=1)
    >>> doc.integer("seed"), doc.integer("lanes", default=960)
    (7, 960)
    """

    def __init__(self, members: dict[str, Json], where: str, error: type[PenstockError] = ArgumentError) -> None:
        self.members = members
        self.where = where
        self._error = error

    def refusal(self, what: str, name: str = "") -> PenstockError:
        """Make an error about this object or one of its members."""
        place = f"{self.where}{'.' if name else ''}{name}"
        return self._error(what, where=place, fix="write it again with the tool that made it, or see its page in spec/")

    def __contains__(self, name: str) -> bool:
        return name in self.members

    def text(self, name: str, default: str | None = None) -> str:
        """Return a member that must be a string."""
        value = self._member(name, default)
        if not isinstance(value, str):
            raise self.refusal(f"{name} is {_told(value)}, not a text", name)
        return value

    def integer(self, name: str, default: int | None = None, *, minimum: int = 0, maximum: int = MAX_INTEGER) -> int:
        """Return a member that must be a whole number of at least `minimum` that fits in 64 bits."""
        value = self._member(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < minimum:
            raise self.refusal(f"{name} is {_told(value)}, not a whole number from {minimum} on", name)
        if value > maximum:
            raise self.refusal(f"{name} is {_told(value)}, above {maximum}", name)
        return value

    def number(self, name: str, default: float | None = None, *, minimum: float = -math.inf) -> float:
        """Return a member that must be a finite number of at least `minimum`."""
        value = self._member(name, default)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not is_finite(value):
            raise self.refusal(f"{name} is {_told(value)}, not a number", name)
        if value < minimum:
            raise self.refusal(f"{name} is {value}, below {minimum}", name)
        return float(value)

    def flag(self, name: str, default: bool | None = None) -> bool:
        """Return a member that must be true or false."""
        value = self._member(name, default)
        if not isinstance(value, bool):
            raise self.refusal(f"{name} is {_told(value)}, not true or false", name)
        return value

    def child(self, name: str) -> Document:
        """Return a member that must be an object."""
        value = self._member(name, None)
        if not isinstance(value, dict):
            raise self.refusal(f"{name} is {_told(value)}, not an object", name)
        return Document(value, f"{self.where}.{name}", self._error)

    def children(self, name: str) -> Iterator[tuple[str, Document]]:
        """Yield the names and values of a member that must be an object of objects, in order."""
        whole = self.child(name)
        for key in whole.members:
            yield key, whole.child(key)

    def items(self, name: str) -> Iterator[Document]:
        """Yield the objects of a member that must be a list of objects."""
        for number, value in enumerate(self.values(name)):
            if not isinstance(value, dict):
                raise self.refusal(f"{name}[{number}] is {_told(value)}, not an object", name)
            yield Document(value, f"{self.where}.{name}[{number}]", self._error)

    def values(self, name: str) -> list[Json]:
        """Return a member that must be a list."""
        value = self._member(name, None)
        if not isinstance(value, list):
            raise self.refusal(f"{name} is {_told(value)}, not a list", name)
        return value

    def _member(self, name: str, default: Json) -> Json:
        if name in self.members:
            return self.members[name]
        if default is None:
            raise self.refusal(f"{name} is missing")
        return default


def read_document(
    data: bytes, *, kind: str, version: int, where: str = "", error: type[PenstockError] = ArgumentError
) -> Document:
    """Parse a document and check its kind. Other kinds and later versions are refused."""
    where = where or kind
    try:
        parsed: Json = json.loads(data, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as cause:
        raise error(f"{kind} is no JSON: {cause}", where=where, fix="restore it, or make it again") from cause
    if not isinstance(parsed, dict):
        raise error(f"{kind} is {_told(parsed)}, not an object", where=where, fix="restore it, or make it again")
    document = Document(parsed, where, error)
    found = document.text("kind", "a document without a kind")
    if found != kind:
        raise error(f"this is {found!r}, not {kind!r}", where=where, fix="give another file")
    if document.integer("version") != version:
        raise error(
            f"{kind} has version {document.integer('version')}; this Penstock reads version {version}",
            where=where,
            fix="update Penstock, or make the file again with this one",
        )
    return document


def write_document(members: Json) -> bytes:
    """Serialize a document. Equal content gives equal bytes; NaN and infinity raise `ValueError`."""
    return (json.dumps(members, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def is_finite(value: float) -> bool:
    """Return whether a number is finite and small enough for a float."""
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond the floats
        return False


def _refuse_constant(name: str) -> Json:
    raise ValueError(f"{name} is not a JSON number")


def _told(value: Json) -> str:
    try:
        text = json.dumps(value)
    except (ValueError, RecursionError):  # a number of thousands of digits, lists in lists in lists
        return "something too large to show"
    return text if len(text) <= 40 else text[:37] + "..."
