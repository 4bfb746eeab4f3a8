"""`penstock lab`: listed, run, killed and run again, reported; and what it says when something is wrong."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from penstock.lab import RECIPES
from penstock.synth import Scenes, write

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Call

TINY = ("--set", "images=2", "--set", "seeds=2", "--set", "repeats=1", "--set", "formats=png,jpeg:q=50,raw")

KILLED = """
import os, signal, sys
from pathlib import Path
from penstock.lab import Progress, find_recipe, run_recipe, with_settings

def kill(stage, done, total):
    if done == 3:
        os.kill(os.getpid(), signal.SIGKILL)

settings = [word for word in sys.argv[3:] if word != "--set"]
run_recipe(with_settings(find_recipe("codecs"), settings), Path(sys.argv[1]), Path(sys.argv[2]), Progress(kill))
"""


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lab") / "photos"
    write(folder, images=6, scenes=Scenes(width=48, height=32, classes=2))
    return folder


def test_all_recipes_are_listed_with_their_settings(cli: Call) -> None:
    answer = cli("lab", "list", "--json")
    listed = answer.json["recipes"]
    assert isinstance(listed, list)
    assert [recipe["name"] for recipe in listed] == list(RECIPES)
    assert all(recipe["settings"].keys() == recipe["meanings"].keys() for recipe in listed)


def test_a_recipe_tells_what_can_be_set_and_what_it_means(cli: Call) -> None:
    answer = cli("lab", "list", "codecs")
    assert answer.status == 0
    assert "An interpreter that has CompressAI." in answer.stdout


def test_a_kill_costs_the_cell_under_way_alone(cli: Call, photos: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    done = subprocess.run([sys.executable, "-c", KILLED, str(photos), str(out), *TINY], check=False)
    assert done.returncode == -9
    before = (out / "lines.jsonl").read_bytes()
    assert before.count(b"\n") == 3

    half = cli("lab", "report", out)
    assert half.status == 0
    assert "Not finished, cells are missing." in half.stdout
    assert "this run is not finished, 3 cells done" in half.stderr

    whole = cli("lab", "run", "codecs", "--data", photos, "--out", out, *TINY)
    assert whole.status == 0
    after = (out / "lines.jsonl").read_bytes()
    assert after.startswith(before)
    assert after.count(b"\n") == 6
    assert pq.read_table(out / "lines.parquet").num_rows == 6
    assert cli("lab", "report", out).stderr == ""
    assert "Not finished" not in (out / "report.html").read_text(encoding="utf-8")


def test_several_runs_are_reported_at_once(cli: Call, photos: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        cli("lab", "run", "codecs", "--data", photos, "--out", tmp_path / name, *TINY)
        (tmp_path / name / "report.html").unlink()
    answer = cli("lab", "report", tmp_path / "a", tmp_path / "b", "--json")
    runs = answer.json["runs"]
    assert isinstance(runs, list)
    assert [(run["num_lines"], run["is_finished"], Path(run["page"]).exists()) for run in runs] == [(6, True, True)] * 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run", "alchemy"), "there is no recipe 'alchemy'"),
        (("run", "codecs", "--set", "format=png"), "did you mean formats?"),
        (("run", "codecs", "--set", "images=many"), "'many' is not a whole number"),
        (("run", "codecs", "--set", "images"), "'images' sets nothing"),
        (("run", "codecs", "--data", "nowhere"), "there is no such folder"),
    ],
)
def test_wrong_words_are_refused_and_leave_nothing(
    words: tuple[str, ...], said: str, cli: Call, photos: Path, tmp_path: Path
) -> None:
    data = () if "--data" in words else ("--data", photos)
    answer = cli("lab", *words, *data, "--out", tmp_path / "run")
    assert answer.status == 2
    assert said in answer.stderr
    assert not (tmp_path / "run" / "lines.jsonl").exists()


def test_what_is_no_run_is_refused(cli: Call, photos: Path, tmp_path: Path) -> None:
    assert "this is not a folder of a run" in cli("lab", "report", tmp_path).stderr
    out = tmp_path / "run"
    cli("lab", "run", "codecs", "--data", photos, "--out", out, *TINY)
    lines = out / "lines.jsonl"
    lines.write_bytes(b"garbage\n" + lines.read_bytes())
    answer = cli("lab", "report", out)
    assert answer.status == 2
    assert f"line 1 of {lines}" in answer.stderr
    lines.write_bytes(b"")
    assert "measured nothing yet" in cli("lab", "report", out).stderr


def test_a_misspelled_folder_of_data_leaves_nothing_behind(cli: Call, tmp_path: Path) -> None:
    answer = cli("lab", "run", "codecs", "--data", tmp_path / "missing", "--out", tmp_path / "run")
    assert answer.status == 2
    assert not (tmp_path / "run").exists()
