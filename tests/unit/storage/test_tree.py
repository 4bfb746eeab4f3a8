"""What is under a folder: links, hidden names, order, and what cannot be listed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from penstock import StorageError
from penstock.storage import list_tree


def touch(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(b"")


def test_files_are_sorted_by_code_point_whatever_the_file_system_says(tmp_path: Path) -> None:
    touch(tmp_path, "b/2", "B/1", "a-b/1", "a/9", "é/1", "z", "a/10")

    assert list_tree(tmp_path).files == ["B/1", "a-b/1", "a/10", "a/9", "b/2", "z", "é/1"]


def test_hidden_names_are_left_out_and_empty_folders_are_kept(tmp_path: Path) -> None:
    touch(tmp_path, ".git/x", "a/.secret", "a/1")
    (tmp_path / "empty" / "inner").mkdir(parents=True)

    tree = list_tree(tmp_path)

    assert tree.files == ["a/1"]
    assert tree.folders == ["a", "empty", "empty/inner"]


def test_links_to_files_and_folders_are_followed(tmp_path: Path) -> None:
    touch(tmp_path, "elsewhere/1", "elsewhere/2")
    root = tmp_path / "root"
    root.mkdir()
    (root / "cats").symlink_to(tmp_path / "elsewhere")
    (root / "also").symlink_to(tmp_path / "elsewhere")
    (root / "one").symlink_to(tmp_path / "elsewhere" / "1")

    assert list_tree(root).files == ["also/1", "also/2", "cats/1", "cats/2", "one"]


def test_a_link_that_leads_back_is_not_entered_again(tmp_path: Path) -> None:
    touch(tmp_path, "a/b/1")
    (tmp_path / "a" / "b" / "back").symlink_to(tmp_path / "a")
    (tmp_path / "a" / "self").symlink_to(".")

    assert list_tree(tmp_path).files == ["a/b/1"]


def test_links_that_branch_are_refused(tmp_path: Path) -> None:
    for number in range(16):
        (tmp_path / f"d{number}").mkdir()
        for name in ("a", "b"):
            (tmp_path / f"d{number}" / name).symlink_to(tmp_path / f"d{number + 1}")
    touch(tmp_path, "d16/x")

    with pytest.raises(StorageError, match="links lead to one folder in more than 64 ways"):
        list_tree(tmp_path / "d0")


def test_folders_nested_1500_deep_are_listed(tmp_path: Path) -> None:
    place = os.open(tmp_path, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("a", dir_fd=place)
        place, above = os.open("a", os.O_RDONLY, dir_fd=place), place
        os.close(above)
    os.close(os.open("x", os.O_CREAT, dir_fd=place))
    os.close(place)

    assert list_tree(tmp_path).files == ["a/" * 1500 + "x"]
    subprocess.run(["rm", "-rf", str(tmp_path / "a")], check=True)  # pytest's own cleaning recurses


def test_a_link_that_leads_nowhere_is_told(tmp_path: Path) -> None:
    (tmp_path / "1.png").symlink_to("missing.png")

    with pytest.raises(StorageError, match="could not follow the link") as caught:
        list_tree(tmp_path)

    assert caught.value.where == str(tmp_path / "1.png")


def test_a_name_that_is_not_utf8_is_told(tmp_path: Path) -> None:
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.png")).write_bytes(b"")

    with pytest.raises(StorageError, match="not UTF-8") as caught:
        list_tree(tmp_path)

    assert caught.value.where.endswith("caf\\xe9.png")


def test_pipes_are_left_out(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.png")

    assert list_tree(tmp_path).files == []


def test_a_missing_folder_is_told(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="could not list the folder: No such file"):
        list_tree(tmp_path / "missing")


def test_a_folder_that_may_not_be_listed_is_told(tmp_path: Path, unprivileged: Sequence[str]) -> None:
    (tmp_path / "closed").mkdir(mode=0)
    listing = "import sys; from penstock.storage import list_tree; list_tree(sys.argv[1])"

    done = subprocess.run(
        [*unprivileged, sys.executable, "-c", listing, str(tmp_path)], capture_output=True, text=True, check=False
    )

    assert done.returncode != 0
    assert f"{tmp_path / 'closed'}" in done.stderr
    assert "Permission denied" in done.stderr
