"""Which source a path is."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from penstock.build import open_source
from penstock.errors import ArgumentError, SourceError, StorageError
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
        # What torchvision's ImageNet leaves beside its folders.
        (["devkit.tar.gz", "train.tar", *(f"train/n0144/{n}.JPEG" for n in range(4))], "", "folder"),
        (["preview.png", "a-0000.tar", "a-0001.tar"], "", "webdataset"),
        (["images/1.jpg", "annotations/1.png", "annotations/info.json"], "", "masks"),
        (["manifest.jsonl", "images/1.jpg", "labels/1.txt"], "", "manifest"),
        (["cat/1.jpg", "labels/2.jpg", "labels/notes.txt"], "", "folder"),
    ],
)
def test_names_tell_the_kind_of_source(tmp_path: Path, names: list[str], path: str, kind: str) -> None:
    for name in names:
        touch(tmp_path / name)

    assert open_source(tmp_path / path).kind == kind


@pytest.mark.parametrize(
    ("names", "what"),
    [
        (["annotations/instances_train2017.json", "train2017/1.jpg"], "COCO"),
        (["annotations/instances_val2017.json", "images/val2017/1.jpg"], "COCO"),
        (["annotations/boxes.json", "images/1.jpg"], "COCO"),
        (["train/_annotations.coco.json", "train/1.jpg"], "COCO"),
        (["JPEGImages/1.jpg", "Annotations/1.xml", "ImageSets/Main/train.txt"], "Pascal VOC"),
        (["VOCdevkit/VOC2012/JPEGImages/1.jpg", "VOCdevkit/VOC2012/Annotations/1.xml"], "Pascal VOC"),
        (["VOC2007/JPEGImages/1.jpg", "VOC2007/Annotations/1.xml"], "Pascal VOC"),
        (["images/1.jpg", "labels/1.txt"], "YOLO"),
        (["images/train/1.jpg", "labels/train/1.txt", "data.yaml"], "YOLO"),
        (["data.yaml", "train/images/1.jpg", "train/labels/1.txt", "valid/images/2.jpg", "valid/labels/2.txt"], "YOLO"),
    ],
)
def test_annotations_that_cannot_be_read_yet_are_refused_by_name(tmp_path: Path, names: list[str], what: str) -> None:
    for name in names:
        touch(tmp_path / name)

    with pytest.raises(SourceError, match=f"this is a {what} dataset") as caught:
        open_source(tmp_path)

    assert "manifest" in caught.value.fix
    assert open_source(tmp_path, "folder").kind == "folder"


def test_a_manifest_is_seen_in_a_folder_of_many_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["penstock.sources.probe"], "MAX_ENTRIES", 3)
    for name in ("metadata.csv", *(f"{number}.jpg" for number in range(40))):
        touch(tmp_path / name)

    assert open_source(tmp_path).kind == "manifest"


def test_a_kind_can_be_forced(tmp_path: Path) -> None:
    touch(tmp_path / "a.tar")

    assert open_source(tmp_path, "folder").kind == "folder"


def test_a_misspelled_kind_is_answered_with_the_one_meant(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="no kind of source 'webdatset'") as caught:
        open_source(tmp_path, "webdatset")

    assert caught.value.fix.startswith("did you mean 'webdataset'?")


def test_a_file_of_no_kind_says_what_was_looked_for(tmp_path: Path) -> None:
    touch(tmp_path / "a.zip")

    with pytest.raises(ArgumentError, match="is not a source of a known kind") as caught:
        open_source(tmp_path / "a.zip")

    assert all(kind in caught.value.fix for kind in LOOKED_FOR)


def test_a_missing_path_is_told(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="No such file") as caught:
        open_source(tmp_path / "missing")

    assert caught.value.where == str(tmp_path / "missing")


def test_every_kind_says_what_it_looks_for() -> None:
    assert [source.kind for source in SOURCES] == list(LOOKED_FOR)
