"""Labels of every sort as folders: names, numbers, none at all."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import penstock
from penstock.build import build
from penstock.export import export
from penstock.records import open_dataset
from tests.unit.export.layouts import assert_same

IMAGE = penstock.encode(np.zeros((8, 8, 3), np.uint8), "png")


def exported(tmp_path: Path, rows: list[dict[str, object]]) -> list[str]:
    """Files of an export of these rows, which the export must give back."""
    (tmp_path / "1.png").write_bytes(IMAGE)
    (tmp_path / "list.jsonl").write_text("\n".join(json.dumps({"path": "1.png", **row}) for row in rows))
    build(tmp_path / "list.jsonl", tmp_path / "one.pen", mix="raw=1")
    export(tmp_path / "one.pen", tmp_path / "back")
    build(tmp_path / "back", tmp_path / "two.pen", mix="raw=1")
    assert_same(open_dataset(tmp_path / "one.pen"), open_dataset(tmp_path / "two.pen"))
    return sorted(str(path.relative_to(tmp_path / "back")) for path in (tmp_path / "back").rglob("*.png"))


@pytest.mark.parametrize(
    ("labels", "folders"),
    [
        (["cat", "dog", None], ["cat/a.png", "dog/b.png", "c.png"]),
        ([3, 12, None], ["03/a.png", "12/b.png", "c.png"]),
        ([0.5, 1, 2], ["a.png", "b.png", "c.png"]),
        ([[1, 2], [], [3]], ["a.png", "b.png", "c.png"]),
        (["a/b", "a_b", ".."], ["_../c.png", "a_b-1/b.png", "a_b/a.png"]),
        (["tench, Tinca", "ö", " "], [" /c.png", "tench, Tinca/a.png", "ö/b.png"]),
    ],
)
def test_labels_are_folders_where_they_name_a_class(tmp_path: Path, labels: list[object], folders: list[str]) -> None:
    rows: list[dict[str, object]] = [{"key": key, "label": label} for key, label in zip("abc", labels, strict=True)]

    assert exported(tmp_path, rows) == sorted(folders)


def test_a_split_of_any_name_comes_back(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [{"key": "a", "split": "fold/1"}, {"key": "b", "split": "holdout"}, {"key": "c"}]

    assert exported(tmp_path, rows) == ["c.png", "fold_1/a.png", "holdout/b.png"]


def test_columns_of_every_type_come_back(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {"key": "a", "n": 1, "x": 0.5, "t": 'é\n"', "b": True, "boxes": [[1, 2.5], []], "tags": ["u", "v"]},
        {"key": "b", "n": -(2**62), "x": 1e300, "t": "", "b": False, "boxes": [], "tags": []},
        {"key": "c"},
    ]

    exported(tmp_path, rows)
