"""Every kind of source tells the same things of the same images."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.build import Role, open_source
from penstock.errors import ArgumentError


def write(root: Path, *names: str) -> Path:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * len(name))
    return root


def test_a_folder_is_a_source_of_files(tmp_path: Path) -> None:
    source = open_source(write(tmp_path, "train/dog/b.png", "train/cat/a.png", "test/c.png"))

    listing = source.listing()

    assert listing.roles == {"image": Role.IMAGE}
    assert listing.classes == ("cat", "dog")
    assert listing.keys.to_pylist() == ["test/c.png", "train/cat/a.png", "train/dog/b.png"]
    assert listing.splits is not None
    assert listing.splits.to_pylist() == ["test", "train", "train"]
    assert listing.columns["label"].to_pylist() == [None, 0, 1]
    places = listing.images["image"]
    assert [Path(listing.files[file].decode()).read_bytes() for file in places.file] == [
        b"x" * length for length in places.length
    ]


def test_a_changed_file_changes_the_state_of_its_source(tmp_path: Path) -> None:
    before = open_source(write(tmp_path, "a.png")).state()
    (tmp_path / "a.png").write_bytes(b"other")

    assert open_source(tmp_path).state() != before


def test_an_unknown_kind_says_which_there_are(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="no kind of source 'tape'") as caught:
        open_source(tmp_path, "tape")

    assert "folder" in caught.value.fix


def test_files_that_are_no_images_are_counted_by_ending(tmp_path: Path) -> None:
    listing = open_source(write(tmp_path, "a.png", "notes.txt", "b/list.csv", "b/c.TXT", "LICENSE")).listing()

    assert dict(listing.left_out) == {".csv": 1, ".txt": 2, "without an ending": 1}
