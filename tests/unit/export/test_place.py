"""Where an export goes: nowhere if it fails, and over nothing that is there."""

from __future__ import annotations

import errno
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.build import build
from penstock.errors import ArgumentError, CodecError, StorageError
from penstock.export import ExportOptions, export
from tests.unit.export.layouts import LAYOUTS


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    build(LAYOUTS["folder"](tmp_path / "source"), tmp_path / "one.pen", mix="png=1")
    return tmp_path / "one.pen"


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name not in ("source", "one.pen"))


def test_a_folder_that_is_not_empty_is_refused(dataset: Path, tmp_path: Path) -> None:
    (tmp_path / "back").mkdir()
    (tmp_path / "back" / "mine.txt").write_text("precious")

    with pytest.raises(StorageError, match="exists already"):
        export(dataset, tmp_path / "back")

    assert (tmp_path / "back" / "mine.txt").read_text() == "precious"


def test_an_empty_folder_is_filled(dataset: Path, tmp_path: Path) -> None:
    (tmp_path / "back").mkdir()

    export(dataset, tmp_path / "back")

    assert left(tmp_path / "back") == ["classes.txt", "manifest.jsonl", "train", "val"]


@pytest.mark.parametrize("layout", ["folder", "webdataset"])
def test_a_damaged_shard_is_named_and_leaves_nothing(dataset: Path, tmp_path: Path, layout: str) -> None:
    shard = next((dataset / "shards").iterdir())
    damaged = bytearray(shard.read_bytes())
    damaged[200] ^= 1
    shard.write_bytes(damaged)

    with pytest.raises(CodecError, match="do not match their checksum") as caught:
        export(dataset, tmp_path / "back", options=ExportOptions(layout=layout))

    assert str(shard) in caught.value.where
    assert left(tmp_path) == []


def test_an_interrupt_leaves_nothing(dataset: Path, tmp_path: Path) -> None:
    def interrupt(stage: str, done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export(dataset, tmp_path / "back", on_progress=interrupt)

    assert left(tmp_path) == []


def test_what_a_killed_export_left_is_thrown_away(dataset: Path, tmp_path: Path) -> None:
    hidden = tmp_path / ".back.penstock-part"
    (hidden / "old").mkdir(parents=True)
    (hidden / "old" / "1.png").write_bytes(b"half")

    export(dataset, tmp_path / "back")

    assert not (tmp_path / "back" / "old").exists()
    assert left(tmp_path) == ["back"]


def test_a_running_export_is_not_disturbed(dataset: Path, tmp_path: Path) -> None:
    code = (
        "import sys, pathlib; from penstock.storage.new_folder import new_folder\n"
        "with new_folder(pathlib.Path(sys.argv[1]), expected_bytes=0) as folder:\n"
        "    print(folder, flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "back")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        other.stdout.readline()
        with pytest.raises(StorageError, match="another process is writing"):
            export(dataset, tmp_path / "back")
        assert (tmp_path / ".back.penstock-part").is_dir()
        other.stdin.close()


def test_a_disk_too_small_is_refused_before_anything_is_written(
    dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = type("Usage", (), {"free": 100})
    monkeypatch.setattr("shutil.disk_usage", lambda folder: usage)

    with pytest.raises(StorageError, match="bytes or more are needed, and 100 are free"):
        export(dataset, tmp_path / "back")

    assert left(tmp_path) == []


def test_a_full_disk_is_told_and_leaves_nothing(dataset: Path, tmp_path: Path) -> None:
    code = (
        "import resource, sys; from penstock.export import export\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "try: export(sys.argv[1], sys.argv[2])\n"
        "except OSError as error: print(error.errno)"
    )
    command = [sys.executable, "-c", code, str(dataset), str(tmp_path / "back")]
    done = subprocess.run(command, check=True, capture_output=True, text=True)

    assert done.stdout.strip() == str(errno.EFBIG)
    assert left(tmp_path) == []


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (ExportOptions(layout="zip"), "no layout 'zip'"),
        (ExportOptions(image_format="tiff"), "cannot write 'tiff'"),
        (ExportOptions(image_format="gif"), "no codec 'gif'"),
        (ExportOptions(split="holdout"), "no split 'holdout'"),
        (ExportOptions(shard_samples=0), "a tar of 0 samples"),
    ],
)
def test_wrong_options_are_refused(dataset: Path, tmp_path: Path, options: ExportOptions, what: str) -> None:
    with pytest.raises(ArgumentError, match=what):
        export(dataset, tmp_path / "back", options=options)

    assert left(tmp_path) == []


def test_the_dataset_is_not_written_to(dataset: Path, tmp_path: Path) -> None:
    def stamps() -> dict[str, int]:
        return {str(path): path.stat().st_mtime_ns for path in (dataset, *dataset.rglob("*"))}

    before = stamps()
    export(dataset, tmp_path / "back")

    assert stamps() == before
