"""Whole datasets: the right files, the same bytes however they were made, and nothing left after a failure."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import penstock
from penstock import ArgumentError, StorageError
from penstock.synth import Scenes, render, render_mask, write

SMALL = Scenes(width=48, height=32, classes=3)


def content_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_files_hold_the_rendered_pixels_under_their_class(tmp_path: Path) -> None:
    done = write(tmp_path / "out", images=7, scenes=SMALL)

    found = content_of(tmp_path / "out")
    assert sorted(found) == sorted(f"class{index % 3:03}/{index:06}.png" for index in range(7))
    for name, data in found.items():
        np.testing.assert_array_equal(penstock.decode(data), render(int(name[9:15]), SMALL))
    assert (done.num_images, done.num_classes, str(done.format)) == (7, 3, "png")
    assert done.num_bytes == sum(map(len, found.values()))


def test_masks_stand_beside_the_images(tmp_path: Path) -> None:
    done = write(tmp_path, images=4, scenes=SMALL, format="jpeg:q=85", masks=True)

    found = content_of(tmp_path)
    names = [f"class{index % 3:03}/{index:06}" for index in range(4)]
    assert sorted(found) == sorted([f"images/{name}.jpg" for name in names] + [f"masks/{name}.png" for name in names])
    assert penstock.inspect(found["images/class000/000000.jpg"]).codec == "jpeg"
    np.testing.assert_array_equal(penstock.decode(found["masks/class001/000001.png"]), render_mask(1, SMALL))
    assert done.num_bytes == sum(map(len, found.values()))


@pytest.mark.parametrize("format", ["png", "jpeg:q=85", "raw"])
def test_bytes_do_not_depend_on_threads_or_runs(tmp_path: Path, format: str) -> None:
    for name, threads in (("a", 1), ("b", 1), ("c", 4)):
        write(tmp_path / name, images=24, scenes=SMALL, format=format, masks=True, threads=threads)

    assert content_of(tmp_path / "a") == content_of(tmp_path / "b") == content_of(tmp_path / "c")


def test_a_longer_set_begins_with_the_shorter_one(tmp_path: Path) -> None:
    write(tmp_path / "short", images=5, scenes=SMALL)
    write(tmp_path / "long", images=9, scenes=SMALL)

    assert content_of(tmp_path / "short").items() <= content_of(tmp_path / "long").items()


def test_sixteen_bits_come_back_exactly(tmp_path: Path) -> None:
    scenes = Scenes(width=40, height=30, bits=16)
    write(tmp_path, images=1, scenes=scenes)

    np.testing.assert_array_equal(penstock.decode((tmp_path / "class000/000000.png").read_bytes()), render(0, scenes))


def test_progress_counts_up(tmp_path: Path) -> None:
    seen: list[tuple[str, int, int]] = []

    write(tmp_path, images=60, on_progress=lambda *report: seen.append(report))

    assert seen
    assert [done for _, done, _ in seen] == sorted(done for _, done, _ in seen)
    assert {(stage, total) for stage, _, total in seen} == {("writing", 60)}


def test_a_folder_in_use_is_refused(tmp_path: Path) -> None:
    write(tmp_path, images=2, scenes=SMALL)
    before = content_of(tmp_path)

    with pytest.raises(StorageError, match="not empty") as caught:
        write(tmp_path, images=1, scenes=SMALL)

    assert "--force" in caught.value.fix
    assert content_of(tmp_path) == before


def test_force_replaces_an_earlier_set_whatever_its_layout(tmp_path: Path) -> None:
    write(tmp_path / "out", images=9, scenes=SMALL, masks=True)
    (tmp_path / "out" / "images" / "class000" / ".penstock-1-1.part").touch()  # as a killed run leaves
    write(tmp_path / "out", images=2, scenes=SMALL, force=True)
    write(tmp_path / "fresh", images=2, scenes=SMALL)

    assert content_of(tmp_path / "out") == content_of(tmp_path / "fresh")


@pytest.mark.parametrize(
    "foreign", ["notes.txt", "class000/notes.txt", "class000/deep/000000.png", "photos/000000.png", "images/a.png"]
)
def test_force_touches_nothing_that_synth_did_not_write(tmp_path: Path, foreign: str) -> None:
    write(tmp_path, images=2, scenes=SMALL)
    (tmp_path / foreign).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / foreign).write_bytes(b"mine")
    before = content_of(tmp_path)

    with pytest.raises(StorageError, match="not written by synth"):
        write(tmp_path, images=1, scenes=SMALL, force=True)

    assert content_of(tmp_path) == before


def test_a_link_out_of_the_folder_is_foreign(tmp_path: Path) -> None:
    write(tmp_path / "elsewhere", images=1, scenes=SMALL)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "class000").symlink_to(tmp_path / "elsewhere" / "class000")

    with pytest.raises(StorageError, match="not written by synth"):
        write(tmp_path / "out", images=1, scenes=SMALL, force=True)

    assert len(content_of(tmp_path / "elsewhere")) == 1


def test_a_file_in_the_way_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out").write_bytes(b"mine")

    for force in (False, True):
        with pytest.raises(StorageError, match="is a file"):
            write(tmp_path / "out", images=1, scenes=SMALL, force=force)


@pytest.mark.parametrize("existed", [False, True])
def test_an_interrupt_removes_what_was_written(tmp_path: Path, existed: bool) -> None:
    out = tmp_path / "out"
    if existed:
        out.mkdir()

    with pytest.raises(KeyboardInterrupt):
        write(out, images=10_000, masks=True, on_progress=lambda *_: os.kill(os.getpid(), signal.SIGINT))

    assert out.exists() == existed
    assert content_of(tmp_path) == {}


def test_a_full_disk_removes_what_was_written(tmp_path: Path) -> None:
    limited = (
        "import resource, sys, penstock, penstock.synth\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (9000, 9000))\n"
        "scenes = penstock.synth.Scenes(width=128, height=128)\n"
        "try: penstock.synth.write(sys.argv[1], images=50, scenes=scenes)\n"
        "except penstock.StorageError as error: print(error.errno, error.where)\n"
    )
    command = [sys.executable, "-c", limited, str(tmp_path / "out")]

    answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()

    assert int(answer[0]) == errno.EFBIG
    assert answer[1].startswith(str(tmp_path / "out" / "class"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("format", "bits", "match"),
    [("jpeg", 16, "cannot hold 16-bit grey"), ("bmp", 8, "cannot write 'bmp'"), ("tiff", 8, "cannot write 'tiff'")],
)
def test_formats_that_cannot_be_written_are_refused_at_once(tmp_path: Path, format: str, bits: int, match: str) -> None:
    with pytest.raises(ArgumentError, match=match):
        write(tmp_path / "out", images=1, scenes=Scenes(width=8, height=8, bits=bits), format=format)

    assert list(tmp_path.iterdir()) == []


def test_nothing_to_write_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="nothing to write"):
        write(tmp_path / "out", images=0)


def test_more_threads_than_a_pool_takes_are_refused_before_anything_is_made(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="threads"):
        write(tmp_path / "out", images=1, threads=5000)

    assert list(tmp_path.iterdir()) == []
