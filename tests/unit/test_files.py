"""Whole files: read, publish, find."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from penstock.errors import StorageError
from penstock.files import find_files, publish_bytes, read_bytes


def test_what_is_published_is_read(tmp_path: Path) -> None:
    publish_bytes(tmp_path / "a", b"content")

    assert read_bytes(tmp_path / "a") == b"content"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_published_file_has_ordinary_permissions(tmp_path: Path) -> None:
    (tmp_path / "plain").write_bytes(b"")
    (tmp_path / "secret").write_bytes(b"")
    (tmp_path / "secret").chmod(0o600)

    publish_bytes(tmp_path / "new", b"x")
    publish_bytes(tmp_path / "secret", b"x")

    assert (tmp_path / "new").stat().st_mode == (tmp_path / "plain").stat().st_mode
    assert (tmp_path / "secret").stat().st_mode & 0o777 == 0o600


def test_a_failed_publication_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    (tmp_path / "a").write_bytes(b"old")
    monkeypatch.setattr(os, "fsync", full)

    with pytest.raises(StorageError, match="no space left on device") as raised:
        publish_bytes(tmp_path / "a", b"new")

    assert raised.value.where == str(tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize("name", ["missing", ".", "file/below"])
def test_what_cannot_be_read_is_told(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_bytes(b"")

    with pytest.raises(StorageError) as raised:
        read_bytes(tmp_path / name)

    assert raised.value.where
    assert raised.value.fix


def test_files_are_found_in_sorted_order_without_hidden_ones(tmp_path: Path) -> None:
    for name in ("b/2", "b/1", "a/9", ".hidden/x", "b/.secret", "c"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"")

    assert [str(path.relative_to(tmp_path)) for path in find_files(tmp_path)] == ["a/9", "b/1", "b/2", "c"]


def test_a_missing_folder_is_told(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="no such file or directory"):
        find_files(tmp_path / "missing")
