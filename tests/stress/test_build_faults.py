"""Builds that are killed, and disks that run full: the result is the same, or there is none."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import penstock
from penstock.build import BuildOptions, build, prepare
from penstock.errors import DatasetError, StorageError
from penstock.records import verify
from tests.dataset_files import files_of, finished_samples, make_photos, start_build, wait, wait_for

MIX = "weir:dense=0.4,png:level=9=0.3,webp:lossless=0.3"
SHARD_BYTES = 300_000
OPTIONS = BuildOptions(shard_bytes=SHARD_BYTES)


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_photos(tmp_path_factory.mktemp("source") / "photos", images=120, width=160, height=120)


@pytest.fixture(scope="module")
def straight(photos: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    out = tmp_path_factory.mktemp("straight") / "data.pen"
    build(photos, out, mix=MIX, options=OPTIONS)
    return files_of(out)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_thirty_kills_each_resumed_to_the_same_bytes(photos: Path, straight: dict[str, bytes], tmp_path: Path) -> None:
    rng = random.Random(7)
    num_killed = 0
    for attempt in range(60):
        out = tmp_path / f"{attempt}.pen"
        arguments = [str(photos), str(out), "--mix", MIX, "--shard-size", str(SHARD_BYTES)]
        process = start_build(*arguments)
        wait_for(out / ".build" / "recipe.json", process)
        if wait(process, rng.uniform(0, 1.0)):
            process.communicate()
            assert files_of(out) == straight
            continue
        process.kill()
        process.communicate()
        num_killed += 1
        done = finished_samples(out) if (out / ".build").is_dir() else 0
        if not (out / "manifest.json").is_file():
            with pytest.raises(DatasetError):
                penstock.open(out)
            assert build(photos, out, mix=MIX, options=OPTIONS).num_converted == 120 - done
        build(photos, out, mix=MIX, options=OPTIONS)
        assert files_of(out) == straight, f"attempt {attempt}"
        if num_killed == 30:
            return
    pytest.fail(f"only {num_killed} of 60 builds could be killed")


@pytest.mark.long
def test_a_build_killed_again_and_again_arrives(photos: Path, straight: dict[str, bytes], tmp_path: Path) -> None:
    out = tmp_path / "data.pen"
    arguments = [str(photos), str(out), "--mix", MIX, "--shard-size", str(SHARD_BYTES)]
    rng = random.Random(3)
    for _ in range(8):
        process = start_build(*arguments)
        wait_for(out / ".build" / "recipe.json", process)
        if not wait(process, rng.uniform(0.1, 0.6)):
            process.kill()
        process.communicate()
    process = start_build(*arguments)
    _, errors = process.communicate()

    assert process.returncode == 0, errors
    assert files_of(out) == straight


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of four megabytes."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(disk)], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip(f"only root can make a small disk: {mounted.stderr.decode().strip()}")
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


@pytest.mark.long
def test_a_full_disk_leaves_what_goes_on_after_space_is_made(photos: Path, small_disk: Path, tmp_path: Path) -> None:
    mix, options = "webp:lossless=1", BuildOptions(shard_bytes=100_000)
    build(photos, tmp_path / "straight.pen", mix=mix, options=options)
    preparation = prepare(photos, small_disk / "data.pen", mix=mix, options=options)
    assert preparation.estimate.missing_bytes == 0
    ballast = small_disk / "ballast"
    ballast.write_bytes(os.urandom(3 << 20))

    with pytest.raises(StorageError) as caught:
        preparation.run()
    assert caught.value.errno == 28
    assert finished_samples(small_disk / "data.pen") > 0
    with pytest.raises(DatasetError, match="not finished"):
        penstock.open(small_disk / "data.pen")
    ballast.unlink()
    build(photos, small_disk / "data.pen", mix=mix, options=options)

    assert files_of(small_disk / "data.pen") == files_of(tmp_path / "straight.pen")
    assert verify(small_disk / "data.pen").problems == ()


@pytest.mark.long
def test_a_folder_that_may_not_be_written_is_named(photos: Path, tmp_path: Path, unprivileged: Sequence[str]) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    arguments = ["build", str(photos), str(locked / "data.pen"), "--format", "png"]

    done = subprocess.run(
        [*unprivileged, sys.executable, "-m", "penstock", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1
    assert str(locked) in done.stderr
    assert "Permission denied" in done.stderr
    assert list(locked.iterdir()) == []
