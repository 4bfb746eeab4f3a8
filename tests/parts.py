"""Where the time of a test run went: the tests and seconds of each part, for the table that `--parts` prints."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass
class Part:
    """One folder of tests, or one of its files where the folder is a tier of its own."""

    tests: set[str] = field(default_factory=set)
    seconds: float = 0.0


def part_of(test: str) -> str:
    """Name the part that a test belongs to.

    >>> part_of("tests/unit/load/test_loader.py::test_order[1]")
    'tests/unit/load'
    >>> part_of("tests/stress/test_memory.py::test_limits")
    'tests/stress/test_memory.py'
    >>> part_of("src/penstock/units.py::penstock.units.parse")
    'src/penstock'
    """
    names = test.partition("::")[0].split("/")
    return "/".join(names[:2] if names[0] == "src" else names[:3])


def collect(phases: Iterable[tuple[str, float]]) -> dict[str, Part]:
    """Add up (test, seconds) of every set-up, call and tear-down, by part; the longest part comes first.

    >>> parts = collect([("tests/docs/test_a.py::test_x", 0.5), ("tests/docs/test_a.py::test_x", 1.5)])
    >>> parts
    {'tests/docs/test_a.py': Part(tests={'tests/docs/test_a.py::test_x'}, seconds=2.0)}
    """
    found: defaultdict[str, Part] = defaultdict(Part)
    for test, seconds in phases:
        part = found[part_of(test)]
        part.tests.add(test)
        part.seconds += seconds
    return dict(sorted(found.items(), key=lambda item: -item[1].seconds))
