"""A run is its lines: interleaved, resumed after a kill, told apart from other runs, drawn again from them alone."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from penstock.errors import ArgumentError
from penstock.lab import (
    RECIPES,
    Progress,
    conclude,
    find_recipe,
    is_unfinished,
    load_lines,
    load_run,
    run_page,
    run_recipe,
    with_settings,
)
from penstock.lab.lines import FILE_NAME
from penstock.lab.recipe import DataFacts
from penstock.lab.recipes.codecs import Codecs
from penstock.lab.recipes.dropin import DropIn
from penstock.synth import Scenes, write

DATA = DataFacts(num_samples=6, source_bytes=6000, codec="png", num_classes=2, num_mask_classes=0)
TINY = Codecs(formats=("png", "jpeg:q=50"), images=2, seeds=2, repeats=1)


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lab") / "images"
    write(folder, images=6, scenes=Scenes(width=48, height=32, classes=2))
    return folder


@pytest.fixture(scope="module")
def finished(images: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("lab") / "run"
    run_recipe(TINY, images, out)
    return out


def test_a_killed_run_goes_on_with_the_next_cell(images: Path, finished: Path, tmp_path: Path) -> None:
    told: list[str] = []

    def stop_at_third(stage: str, done: int, total: int) -> None:
        told.append(stage)
        if len(told) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_recipe(TINY, images, tmp_path, Progress(stop_at_third))
    with (tmp_path / FILE_NAME).open("ab") as file:
        file.write(b'{"key": "half a li')
    assert len(load_lines(tmp_path)) == 2
    assert is_unfinished(tmp_path)

    lines = run_recipe(TINY, images, tmp_path)

    assert not is_unfinished(tmp_path)

    assert [line.key for line in lines] == [line.key for line in load_lines(finished)]
    assert load_lines(tmp_path) == lines


def test_a_line_says_what_it_depends_on(finished: Path) -> None:
    line = load_lines(finished)[0]
    assert {"commit", "cpu", "cores", "date", "penstock", "versions"} <= line.circumstances.keys()
    assert (line.recipe, line.limits, line.seed) == ("codecs", "none", 0)


def test_lines_become_a_table(finished: Path) -> None:
    table = pq.read_table(finished / "lines.parquet").to_pylist()
    assert [row["set.format"] for row in table] == ["png", "jpeg:q=50", "jpeg:q=50", "png"]
    assert all(row["encoded_bytes"] > 0 for row in table)


def test_another_run_in_the_same_folder_is_refused(images: Path, finished: Path) -> None:
    with pytest.raises(ArgumentError, match="differs in settings"):
        run_recipe(with_settings(TINY, ["seeds=3"]), images, finished)


def test_a_setting_that_came_later_does_not_end_a_run(images: Path, finished: Path, tmp_path: Path) -> None:
    out = tmp_path / "older"
    out.mkdir()
    told = json.loads((finished / "run.json").read_text())
    del told["settings"]["weights"]
    (out / "run.json").write_text(json.dumps(told))
    (out / FILE_NAME).write_bytes((finished / FILE_NAME).read_bytes())
    assert run_recipe(TINY, images, out) == load_lines(finished)


def test_mixed_precision_is_in_the_cell_only_if_asked_for() -> None:
    def told(*settings: str) -> object:
        return with_settings(DropIn(), settings).cells(DATA, [])[-1].settings.get("amp")

    assert (told(), told("amp=yes"), told("amp=no")) == (None, True, False)
    with pytest.raises(ArgumentError, match="'maybe' is no choice"):
        told("amp=maybe")


def test_the_page_is_drawn_from_lines_alone(finished: Path) -> None:
    recipe, data, lines = load_run(finished)
    page = run_page(recipe, data, lines).decode()
    assert recipe == TINY
    assert page.count("<svg") == 1
    assert json.dumps(lines[0].as_dict())[:40].replace('"', "&#34;") in page


def test_what_is_not_installed_is_left_out_and_said(images: Path, tmp_path: Path) -> None:
    recipe = with_settings(TINY, ["formats=png,compressai:mbt2018:q=3", "seeds=1"])
    lines = run_recipe(recipe, images, tmp_path)
    assert "compressai is not installed" in lines[1].left_out
    assert "Left out: compressai:mbt2018:q=3: compressai is not installed" in run_page(recipe, "images", lines).decode()


@pytest.mark.parametrize("name", sorted(RECIPES))
def test_a_run_that_was_hardly_begun_says_so(name: str, tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"0 cells measured are too few(.|\n)*call `penstock lab run` again"):
        conclude(find_recipe(name), [], tmp_path)


def test_a_run_that_was_killed_early_says_so(tmp_path: Path) -> None:
    line = load_lines(Path("docs/results/dropin"))[0]
    with pytest.raises(ArgumentError, match="1 cell measured are too few"):
        conclude(find_recipe("dropin"), [line], tmp_path)


def test_a_run_whose_cells_were_all_left_out_says_why(images: Path, tmp_path: Path) -> None:
    recipe = with_settings(TINY, ["formats=compressai:mbt2018:q=3", "seeds=1"])
    lines = run_recipe(recipe, images, tmp_path)
    with pytest.raises(ArgumentError, match=r"0 cells measured .* because compressai is not installed"):
        conclude(recipe, lines, tmp_path)


def test_data_that_is_not_there_leaves_no_folder(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for name, message in (("missing", "no such folder"), ("empty", "no images")):
        with pytest.raises(ArgumentError, match=message):
            run_recipe(TINY, tmp_path / name, tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_says_what_it_asks_and_repeats(name: str) -> None:
    recipe = find_recipe(name)
    assert recipe.question
    assert recipe.published
    assert recipe.__doc__


def test_settings_are_read_by_their_type() -> None:
    changed = with_settings(Codecs(), ["images=7", "formats=raw,png"])
    assert (changed.images, changed.formats) == (7, ("raw", "png"))
    with pytest.raises(ArgumentError, match="'colour=red' sets nothing"):
        with_settings(Codecs(), ["colour=red"])
    with pytest.raises(ArgumentError, match="'many' is no int"):
        with_settings(Codecs(), ["images=many"])
