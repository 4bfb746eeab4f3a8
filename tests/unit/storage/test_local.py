"""Whole files: read, published, and refused with an error that helps."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock import ArgumentError, StorageError
from penstock.storage import make_folders, read_file, read_input, write_file

NOBODY = 65534


@pytest.fixture
def unprivileged() -> Iterator[Path]:
    """A folder in which we may read and not write, even if the tests run as root."""
    # Not `tmp_path`: the folders above it are closed to anybody else, and what is asked is about this one.
    folder = Path(tempfile.mkdtemp())
    (folder / "old").write_bytes(b"old")
    folder.chmod(0o555)
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(NOBODY)
    yield folder
    if is_root:
        os.seteuid(0)
    folder.chmod(0o755)
    shutil.rmtree(folder)


def names_in(folder: Path) -> set[str]:
    return {entry.name for entry in folder.iterdir()}


@pytest.mark.parametrize("size", [0, 1, 4096, 65536, 300_001])
def test_what_was_written_is_read(tmp_path: Path, size: int) -> None:
    data = os.urandom(size)

    write_file(tmp_path / "file", data)

    assert read_file(tmp_path / "file") == data
    assert names_in(tmp_path) == {"file"}


def test_durable_write_is_read(tmp_path: Path) -> None:
    write_file(tmp_path / "file", b"kept", durable=True)

    assert read_file(tmp_path / "file") == b"kept"


def test_replacing_keeps_the_mode_and_readers_of_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(0o640)
    with path.open("rb") as reader:
        write_file(path, b"new")

        assert reader.read() == b"old"
    assert read_file(path) == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_new_file_obeys_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_file(tmp_path / "file", b"")
    finally:
        os.umask(before)

    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640


def test_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("real")

    write_file(tmp_path / "link", b"new")

    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"


def test_device_is_written_in_place_not_replaced() -> None:
    write_file("/dev/null", b"gone")

    assert Path("/dev/null").is_char_device()
    assert read_input("/dev/null") == b""


def test_pipe_is_read_to_its_end(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    data = os.urandom(200_000)
    writer = threading.Thread(target=lambda: pipe.write_bytes(data))
    writer.start()

    assert read_input(pipe) == data
    writer.join()


def test_name_that_is_not_utf8_works_and_is_shown(tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9")
    write_file(tmp_path / name, b"x")
    assert read_file(tmp_path / name) == b"x"

    with pytest.raises(StorageError) as caught:
        read_file(tmp_path / name / "below")
    assert "caf\\xe9" in caught.value.where


def test_missing_file_says_which(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="could not open for reading") as caught:
        read_file(tmp_path / "absent")

    assert caught.value.where == str(tmp_path / "absent")
    assert caught.value.errno == errno.ENOENT
    assert "spelled" in caught.value.fix
    assert caught.value.code == 400


def test_missing_folder_is_not_created_by_a_write(tmp_path: Path) -> None:
    with pytest.raises(StorageError) as caught:
        write_file(tmp_path / "absent" / "file", b"x")

    assert caught.value.errno == errno.ENOENT
    assert names_in(tmp_path) == set()


def test_folder_is_neither_read_nor_overwritten(tmp_path: Path) -> None:
    for attempt in (lambda: read_file(tmp_path), lambda: write_file(tmp_path, b"x")):
        with pytest.raises(StorageError) as caught:
            attempt()
        assert caught.value.errno == errno.EISDIR
        assert "not a folder" in caught.value.fix


def test_full_disk_says_so() -> None:
    with pytest.raises(StorageError, match="No space left") as caught:
        write_file("/dev/full", b"x")

    assert caught.value.errno == errno.ENOSPC
    assert "free space" in caught.value.fix


def test_write_that_fails_half_way_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old")
    limited = (
        "import resource, sys, penstock.storage\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (10000, 10000))\n"
        "try: penstock.storage.write_file(sys.argv[1], bytes(100000))\n"
        "except penstock.StorageError as error: print(error.errno)\n"
    )
    command = [sys.executable, "-c", limited, str(tmp_path / "file")]

    answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert int(answer) == errno.EFBIG
    assert names_in(tmp_path) == {"file"}
    assert (tmp_path / "file").read_bytes() == b"old"


def test_forbidden_folder_says_so_and_keeps_the_old_file(unprivileged: Path) -> None:
    with pytest.raises(StorageError, match="Permission denied") as caught:
        write_file(unprivileged / "old", b"new")

    assert caught.value.where == str(unprivileged / "old")
    assert "permission" in caught.value.fix
    assert names_in(unprivileged) == {"old"}
    assert read_file(unprivileged / "old") == b"old"


def test_folders_are_made_once_and_for_all(tmp_path: Path) -> None:
    make_folders(tmp_path / "a" / "b")
    make_folders(tmp_path / "a" / "b")

    assert (tmp_path / "a" / "b").is_dir()


def test_folder_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(StorageError) as caught:
            make_folders(path)
        assert "where a folder is needed" in caught.value.fix


@pytest.mark.parametrize("path", ["", "a\0b"])
def test_impossible_names_are_refused(path: str) -> None:
    for attempt in (lambda: read_file(path), lambda: write_file(path, b""), lambda: make_folders(path)):
        with pytest.raises(ArgumentError):
            attempt()


def test_writers_of_one_path_never_mix(tmp_path: Path) -> None:
    path = tmp_path / "file"
    contents = [bytes([value]) * 50_000 for value in range(4)]

    def write(content: bytes) -> None:
        for _ in range(20):
            write_file(path, content)
            assert read_file(path) in contents

    threads = [threading.Thread(target=write, args=(content,)) for content in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert read_file(path) in contents
    assert names_in(tmp_path) == {"file"}
