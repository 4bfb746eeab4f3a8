"""Last step of a source that reads columns: finds label and split, and renames reserved columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.errors import SourceError
from penstock.sources.names import field_name
from penstock.storage import StorePath

if TYPE_CHECKING:
    import pyarrow as pa

CLASSES = "classes.txt"
RESERVED = ("id", "key", "split")


@dataclass(frozen=True, slots=True)
class Assembled:
    """Columns, labels, splits and classes of a listing."""

    columns: dict[str, pa.Array]
    splits: pa.Array | None
    classes: tuple[str, ...] | None


def assemble(
    columns: Mapping[str, pa.Array],
    *,
    fields: Sequence[str],
    splits: pa.Array | None = None,
    classes: tuple[str, ...] | None = None,
    where: str,
) -> Assembled:
    """Take the split from the columns if it is not known otherwise, and number labels that are text.

    The class table is `classes` if given, else the sorted names that occur, as for a folder. A column with a name that
    the index reserves is renamed to source_…; characters other than letters, digits, _ and - become `_`.
    """
    import pyarrow as pa

    named: dict[str, pa.Array] = {}
    for name, column in columns.items():
        if name == "split" and splits is None and pa.types.is_string(column.type):
            splits = column
            continue
        plain = field_name(name)
        plain = f"source_{plain}" if plain in RESERVED else plain
        if plain in named or plain in fields:
            raise SourceError(f"there are two fields named '{plain}'", where=where, fix="rename one of them", code=621)
        named[plain] = column
    if "label" in named and pa.types.is_string(named["label"].type):
        named["label"], classes = number_labels(named["label"], classes, where=where)
    elif "label" in named and classes is not None:
        _check_range(named["label"], len(classes), where)
    if splits is not None and splits.null_count == len(splits):
        splits = None
    return Assembled(named, splits, classes if "label" in named else None)


def read_classes(folder: StorePath) -> tuple[str, ...] | None:
    """Read the class table next to a manifest or tars, one name per line; None if it does not exist."""
    table = folder / CLASSES
    if not table.is_object():
        return None
    names = tuple(table.read().decode("utf-8").splitlines())
    if len(set(names)) < len(names):
        raise SourceError("a class stands twice in the table", where=str(table), fix="a name a line", code=620)
    return names


def number_labels(labels: pa.Array, classes: tuple[str, ...] | None, *, where: str) -> tuple[pa.Array, tuple[str, ...]]:
    """Convert text labels to indices into a class table.

    >>> import pyarrow
    >>> numbers, classes = number_labels(pyarrow.array(["dog", "cat", None]), None, where="test")
    >>> numbers.to_pylist(), classes
    ([1, 0, None], ('cat', 'dog'))
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    found = sorted(name for name in pc.unique(labels).to_pylist() if name is not None)
    table = tuple(found) if classes is None else classes
    unknown = sorted(set(found) - set(table))
    if unknown:
        raise SourceError(
            f"label '{unknown[0]}' is not in the class table",
            where=where,
            fix=f"add it to the table, which has {len(table)} names",
            code=621,
        )
    return pc.index_in(labels, pa.array(table, pa.string())).cast(pa.int32()), table


def _check_range(labels: pa.Array, num_classes: int, where: str) -> None:
    """Check that numeric labels lie within the class table."""
    import pyarrow as pa
    import pyarrow.compute as pc

    bounds = pc.min_max(labels).as_py() if pa.types.is_integer(labels.type) else {"min": -1, "max": -1}
    if bounds["min"] is not None and not 0 <= bounds["min"] <= bounds["max"] < num_classes:
        raise SourceError(
            f"labels from {bounds['min']} to {bounds['max']} do not count the {num_classes} names of the class table",
            where=where,
            fix="labels are names of the table, or numbers from 0 on",
            code=621,
        )
