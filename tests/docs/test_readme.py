"""README's table says what recorded lines say, under the conditions that they were recorded with."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scripts import readme_table
from scripts.docs import PART

README = Path(__file__).parents[2] / "README.md"
Change = Callable[[dict[str, Any]], None]


@pytest.fixture
def change_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Change], None]:
    """Recorded lines as if something else had been measured."""
    folder = tmp_path / "results"
    shutil.copytree(readme_table.RESULTS, folder)
    monkeypatch.setattr(readme_table, "RESULTS", folder)

    def change(file: str, how: Change) -> None:
        lines = readme_table.recorded(file)
        for line in lines:
            how(dict_of(line))
        (folder / f"{file}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))

    return change


def dict_of(line: readme_table.Recorded) -> dict[str, Any]:
    assert isinstance(line, dict)
    return line


def test_another_measurement_gives_another_table(change_lines: Callable[[str, Change], None]) -> None:
    before = readme_table.readme_table()

    def slower(line: dict[str, Any]) -> None:
        if line.get("contender") == "penstock, JPEG folder, exact":
            line["images_per_second"] /= 2

    change_lines("loader", slower)
    assert "2,511 images/s: 2.6×; 2.7×; 3.2× faster" in before
    assert "1,256 images/s: 1.3×; 1.3×; 1.6× faster" in readme_table.readme_table()


def test_conditions_are_those_of_the_lines(change_lines: Callable[[str, Change], None]) -> None:
    def other(line: dict[str, Any]) -> None:
        line |= {"cpu": "Abacus", "count": 7, "rounds": 3, "foreign_cores": 0.11}

    change_lines("jpeg", other)
    assert "| 7 ImageNet JPEGs; 3 rounds; other load 0.11 cores; Abacus (" in readme_table.readme_table()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"foreign_cores": 0.47}, r"other programs used 0\.47 cores"),
        ({"foreign_cores": None}, "other programs used an unknown number of cores"),
    ],
)
def test_what_was_timed_beside_other_work_is_refused(
    change_lines: Callable[[str, Change], None], changed: dict[str, float | None], said: str
) -> None:
    def load(line: dict[str, Any]) -> None:
        line |= changed
        if line["foreign_cores"] is None:
            del line["foreign_cores"]

    change_lines("weir", load)
    with pytest.raises(ValueError, match=said):
        readme_table.readme_table()


@pytest.mark.parametrize("member", ["cpu", "commit"])
def test_contenders_of_different_sessions_are_not_compared(
    change_lines: Callable[[str, Change], None], member: str
) -> None:
    def elsewhere(line: dict[str, Any]) -> None:
        if line.get("contender") == "DALI, CPU":
            line[member] = "another"

    change_lines("loader", elsewhere)
    with pytest.raises(ValueError, match=r"compares lines of .*another"):
        readme_table.readme_table()


def test_a_row_without_a_line_is_refused(change_lines: Callable[[str, Change], None]) -> None:
    change_lines("png", lambda line: line.update(contender="somebody"))
    with pytest.raises(ValueError, match=r"png\.jsonl has no line with"):
        readme_table.readme_table()


def test_no_figure_of_speed_stands_outside_of_the_table() -> None:
    prose = PART.sub("", README.read_text(encoding="utf-8"))
    assert re.findall(r"\d[\d.,]*\s?(?:×(?!\d)|x\b|times\b|images/s)", prose) == []
