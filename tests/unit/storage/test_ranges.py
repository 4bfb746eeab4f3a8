"""Ranges of files, and what is no file."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from penstock import StorageError
from penstock.storage import InputFile


def test_a_range_is_read_up_to_the_end_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(bytes(range(100)))

    with InputFile(path) as file:
        assert file.size == 100
        assert file.read_at(10, 5) == bytes(range(10, 15))
        assert file.read_at(98, 5) == bytes([98, 99])
        assert file.read_at(100, 5) == b""


def test_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(StorageError, match="is not a regular file"):
        InputFile(tmp_path / "pipe")


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="could not open the file") as caught:
        InputFile(tmp_path / "missing")

    assert (caught.value.where, caught.value.errno) == (str(tmp_path / "missing"), errno.ENOENT)
