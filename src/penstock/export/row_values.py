"""Columns of a sample for export: rows of a manifest, members of a tar."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from penstock.errors import DatasetError

if TYPE_CHECKING:
    from penstock.records import Dataset

BATCH_ROWS = 4096


def check_labels(dataset: Dataset) -> None:
    """Refuse labels outside the class table: a negative one would be another class's name."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if dataset.classes is None:
        return
    labels = dataset.column("label")
    bounds = pc.min_max(labels).as_py() if pa.types.is_integer(labels.type) else {"min": -1, "max": -1}
    if bounds["min"] is not None and not 0 <= bounds["min"] <= bounds["max"] < len(dataset.classes):
        raise DatasetError(
            f"labels from {bounds['min']} to {bounds['max']} do not count the {len(dataset.classes)} classes",
            where=str(dataset.path),
            fix="restore the index from a copy, or build the dataset again",
            code=220,
        )


def read_rows(dataset: Dataset, begin: int, end: int) -> list[dict[str, object]]:
    """Return the columns of samples `begin` to `end` as values that JSON can hold, without nulls.

    A label with a class table becomes its name. Values that JSON cannot express (infinity, NaN) are left out.
    """
    classes = dataset.classes
    names = [field.name for field in dataset.fields if not field.is_image]
    rows: list[dict[str, object]] = [{} for _ in range(begin, end)]
    for name in ("split", *names) if dataset.splits else names:
        values = dataset.column(name).slice(begin, end - begin).to_pylist()
        for row, value in zip(rows, values, strict=True):
            if value is not None and _is_sayable(value):
                row[name] = classes[value] if name == "label" and classes is not None else value
    return rows


def json_line(row: dict[str, object]) -> bytes:
    """Format a row as one line of JSON."""
    return json.dumps(row, ensure_ascii=False, allow_nan=False).encode() + b"\n"


def batches(count: int, rows: int = BATCH_ROWS) -> Iterator[tuple[int, int]]:
    """Yield ranges that cover `count` samples.

    >>> list(batches(10, 4))
    [(0, 4), (4, 8), (8, 10)]
    """
    for begin in range(0, count, rows):
        yield begin, min(begin + rows, count)


def _is_sayable(value: object) -> bool:
    if isinstance(value, list):
        return all(map(_is_sayable, value))
    return not isinstance(value, float) or math.isfinite(value)
