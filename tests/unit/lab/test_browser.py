"""A run's page in a real browser: figures are there, nothing complains, and a picture is kept."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from penstock.lab import run_page
from penstock.lab.recipes.mix import Mix
from penstock.lab.recipes.orthogonal import Orthogonal
from penstock.lab.recipes.train_recipe import Train
from penstock.report import Page, Section, Table, render
from scripts.browser import BrowserMissingError, Look, find_browser, look_at, shoot_figures
from tests.unit.lab.test_reversals import Machine, lines_on

pytestmark = pytest.mark.long

PICTURES = Path(__file__).parents[3] / "build" / "pictures"
PNG = b"\x89PNG"


@pytest.fixture(scope="module", autouse=True)
def _needs_browser() -> None:
    try:
        find_browser()
    except BrowserMissingError as missing:
        if os.environ.get("CI") == "true":
            pytest.fail(str(missing))
        pytest.skip(str(missing))


def seen(tmp_path: Path, name: str, *, is_dark: bool = False) -> Look:
    """The page of a run on paper, as the browser has it; its picture is kept in build/pictures."""
    recipe = {
        "mix": Mix(pairs=("png+raw",), disk="120MB/s", rivals=()),
        "orthogonal": Orthogonal(),
        "train": Train(loaders=("synthetic", "penstock", "penstock@raw"), models=("alexnet",)),
    }[name]
    page = tmp_path / f"{name}.html"
    page.write_bytes(run_page(recipe, "paper", lines_on(Machine(disk=1.2e8), recipe)))
    look = look_at(page, is_dark=is_dark)
    PICTURES.mkdir(parents=True, exist_ok=True)
    (PICTURES / f"{name}{'-dark' * is_dark}.png").write_bytes(look.screenshot)
    return look


@pytest.mark.parametrize(("name", "figures"), [("mix", 1), ("orthogonal", 1), ("train", 2)])
def test_a_page_shows_its_figures_and_does_not_complain(name: str, figures: int, tmp_path: Path) -> None:
    look = seen(tmp_path, name)
    assert look.console == []
    assert look.dom.count("<svg") == figures
    assert look.screenshot.startswith(PNG)


def test_marks_tell_their_values_under_the_pointer(tmp_path: Path) -> None:
    dom = seen(tmp_path, "orthogonal").dom
    assert 'data-tip="both, images/s: ' in dom
    assert "<title>both" not in dom  # the script has taken them over


def test_a_page_follows_dark(tmp_path: Path) -> None:
    assert seen(tmp_path, "orthogonal").screenshot != seen(tmp_path, "orthogonal", is_dark=True).screenshot


def test_a_table_sorts_sizes_by_what_they_are(tmp_path: Path) -> None:
    sizes = ("390.0 KiB", "1.2 MiB", "", "900 B", "1.0 GiB")
    table = Table(("name", "bytes"), tuple((f"row {number}", size) for number, size in enumerate(sizes)))
    page = tmp_path / "page.html"
    click = "<script>document.querySelectorAll('th')[1].click()</script></body>"
    page.write_text(render(Page("t", "s", [Section("a", table=table)])).decode().replace("</body>", click))
    look = look_at(page)
    assert look.console == []
    assert re.findall(r"<td>([^<]*)</td></tr>", look.dom) == ["", "900 B", "390.0 KiB", "1.2 MiB", "1.0 GiB"]


def test_every_figure_has_a_preview(tmp_path: Path) -> None:
    seen(tmp_path, "train")
    shots = shoot_figures(tmp_path / "train.html")
    assert [shot[:4] for shot in shots] == [PNG, PNG]


def test_a_script_that_fails_would_be_noticed(tmp_path: Path) -> None:
    page = tmp_path / "broken.html"
    page.write_text("<p>x</p><script>missing.call()</script>")
    assert any("missing is not defined" in line for line in look_at(page).console)
