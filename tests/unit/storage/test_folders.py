"""Files of a folder: which, in which order, and what is said where there is none."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from penstock import StorageError
from penstock.storage import find_files


def test_files_are_found_in_sorted_order_without_hidden_ones(tmp_path: Path) -> None:
    for name in ("b/2", "b/1", "a/9", ".hidden/x", "b/.secret", "c"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"")

    assert [str(path.relative_to(tmp_path)) for path in find_files(tmp_path)] == ["a/9", "b/1", "b/2", "c"]


def test_a_missing_folder_is_told(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="No such file or directory") as caught:
        find_files(tmp_path / "missing")

    assert caught.value.where == str(tmp_path / "missing")
    assert caught.value.errno == errno.ENOENT
