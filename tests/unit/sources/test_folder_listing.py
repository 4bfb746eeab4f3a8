"""Keys, splits and classes of a plain folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from penstock.errors import StorageError
from penstock.sources.folder_listing import list_folder


def touch(root: Path, *names: str) -> Path:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * (len(name)))
    return root


def test_sub_folders_are_classes_numbered_by_their_sorted_names(tmp_path: Path) -> None:
    listing = list_folder(touch(tmp_path, "dog/b.jpg", "cat/z.PNG", "cat/deep/a.jpeg", "bird/readme.txt"))

    assert listing.keys == ["cat/deep/a.jpeg", "cat/z.PNG", "dog/b.jpg"]
    assert listing.classes == ("bird", "cat", "dog")
    assert listing.labels.tolist() == [1, 1, 2]
    assert listing.sizes.tolist() == [len(key) for key in listing.keys]
    assert listing.left_out == {".txt": 1}
    assert listing.splits == [None, None, None]


def test_train_val_and_test_are_splits_not_classes(tmp_path: Path) -> None:
    listing = list_folder(touch(tmp_path, "train/cat/1.png", "train/dog/2.png", "val/dog/3.png", "test/4.png"))

    assert listing.classes == ("cat", "dog")
    assert dict(zip(listing.keys, listing.splits, strict=True))["val/dog/3.png"] == "val"
    assert dict(zip(listing.keys, listing.labels.tolist(), strict=True)) == {
        "test/4.png": -1,
        "train/cat/1.png": 0,
        "train/dog/2.png": 1,
        "val/dog/3.png": 1,
    }


def test_one_folder_that_is_no_split_makes_all_of_them_classes(tmp_path: Path) -> None:
    listing = list_folder(touch(tmp_path, "train/1.png", "plane/2.png"))

    assert listing.classes == ("plane", "train")
    assert listing.splits == [None, None]


def test_a_flat_folder_has_no_classes(tmp_path: Path) -> None:
    listing = list_folder(touch(tmp_path, "b.png", "a.png", ".hidden.png", ".git/c.png"))

    assert listing.keys == ["a.png", "b.png"]
    assert listing.classes == ()


def test_keys_are_sorted_by_code_point_as_their_bytes_are(tmp_path: Path) -> None:
    listing = list_folder(touch(tmp_path, "a/b.png", "a.png", "a-b.png", "ä.png", "Z.png", "\U0001f600.png"))

    assert listing.keys == sorted(listing.keys, key=str.encode)


def test_links_are_followed_and_never_for_ever(tmp_path: Path) -> None:
    touch(tmp_path, "real/1.png")
    root = touch(tmp_path / "root", "cat/2.png")
    (root / "dog").symlink_to(tmp_path / "real")
    (root / "cat" / "again").symlink_to(root)
    (root / "cat" / "link.png").symlink_to(tmp_path / "real" / "1.png")

    listing = list_folder(root)

    assert listing.keys == ["cat/2.png", "cat/link.png", "dog/1.png"]


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda root: touch(root, "notes.txt"), "holds no image"),
        (lambda root: (root / "gone.png").symlink_to(root / "nowhere.png"), "could not look at the file"),
        (lambda root: Path(os.fsdecode(os.fsencode(root) + b"/\xff.png")).write_bytes(b"x"), "not UTF-8"),
    ],
)
def test_what_cannot_be_listed_is_named(tmp_path: Path, make: object, what: str) -> None:
    assert callable(make)
    make(tmp_path)

    with pytest.raises(StorageError, match=what) as caught:
        list_folder(tmp_path)

    assert caught.value.where
    assert caught.value.fix


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="could not list"):
        list_folder(tmp_path / "nowhere")


@pytest.mark.parametrize("name", ["leftImg8bit", "gtFine", "JPEGImages"])
def test_folders_of_well_known_datasets_are_never_classes(tmp_path: Path, name: str) -> None:
    touch(tmp_path, f"{name}/train/aachen/1.png", "other/2.png")

    with pytest.raises(StorageError, match=f"'{name}' is a folder of .*, not a class"):
        list_folder(tmp_path)


def test_a_sparse_file_of_a_terabyte_is_left_out(tmp_path: Path) -> None:
    touch(tmp_path, "1.png", "huge.png")
    os.truncate(tmp_path / "huge.png", 1 << 40)

    listing = list_folder(tmp_path)

    assert listing.keys == ["1.png"]
    assert listing.left_out == {".png of more than 4.0 GiB": 1}


def test_links_that_branch_are_refused(tmp_path: Path) -> None:
    branch(tmp_path, 16)

    with pytest.raises(StorageError, match="links lead to one folder in more than 64 ways"):
        list_folder(tmp_path / "d0")


def branch(root: Path, depth: int) -> None:
    """Folders with two links each to the next: 2^depth paths to one file."""
    for number in range(depth):
        (root / f"d{number}").mkdir()
        if number:
            for name in ("a", "b"):
                (root / f"d{number - 1}" / name).symlink_to(root / f"d{number}")
    touch(root, f"d{depth - 1}/x.png")
