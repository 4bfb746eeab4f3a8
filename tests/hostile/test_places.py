"""Places on disk that somebody else prepared: planted links, pipes and devices for files, folders that others own."""

from __future__ import annotations

import fcntl
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import penstock
from penstock.build import build
from penstock.errors import ArgumentError, DatasetError, PenstockError, StorageError
from penstock.export import export
from penstock.records import verify
from penstock.storage import AppendFile, locked, read_file
from tests.dataset_files import files_of, make_photos

NOBODY = 65534
MIX = "raw=1"

pytestmark = pytest.mark.timeout(60)


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_photos(tmp_path_factory.mktemp("source") / "photos", images=6)


@pytest.fixture
def dataset(photos: Path, tmp_path: Path) -> Path:
    build(photos, tmp_path / "data.pen", mix=MIX)
    return tmp_path / "data.pen"


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A folder of a user, which nothing here may touch."""
    folder = tmp_path / "home"
    (folder / "thesis").mkdir(parents=True)
    (folder / "thesis" / "a.tex").write_text("years of work")
    (folder / "key").write_text("x")
    return folder


def test_an_export_does_not_empty_the_folder_that_a_planted_link_leads_to(dataset: Path, victim: Path) -> None:
    before = files_of(victim)
    planted = dataset.parent / ".back.penstock-part"
    planted.symlink_to(victim)

    with pytest.raises(StorageError, match="a link is in the way") as caught:
        export(dataset, dataset.parent / "back")

    assert files_of(victim) == before
    assert caught.value.where == str(planted)
    assert caught.value.fix
    assert not (dataset.parent / "back").exists()


def test_an_export_does_not_follow_links_in_what_a_killed_one_left(dataset: Path, victim: Path) -> None:
    before = files_of(victim)
    hidden = dataset.parent / ".back.penstock-part"
    hidden.mkdir()
    (hidden / "class000").symlink_to(victim)

    export(dataset, dataset.parent / "back")

    assert files_of(victim) == before
    assert not (dataset.parent / "back" / "class000").is_symlink()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a folder that another user owns")
def test_an_export_does_not_write_into_a_folder_of_another_user(dataset: Path) -> None:
    hidden = dataset.parent / ".back.penstock-part"
    hidden.mkdir(mode=0o777)
    os.chown(hidden, NOBODY, NOBODY)

    with pytest.raises(StorageError, match="a folder of another user"):
        export(dataset, dataset.parent / "back")
    assert list(hidden.iterdir()) == []


def test_an_export_is_closed_to_others_until_it_is_whole(dataset: Path) -> None:
    out = dataset.parent / "back"
    seen = []

    def look(stage: str, done: int, total: int) -> None:
        seen.append((dataset.parent / ".back.penstock-part").stat().st_mode & 0o777)

    export(dataset, out, on_progress=look)

    assert set(seen) == {0o700}
    (dataset.parent / "plain").mkdir()
    assert out.stat().st_mode == (dataset.parent / "plain").stat().st_mode


@pytest.mark.parametrize("inside", ["x", "shards/x", "x/y"])
def test_an_export_into_its_own_dataset_is_refused(dataset: Path, inside: str) -> None:
    before = files_of(dataset)

    with pytest.raises(ArgumentError, match="inside the dataset"):
        export(dataset, dataset / inside)
    (dataset.parent / "link").symlink_to(dataset)
    with pytest.raises(ArgumentError, match="inside the dataset"):
        export(dataset, dataset.parent / "link" / inside)

    assert files_of(dataset) == before
    assert sorted(path.name for path in dataset.iterdir()) == ["index.parquet", "manifest.json", "shards"]


@pytest.mark.parametrize("name", ["manifest.json", "index.parquet", "shards", ".build"])
@pytest.mark.parametrize("force", [False, True])
def test_a_build_does_not_write_through_a_planted_link(
    photos: Path, victim: Path, tmp_path: Path, name: str, force: bool
) -> None:
    before = files_of(victim)
    out = tmp_path / "data.pen"
    out.mkdir()
    (out / name).symlink_to(victim if name in ("shards", ".build") else victim / "key")

    with pytest.raises(DatasetError, match=f"'{name}' is a link"):
        build(photos, out, mix=MIX, force=force)
    assert files_of(victim) == before


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_a_work_file_is_a_new_file_whatever_has_its_name(
    victim: Path, tmp_path: Path, link: Callable[[Path, Path], None]
) -> None:
    link(victim / "key", tmp_path / "file.part")

    with AppendFile(tmp_path / "file.part") as file:
        file.append(b"mine")
        file.publish(tmp_path / "file")

    assert (victim / "key").read_text() == "x"
    assert read_file(tmp_path / "file") == b"mine"
    assert not (tmp_path / "file").is_symlink()


def test_a_lock_is_not_made_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "lock").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(StorageError), locked(tmp_path / "lock"):
        pass
    assert not (tmp_path / "elsewhere").exists()


def test_a_lock_whose_last_holder_removes_it_meanwhile_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def flock(descriptor: int, operation: int) -> None:
        if not removed:  # between our open and our lock
            removed.append(True)
            (tmp_path / "lock").unlink()
        real(descriptor, operation)

    removed: list[bool] = []
    real = fcntl.flock
    monkeypatch.setattr(fcntl, "flock", flock)

    with locked(tmp_path / "lock"):
        with pytest.raises(StorageError, match="another process"), locked(tmp_path / "lock"):
            pass
        assert (tmp_path / "lock").exists()


def replace_by_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def replace_by_zeros(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


def replace_by_hole(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 34)


@pytest.mark.parametrize("replace", [replace_by_pipe, replace_by_zeros, replace_by_hole])
@pytest.mark.parametrize("name", ["manifest.json", "index.parquet", "shards/raw-00000.shard"])
def test_a_pipe_a_device_or_a_hole_in_a_dataset_is_an_error_at_once(
    dataset: Path, name: str, replace: Callable[[Path], None]
) -> None:
    replace(dataset / name)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    with pytest.raises(PenstockError) as caught:
        penstock.open(dataset)[0]
    assert caught.value.what
    assert caught.value.where
    assert caught.value.fix
    if name.startswith("shards"):
        assert {problem.file for problem in verify(dataset).problems} == {name}
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 512 << 10


def test_a_loader_does_not_wait_for_a_pipe_in_place_of_a_shard(dataset: Path) -> None:
    replace_by_pipe(dataset / "shards" / "raw-00000.shard")

    with pytest.raises(PenstockError, match="a pipe or a device"):
        list(penstock.Loader(dataset, batch_size=2))


def test_a_pipe_beside_images_is_not_waited_for(photos: Path, tmp_path: Path) -> None:
    shutil.copytree(photos, tmp_path / "photos")
    os.mkfifo(tmp_path / "photos" / "classes.txt")
    assert build(tmp_path / "photos", tmp_path / "data.pen", mix=MIX).manifest.num_samples == 6

    os.mkfifo(tmp_path / "photos" / "metadata.csv")
    with pytest.raises(PenstockError):
        build(tmp_path / "photos", tmp_path / "other.pen", mix=MIX)


def test_a_plan_that_is_a_pipe_is_given_up_at_an_interrupt(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    code = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from penstock.storage import read_input\n"
        "try: print('reading', flush=True); read_input(sys.argv[1])\n"
        "except KeyboardInterrupt: print('interrupted', flush=True)"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "pipe")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as reader:
        assert reader.stdout is not None
        assert reader.stdout.readline() == "reading\n"
        try:
            while reader.poll() is None:  # until it is in open(), which nothing tells from outside
                reader.send_signal(signal.SIGINT)
                try:
                    reader.wait(0.1)
                except subprocess.TimeoutExpired:
                    continue
            assert reader.stdout.read() == "interrupted\n"
        finally:
            reader.kill()
