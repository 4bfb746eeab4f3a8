"""`penstock lab`, as a user types it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from penstock.lab import Progress, run_recipe
from penstock.lab.recipes.codecs import Codecs
from tests.dataset_files import make_photos

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Call

TINY = Codecs(formats=("png", "raw"), images=2, seeds=1, repeats=1)


def test_the_report_of_an_interrupted_run_says_so(cli: Call, tmp_path: Path) -> None:
    photos = make_photos(tmp_path / "photos", images=4)

    def stop_at_second(stage: str, done: int, total: int) -> None:
        if done == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_recipe(TINY, photos, tmp_path / "run", Progress(stop_at_second))
    answer = cli("lab", "report", tmp_path / "run")
    assert answer.status == 0
    assert "this run is not finished, 1 cell done" in answer.stderr

    run_recipe(TINY, photos, tmp_path / "run")
    assert cli("lab", "report", tmp_path / "run").stderr == ""


def test_a_misspelled_folder_of_data_leaves_nothing_behind(cli: Call, tmp_path: Path) -> None:
    answer = cli("lab", "run", "codecs", "--data", tmp_path / "missing", "--out", tmp_path / "run")
    assert answer.status == 2
    assert not (tmp_path / "run").exists()
