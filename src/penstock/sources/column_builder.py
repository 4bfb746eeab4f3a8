"""Typed Arrow columns from values of one sample at a time. Holds one chunk of Python objects at a time."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from penstock.errors import SourceError

if TYPE_CHECKING:
    import pyarrow as pa

CHUNK_ROWS = 1 << 16
SPARSE_CELLS = 1 << 22  # of a table, as a row and a column meet: so many may be empty whatever the rows hold
CELLS_PER_VALUE = 16
MAX_DEPTH = 8  # of lists in lists; what is deeper is kept as its JSON text

Kind: TypeAlias = "str | tuple[Kind]"
"""Kind of a value: "null", "bool", "int", "float", "str", or a tuple with the kind of a list's elements."""

_SCALARS: dict[type, Kind] = {type(None): "null", bool: "bool", int: "int", float: "float", str: "str"}


class ColumnBuilder:
    """Columns that grow by rows. `where` returns the place of a row, for errors.

    Integers and floats mix to floats, a missing value is null, and an object is kept as JSON text. Any other mixture is
    an error, because a column has one type.

    >>> builder = ColumnBuilder(lambda row: f"line {row + 1}")
    >>> builder.add({"a": 1, "boxes": [[0, 1.5]]}); builder.add({"a": None, "b": "x"})
    >>> {name: column.to_pylist() for name, column in builder.finish().items()}
    {'a': [1, None], 'boxes': [[[0.0, 1.5]], None], 'b': [None, 'x']}
    """

    def __init__(self, where: Callable[[int], str], *, chunk_rows: int = CHUNK_ROWS) -> None:
        self._where = where
        self._chunk_rows = chunk_rows
        self._columns: dict[str, _Column] = {}
        self._num_rows = 0
        self._num_flushed = 0
        self._num_values = 0

    def add(self, row: Mapping[str, object]) -> None:
        """Add one row."""
        number = self._num_rows
        for name, value in row.items():
            column = self._columns.get(name)
            if column is None:
                column = self._columns[name] = _Column(name, self._num_flushed)
            column.put(number - self._num_flushed, value, lambda: self._where(number))
        self._num_rows += 1
        self._num_values += len(row)
        if self._num_rows * len(self._columns) > SPARSE_CELLS + CELLS_PER_VALUE * self._num_values:
            self._refuse_sparse(number)
        if self._num_rows - self._num_flushed == self._chunk_rows:
            self._flush()

    def finish(self) -> dict[str, pa.Array]:
        """Return all columns, in the order in which they first occurred."""
        self._flush()
        return {name: column.finish() for name, column in self._columns.items()}

    def _refuse_sparse(self, row: int) -> None:
        """Refuse keys that change with the row: columns of nulls for each would fill memory."""
        raise SourceError(
            f"{self._num_rows:,} rows name {len(self._columns):,} different columns, few of them in each row",
            where=self._where(row),
            fix="give all rows the same keys; put what varies into a list or an object",
            code=620,
        )

    def _flush(self) -> None:
        num_rows = self._num_rows - self._num_flushed
        for column in self._columns.values():
            column.flush(num_rows)
        self._num_flushed = self._num_rows


class _Column:
    def __init__(self, name: str, num_missed: int) -> None:
        import pyarrow as pa

        self._name = name
        self._kind: Kind = "null"
        self._values: list[object] = []
        self._chunks: list[pa.Array] = [pa.nulls(num_missed)]

    def put(self, position: int, value: object, where: Callable[[], str]) -> None:
        kind = _SCALARS.get(type(value)) or _kind_of(value)
        if kind == "object":
            value, kind = json.dumps(value, ensure_ascii=False), "str"
        if kind not in (self._kind, "null"):
            joined = _join(self._kind, kind)
            if joined is None:
                raise SourceError(
                    f"column '{self._name}' holds {_text(self._kind)} and {_text(kind)}: {_shown(value)}",
                    where=where(),
                    fix="a column has one type: write all of its values alike",
                    code=620,
                )
            self._kind = joined
        if _leaf(kind) in ("int", "float") and not _fits(value):
            raise SourceError(
                f"column '{self._name}' holds a number beyond 64 bits: {_shown(value)}",
                where=where(),
                fix="write it as text",
                code=620,
            )
        self._values += [None] * (position - len(self._values))
        self._values.append(value)

    def flush(self, num_rows: int) -> None:
        import pyarrow as pa

        self._values += [None] * (num_rows - len(self._values))
        if _leaf(self._kind) == "float":
            self._values = [_as_floats(value) for value in self._values]
        try:
            self._chunks.append(pa.array(self._values, _arrow_type(self._kind)))
        except UnicodeEncodeError as error:
            raise SourceError(
                f"column '{self._name}' holds text that is not Unicode: half of a surrogate pair",
                where=f"column '{self._name}'",
                fix="correct the text",
                code=620,
            ) from error
        self._values = []

    def finish(self) -> pa.Array:
        import pyarrow as pa

        target = _arrow_type(_settled(self._kind))
        # A cast from integers to floats would refuse those beyond 2**53, which JSON's readers round as well.
        return pa.chunked_array([chunk.cast(target, safe=False) for chunk in self._chunks], target).combine_chunks()


def _leaf(kind: Kind) -> str:
    """Return the innermost kind of a kind or of nested lists."""
    while isinstance(kind, tuple):
        kind = kind[0]
    return kind


def _as_floats(value: object) -> object:
    """Convert integers among floats, rounded as in JSON readers, because Arrow refuses those beyond 2**53."""
    if isinstance(value, list):
        return [_as_floats(item) for item in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _kind_of(value: object, depth: int = 0) -> Kind:
    if isinstance(value, dict) or depth > MAX_DEPTH:
        return "object"
    if not isinstance(value, list):
        return _SCALARS.get(type(value), "object")
    joined: Kind | None = "null"
    for element in value:
        kind = _SCALARS.get(type(element)) or _kind_of(element, depth + 1)
        joined = _join(joined, kind) if joined is not None else None
    return "object" if joined is None or joined == "object" else (joined,)


def _join(first: Kind, second: Kind) -> Kind | None:
    """Return the kind that holds both, or None.

    >>> _join("int", "float"), _join(("null",), ("int",)), _join("int", "str")
    ('float', ('int',), None)
    """
    if first == second or second == "null":
        return first
    if first == "null":
        return second
    if isinstance(first, tuple) and isinstance(second, tuple):
        inner = _join(first[0], second[0])
        return None if inner is None else (inner,)
    return "float" if {first, second} == {"int", "float"} else None


def _arrow_type(kind: Kind) -> pa.DataType:
    import pyarrow as pa

    if isinstance(kind, tuple):
        return pa.list_(_arrow_type(kind[0]))
    types = {"bool": pa.bool_(), "int": pa.int64(), "float": pa.float64(), "str": pa.string()}
    return types.get(kind, pa.null())


def _settled(kind: Kind, if_unknown: Kind = "str") -> Kind:
    """Return a kind without "null", for a column that never had a value: text, or lists of numbers."""
    if isinstance(kind, tuple):
        return (_settled(kind[0], "float"),)
    return if_unknown if kind == "null" else kind


def _fits(value: object) -> bool:
    if isinstance(value, list):
        return all(map(_fits, value))
    return not isinstance(value, int) or -(2**63) <= value < 2**63


def _text(kind: Kind) -> str:
    if isinstance(kind, tuple):
        return "lists"
    return {"bool": "true or false", "int": "integers", "float": "numbers", "str": "text"}.get(kind, kind)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
