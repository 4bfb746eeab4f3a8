"""Rows of CSV, TSV and JSON lines as typed columns, with the line of each row for errors."""

from __future__ import annotations

import csv
import io
import json
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from penstock.errors import SourceError
from penstock.sources.column_builder import ColumnBuilder
from penstock.storage import StorePath

if TYPE_CHECKING:
    import pyarrow as pa

# Text that is a number and nothing else: "007" and "1e5" stay text, because a label or an id may look like them.
INTEGER = r"^-?(0|[1-9][0-9]{0,17})$"
DECIMAL = r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$"


@dataclass(frozen=True, slots=True)
class Rows:
    """Columns of a file, and the line on which each row begins."""

    path: StorePath
    columns: Mapping[str, pa.Array]
    lines: array[int]
    images: Mapping[str, str]
    """Columns whose values were objects {"path": …, "role": …}, and their role; "" if none was given."""

    def where(self, row: int) -> str:
        """Return the place of a row, for errors."""
        return f"{self.path}: {self.place(row)}"

    def place(self, row: int) -> str:
        """Return the line of a row, without the file."""
        return f"line {self.lines[row]}" if row < len(self.lines) else "its first line"


def read_rows(file: Path | StorePath) -> Rows:
    """Read a file by its ending: .csv, .tsv, else JSON lines. Skips empty lines."""
    path = StorePath.of(file)
    try:
        text = path.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SourceError(
            f"the file is not UTF-8: byte {error.start}", where=str(path), fix="save it as UTF-8", code=620
        ) from None
    lines = array("q")
    builder = ColumnBuilder(lambda row: f"{path}: line {lines[row]}")
    is_table = path.suffix.lower() in (".csv", ".tsv")
    found = _read_csv(path, text) if is_table else _read_json(path, text)
    images: dict[str, str] = {}
    for line, row in found:
        lines.append(line)
        for name, value in row.items():
            if isinstance(value, dict) and isinstance(value.get("path"), str) and value.keys() <= {"path", "role"}:
                row[name] = value["path"]
                images[name] = str(value.get("role", images.get(name, "")))
        builder.add(row)
    if not lines:
        raise SourceError("the manifest has no rows", where=str(path), fix="write a row per sample", code=620)
    columns = builder.finish()
    if is_table:
        columns = {name: _typed(name, column) for name, column in columns.items()}
    return Rows(path, columns, lines, images)


def _read_csv(path: StorePath, text: str) -> Iterator[tuple[int, dict[str, object]]]:
    reader = csv.reader(
        io.StringIO(text, newline=""), strict=True, delimiter="\t" if path.suffix.lower() == ".tsv" else ","
    )
    try:
        header = next(reader, [])
        _check_header(path, header)
        line = reader.line_num + 1
        for values in reader:
            if values:
                if len(values) != len(header):
                    _refuse(path, line, f"the row has {len(values)} values, the header names {len(header)} columns")
                yield line, {name: value or None for name, value in zip(header, values, strict=True)}
            line = reader.line_num + 1
    except csv.Error as error:
        _refuse(path, reader.line_num, f"the row cannot be read: {error}")


def _check_header(path: StorePath, header: list[str]) -> None:
    twice = [name for name in header if header.count(name) > 1]
    if not header or "" in header or twice:
        what = f"the header names '{twice[0]}' twice" if twice else "the header has a column without a name"
        _refuse(path, 1, what)


def _read_json(path: StorePath, text: str) -> Iterator[tuple[int, dict[str, object]]]:
    for number, line in enumerate(io.StringIO(text), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line, parse_constant=_refuse_constant, object_pairs_hook=_once)
        except (ValueError, RecursionError) as error:
            _refuse(path, number, f"the line is not JSON: {error}")
        if not isinstance(row, dict):
            _refuse(path, number, "the line holds no object")
        yield number, row


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Make an object, and refuse repeated keys."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice")
    return found


def _typed(name: str, column: pa.Array) -> pa.Array:
    """Convert text to integers or floats if every value is one."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_string(column.type) or column.null_count == len(column) or name in ("key", "split"):
        return column
    for pattern, number in ((INTEGER, pa.int64()), (DECIMAL, pa.float64())):
        if pc.all(pc.match_substring_regex(column, pattern)).as_py():
            return column.cast(number)
    return column


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a JSON value")


def _refuse(path: StorePath, line: int, what: str) -> NoReturn:
    raise SourceError(what, where=f"{path}: line {line}", fix="correct the line", code=620)
