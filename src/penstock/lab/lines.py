"""Results of a run: one JSON object per line, appended when a cell is done, never changed. Layout: spec/results.md."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.documents import Json
from penstock.errors import ArgumentError
from penstock.storage import append_line, exists, read_file, write_file

FILE_NAME = "lines.jsonl"
FORMER_NAMES = {"means": "enforced_by"}
"""Members of lines that version 0.1 wrote, and their names today."""


@dataclass(frozen=True, slots=True)
class Line:
    """Result of one cell, with its conditions."""

    key: str
    recipe: str
    job: str
    settings: Mapping[str, Json]
    seed: int
    limits: str
    enforced_by: Mapping[str, str]
    """Enforcement of each limit."""
    measures: Mapping[str, Any]
    """Empty if the cell could not be measured."""
    left_out: str
    """Reason why the cell was left out; empty if it was measured."""
    circumstances: Mapping[str, Json]
    """Commit, machine, date, versions."""

    def setting(self, name: str) -> Any:  # noqa: ANN401  # whatever JSON holds
        """Return a setting, or None if this cell does not have it."""
        return self.settings.get(name)

    def number(self, name: str) -> float:
        """Return a measure as a number."""
        return float(self.measures[name])

    @property
    def epochs(self) -> Sequence[Mapping[str, float]]:
        """Results of each epoch."""
        return tuple(self.measures.get("epochs", ()))

    def as_dict(self) -> dict[str, Json]:
        """Return the line as it is written."""
        return {name: _plain(getattr(self, name)) for name in self.__slots__}


def read_lines(data: bytes, where: str) -> list[Line]:
    """Read the lines of a file; an incomplete last one is skipped."""
    found = []
    rows = data.split(b"\n")
    for number, row in enumerate(rows, start=1):
        if not row.strip():
            continue
        try:
            found.append(Line(**_with_current_names(json.loads(row))))
        except (ValueError, TypeError) as cause:
            if number == len(rows):
                break
            raise ArgumentError(
                f"this is not a line of a lab run: {row[:60]!r}",
                where=f"line {number} of {where}",
                fix="give the folder of a run",
            ) from cause
    return found


def _with_current_names(members: dict[str, Any]) -> dict[str, Any]:
    """Translate the members of a line that version 0.1 wrote."""
    return {FORMER_NAMES.get(name, name): value for name, value in members.items()}


def load_lines(run: Path) -> list[Line]:
    """Load the lines of a run's folder; empty if it has not begun."""
    path = run / FILE_NAME
    return read_lines(read_file(path), str(path)) if exists(path) else []


def add_line(run: Path, line: Line) -> None:
    """Append a line, completely or not at all."""
    append_line(run / FILE_NAME, json.dumps(line.as_dict(), allow_nan=False).encode())


def write_parquet(lines: Sequence[Line], path: Path) -> None:
    """Write the lines as a table: one row per line, settings and measures as columns, epochs as a list."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [_row(line) for line in lines]
    names = sorted({name for row in rows for name in row})
    table = pa.table({name: [row.get(name) for row in rows] for name in names})
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    write_file(path, sink.getvalue().to_pybytes())


def measured(lines: Iterable[Line], job: str = "", **settings: object) -> list[Line]:
    """Return lines that were measured and have these settings, in order."""
    return [
        line
        for line in lines
        if not line.left_out
        and (not job or line.job == job)
        and all(line.setting(name) == value for name, value in settings.items())
    ]


def _row(line: Line) -> dict[str, Json]:
    row: dict[str, Json] = {
        name: getattr(line, name) for name in ("key", "recipe", "job", "seed", "limits", "left_out")
    }
    for name, value in line.settings.items():
        row[f"set.{name}"] = value if isinstance(value, str) else json.dumps(value)
    for name, value in line.measures.items():
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            row[name] = float(value)
        elif name == "epochs":
            row[name] = [{key: float(number) for key, number in epoch.items()} for epoch in value]
    for name, value in line.circumstances.items():
        row[f"at.{name}"] = value if isinstance(value, str) else json.dumps(value)
    return row


def _plain(value: Any) -> Json:  # noqa: ANN401  # whatever JSON holds
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value  # type: ignore[no-any-return]  # a plain value by now
