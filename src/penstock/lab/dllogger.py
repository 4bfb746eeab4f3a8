"""Reader of training reports of NVIDIA's DLLogger, as (DL)² wrote them: lines of `DLLL ` and JSON.

A report has the parameters (step P), means over iterations (T, V; skipped), a few lines per epoch (E) and a summary
(S). Only the values that an analysis needs are kept.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.documents import Json
from penstock.errors import ArgumentError

PREFIX = b"DLLL "


@dataclass(frozen=True, slots=True)
class Epoch:
    """One epoch of a report; None for missing values."""

    number: int
    seconds: float | None = None
    """Training and validation together."""
    top1: float | None = None
    """Validation accuracy in per cent."""
    data_seconds: float | None = None
    """Mean wait for a batch."""
    compute_seconds: float | None = None
    """Mean time of a step."""
    ended: str = ""
    """Date and time of its last line, by the clock of the machine."""


@dataclass(frozen=True, slots=True)
class Report:
    """Report of one training run."""

    parameters: Mapping[str, Json]
    epochs: tuple[Epoch, ...]
    best_top1: float | None
    """Best accuracy in the summary, which has the maximum over epochs."""
    best_top5: float | None = None

    def parameter(self, name: str) -> str:
        """Return a parameter as text; empty if it is missing."""
        value = self.parameters.get(name)
        return "" if value is None else str(value)


@dataclass(slots=True)
class _Draft:
    parameters: dict[str, Json] = field(default_factory=dict)
    epochs: dict[int, dict[str, float]] = field(default_factory=dict)
    ends: dict[int, str] = field(default_factory=dict)
    summary: dict[str, float] = field(default_factory=dict)


def read_report(data: bytes, where: str) -> Report:
    """Parse a report. Raise ArgumentError with the line number of an error; an incomplete last line is skipped."""
    draft = _Draft()
    lines = data.split(b"\n")
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            _take(draft, line)
        except (ValueError, KeyError, TypeError, IndexError, AttributeError) as cause:
            if number == len(lines):
                break  # a run that was killed while it wrote
            raise ArgumentError(
                f"this is not a line of DLLogger: {line[:60]!r}",
                where=f"line {number} of {where}",
                fix="give a folder of experiment_report.json files",
            ) from cause
    return Report(
        draft.parameters,
        tuple(_epoch(number, draft.epochs[number], draft.ends[number]) for number in sorted(draft.epochs)),
        draft.summary.get("v.top1"),
        draft.summary.get("v.top5"),
    )


def _take(draft: _Draft, line: bytes) -> None:
    if not line.startswith(PREFIX):
        raise ValueError("no prefix")
    entry = json.loads(line[len(PREFIX) :])
    if entry["type"] != "LOG":
        return
    step, data = entry["step"], entry["data"]
    if step[:1] == ["P"]:
        draft.parameters.update(data)
    elif step[:1] == ["E"]:
        draft.epochs.setdefault(int(step[1]), {}).update(_numbers(data))
        draft.ends[int(step[1])] = str(entry.get("datetime", ""))
    elif step[:1] == ["S"]:
        draft.summary.update(_numbers(data))


def _numbers(data: Mapping[str, Json]) -> dict[str, float]:
    """Convert values to numbers; times are written as `206.05037 s`."""
    found = {}
    for name, value in data.items():
        if isinstance(value, str) and value.endswith(" s"):
            found[name] = float(value[:-2])
        elif isinstance(value, (int, float)):
            found[name] = float(value)
    return found


def _epoch(number: int, data: Mapping[str, float], ended: str) -> Epoch:
    return Epoch(
        number,
        seconds=data.get("e.total_time"),
        top1=data.get("v.top1"),
        data_seconds=data.get("t.data_time"),
        compute_seconds=data.get("t.compute_time"),
        ended=ended,
    )
