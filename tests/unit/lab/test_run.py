"""A run is its lines: interleaved, resumed after a kill, told apart from other runs, drawn again from them alone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from penstock.errors import ArgumentError
from penstock.lab import (
    RECIPES,
    Findings,
    Line,
    Progress,
    find_recipe,
    findings_of,
    is_finished,
    load_lines,
    load_run,
    run_page,
    run_recipe,
    with_settings,
)
from penstock.lab.lines import FILE_NAME
from penstock.lab.recipes.codecs_recipe import Codecs
from penstock.lab.recipes.contract import DataFacts
from penstock.lab.recipes.dropin import DropIn
from penstock.synth import Scenes, write
from tests.unit.lab.test_reversals import Machine, lines_on

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
    assert not is_finished(tmp_path)

    lines = run_recipe(TINY, images, tmp_path)

    assert is_finished(tmp_path)
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


@pytest.mark.parametrize(
    ("name", "setting", "said"),
    [
        ("dropin", "amp=maybe", "amp is 'maybe'"),
        ("dropin", "crop=round", "crop is 'round'"),
        ("dropin", "target=colour", "target is 'colour'"),
        ("dropin", "seeds=0", "seeds is '0'"),
        ("dropin", "epochs=0", "epochs is '0'"),
        ("dropin", "memory=lots", "memory is 'lots'"),
        ("dropin", "target=mask", "the data has no masks"),
        ("train", "loaders=penstock,carrier pigeon", "loaders is 'penstock,carrier pigeon'"),
        ("fidelity", "scans=", "scans is ''"),
        ("mix", "pairs=png", "pairs is 'png'"),
        ("codecs", "formats=", "formats is ''"),
        ("codecs", "images=-3", "images is '-3'"),
        ("codecs", "formats=png,gif", "there is no codec 'gif'"),
        ("codecs", "formats=png,avif:q=x", "'q=x' is not a quality of avif"),
        ("codecs", "formats=png,compressai:x", "this is not a learned codec"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_measured(
    name: str, setting: str, said: str, images: Path, tmp_path: Path
) -> None:
    with pytest.raises(ArgumentError, match=said):
        run_recipe(with_settings(find_recipe(name), [setting]), images, tmp_path)
    assert load_lines(tmp_path) == []
    run_recipe(TINY, images, tmp_path)  # and the folder can be had for another


class TestUnfinished:
    """A page of a run that was killed, or of which cells could not be measured, says so."""

    def test_without_a_line_there_is_no_page(self) -> None:
        with pytest.raises(ArgumentError, match="measured nothing yet"):
            findings_of(TINY, [])

    @pytest.mark.parametrize("name", RECIPES)
    def test_a_run_whose_cells_were_all_left_out_says_why(self, name: str) -> None:
        recipe = find_recipe(name)
        lines = [replace(line, measures={}, left_out="it rains") for line in lines_on(Machine(disk=5e6), recipe)]
        answer = findings_of(recipe, lines).answer
        assert answer.startswith("Too little for an answer: 0 cells measured")
        assert "it rains" in answer

    def test_cells_that_are_missing_are_said_to_be(self, finished: Path) -> None:
        lines = load_lines(finished)
        assert is_finished(finished)
        assert findings_of(TINY, lines[:1], is_finished=False).answer.startswith("Not finished, cells are missing. png")

    @pytest.mark.parametrize("name", RECIPES)
    @pytest.mark.parametrize("count", [1, 2, 5])
    def test_every_recipe_has_a_page_of_its_first_lines(self, name: str, count: int) -> None:
        recipe = find_recipe(name)
        lines = lines_on(Machine(disk=5e6), recipe)[:count]
        assert "Not finished" in run_page(recipe, "paper", lines, is_finished=False).decode()

    @pytest.mark.parametrize("name", RECIPES)
    def test_every_recipe_has_a_page_where_limits_cannot_be_held(self, name: str) -> None:
        recipe = find_recipe(name)
        lines = [
            replace(line, measures={}, left_out="no control group holds its limits here")
            if line.limits != "none"
            else line
            for line in lines_on(Machine(disk=5e6), recipe)
        ]
        page = run_page(recipe, "paper", lines).decode()
        assert ("no control group" in page) == any(line.left_out for line in lines)

    def test_a_mistake_of_ours_is_not_taken_for_a_missing_cell(self, finished: Path) -> None:
        class Broken(Codecs):
            def findings(self, lines: Sequence[Line]) -> Findings:
                raise KeyError("x")

        with pytest.raises(KeyError):
            findings_of(Broken(), load_lines(finished))

    def test_a_kill_leaves_it_unfinished_and_the_next_call_ends_it(self, images: Path, tmp_path: Path) -> None:
        def stop(stage: str, done: int, total: int) -> None:
            if done == 2:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            run_recipe(TINY, images, tmp_path, Progress(stop))
        assert not is_finished(tmp_path)
        run_recipe(TINY, images, tmp_path)
        assert is_finished(tmp_path)


def test_settings_are_read_by_their_type() -> None:
    changed = with_settings(Codecs(), ["images=7", "formats=raw,png"])
    assert (changed.images, changed.formats) == (7, ("raw", "png"))
    with pytest.raises(ArgumentError, match="'colour=red' sets nothing"):
        with_settings(Codecs(), ["colour=red"])
    with pytest.raises(ArgumentError, match="did you mean images"):
        with_settings(Codecs(), ["image=3"])
    with pytest.raises(ArgumentError, match="'many' is not a whole number"):
        with_settings(Codecs(), ["images=many"])
