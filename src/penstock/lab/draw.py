"""Preparation of lines for figures: grouped, averaged over seeds, with intervals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from penstock.lab.lines import Line
from penstock.lab.statistics import Estimate, estimate
from penstock.report import Section, Table
from penstock.report.charts import Series


def of_setting(lines: Iterable[Line], name: str) -> dict[str, list[Line]]:
    """Group lines by the text of a setting, in order of appearance."""
    groups: dict[str, list[Line]] = {}
    for line in lines:
        groups.setdefault(str(line.setting(name)), []).append(line)
    return groups


def by_seed(lines: Iterable[Line], measure: str) -> dict[int, float]:
    """Return a measure of each seed."""
    return {line.seed: line.number(measure) for line in lines}


def estimates(lines: Iterable[Line], setting: str, measure: str) -> dict[str, Estimate]:
    """Estimate a measure over the seeds, by the text of a setting."""
    return {
        name: estimate([line.number(measure) for line in group]) for name, group in of_setting(lines, setting).items()
    }


def series_of(name: str, values: Mapping[float, Estimate]) -> Series:
    """Make a series of estimates with their intervals, sorted by place."""
    ordered = sorted(values.items())
    return Series(
        name,
        tuple((place, value.mean) for place, value in ordered),
        tuple((max(0.0, value.low), value.high) for _, value in ordered),
    )


def table_of(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Table:
    """Make a table from values that have a text."""
    return Table(tuple(columns), tuple(tuple(str(cell) for cell in row) for row in rows))


def circumstances_section(lines: Sequence[Line]) -> Section:
    """Describe the conditions of the measurements, and what could not be measured."""
    first = lines[0].circumstances
    code = f"penstock {first['penstock']}" + (f" at commit {first['commit']}" if first["commit"] else "")
    seeds = ", ".join(map(str, sorted({line.seed for line in lines})))
    sentences = [
        f"{first['cpu']}, {first['cores']} cores, {first['system']}; {code}.",
        f"{len(lines)} cells, seeds {seeds}, begun {first['date']}.",
    ]
    limited = sorted(
        {
            (line.limits, " ".join(f"{name} by {by}" for name, by in line.enforced_by.items()))
            for line in lines
            if line.enforced_by
        }
    )
    sentences += [f"Limits: {limits}; enforced: {enforced}." for limits, enforced in limited[:12]]
    if limited:
        sentences.append(
            "Before every limited cell the page cache was told to forget the data; caches of Penstock's own read past "
            "it (O_DIRECT)."
        )
    left_out = sorted({(_subject(line), line.left_out) for line in lines if line.left_out})
    sentences += [f"Left out: {what}: {why}." for what, why in left_out]
    return Section("How it was measured", tuple(sentences))


def _subject(line: Line) -> str:
    """Name the subject of a cell in one word."""
    names = ("format", "policy", "loader", "variant")
    return str(next((line.setting(name) for name in names if line.setting(name)), line.job))
