"""Which source a path is."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.build import open_source
from penstock.errors import ArgumentError, StorageError
from penstock.sources import LOOKED_FOR, SOURCES


def touch(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"")


@pytest.mark.parametrize(
    ("names", "path", "kind"),
    [
        (["cat/1.jpg"], "", "folder"),
        (["manifest.json", "index.parquet", "shards/raw-00000.shard"], "", "dataset"),
        (["1.jpg", "notes.csv"], "", "folder"),
        (["images/1.jpg", "cats/1.png"], "", "folder"),
        (["images/1.jpg", "masks/1.png"], "", "masks"),
        ([], "", "folder"),
        (["leftImg8bit/train/x/x.png", "gtFine/train/x/x.png"], "", "cityscapes"),
        (["a-0000.tar", "a-0001.tar"], "", "webdataset"),
        (["train/a-0000.tar"], "", "webdataset"),
        (["a.tar.gz"], "", "webdataset"),
        (["a.tar"], "a.tar", "webdataset"),
        (["data/train-00000-of-00001.parquet", "README.md"], "", "parquet"),
        (["x.parquet"], "x.parquet", "parquet"),
        (["x.csv"], "x.csv", "manifest"),
        (["X.JSONL"], "X.JSONL", "manifest"),
        (["manifest.jsonl", "cat/1.jpg"], "", "manifest"),
        (["metadata.csv", "1.jpg"], "", "manifest"),
    ],
)
def test_names_tell_the_kind_of_source(tmp_path: Path, names: list[str], path: str, kind: str) -> None:
    for name in names:
        touch(tmp_path / name)

    assert open_source(tmp_path / path).kind == kind


def test_a_kind_can_be_forced(tmp_path: Path) -> None:
    touch(tmp_path / "a.tar")

    assert open_source(tmp_path, "folder").kind == "folder"


def test_a_misspelled_kind_is_answered_with_the_one_meant(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="no kind of source 'webdatset'") as caught:
        open_source(tmp_path, "webdatset")

    assert caught.value.fix.startswith("did you mean 'webdataset'?")


def test_a_file_of_no_kind_says_what_was_looked_for(tmp_path: Path) -> None:
    touch(tmp_path / "a.zip")

    with pytest.raises(ArgumentError, match="is no source of a known kind") as caught:
        open_source(tmp_path / "a.zip")

    assert all(kind in caught.value.fix for kind in LOOKED_FOR)


def test_a_missing_path_is_told(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="No such file") as caught:
        open_source(tmp_path / "missing")

    assert caught.value.where == str(tmp_path / "missing")


def test_every_kind_says_what_it_looks_for() -> None:
    assert [source.kind for source in SOURCES] == list(LOOKED_FOR)
