"""`penstock export` as it is typed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from penstock.build import build
from tests.unit.export.layouts import LAYOUTS

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Call


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    build(LAYOUTS["folder"](tmp_path / "source"), tmp_path / "one.pen", mix="raw=1")
    return tmp_path / "one.pen"


def test_export_says_what_it_wrote(shell: Call, dataset: Path, tmp_path: Path) -> None:
    answer = shell("export", dataset, tmp_path / "back")

    assert answer.status == 0
    assert answer.stderr == ""
    assert f"{tmp_path / 'back'}: 6 samples, 6 images, 6 of them encoded anew, " in answer.stdout
    assert len(list((tmp_path / "back").rglob("*.png"))) == 6


def test_json_tells_everything_once(cli: Call, dataset: Path, tmp_path: Path) -> None:
    answer = cli("export", dataset, tmp_path / "back", "--as", "webdataset", "--shard-samples", "2", "--json")

    assert answer.status == 0
    assert {name: answer.json[name] for name in ("layout", "num_samples", "num_encoded", "dropped_metadata")} == {
        "layout": "webdataset",
        "num_samples": 6,
        "num_encoded": 6,
        "dropped_metadata": {},
    }
    assert sorted(path.name for path in (tmp_path / "back").iterdir()) == [
        "classes.txt",
        "train-000000.tar",
        "train-000001.tar",
        "val-000000.tar",
        "val-000001.tar",
    ]


@pytest.mark.parametrize(
    ("words", "status", "what"),
    [
        (("--as", "zip"), 2, "there is no layout 'zip'"),
        (("--image-format", "ping"), 2, "did you mean 'png'?"),
        (("--split", "holdout"), 2, "there is no split 'holdout'"),
    ],
)
def test_wrong_words_are_answered(
    cli: Call, dataset: Path, tmp_path: Path, words: tuple[str, ...], status: int, what: str
) -> None:
    answer = cli("export", dataset, tmp_path / "back", *words)

    assert answer.status == status
    assert what in answer.stderr


def test_what_is_no_dataset_is_told(cli: Call, tmp_path: Path) -> None:
    answer = cli("export", tmp_path, tmp_path / "back")

    assert answer.status == 1
    assert "there is no dataset here" in answer.stderr
