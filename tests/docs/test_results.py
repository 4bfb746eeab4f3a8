"""Pages of docs/results are what `lab report` draws from the lines beside them."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.lab import RECIPES, load_run, run_page

RESULTS = Path(__file__).parents[2] / "docs" / "results"
REDRAW = "draw it again: python -m bench.lab --redraw --only"


@pytest.mark.parametrize("name", RECIPES)
def test_a_published_page_is_drawn_from_its_lines(name: str) -> None:
    recipe, data, lines = load_run(RESULTS / name)
    assert (RESULTS / name / "report.html").read_bytes() == run_page(recipe, data, lines), f"{REDRAW} {name}"
    assert (RESULTS / name / "figure-1.png").exists(), f"{REDRAW} {name}"


@pytest.mark.parametrize("name", RECIPES)
def test_what_is_published_was_measured_three_times(name: str) -> None:
    recipe, _, lines = load_run(RESULTS / name)
    assert recipe.seeds >= 3
    assert {0, 1, 2} <= {line.seed for line in lines}
