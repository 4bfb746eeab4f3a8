"""A build that stopped goes on, and ends with the bytes of one that did not stop."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import penstock
from penstock.build import BuildOptions, build, prepare
from penstock.errors import ArgumentError, CodecError, DatasetError, StorageError
from penstock.storage import locked
from tests.dataset_files import files_of, finished_samples, make_photos

MIX = "weir:fast=0.5,png=0.5"
OPTIONS = BuildOptions(shard_bytes=16_384)


class StoppedError(Exception):
    """What a test stops a build with."""


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_photos(tmp_path_factory.mktemp("source") / "photos", images=40)


@pytest.fixture(scope="module")
def straight(photos: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    out = tmp_path_factory.mktemp("straight") / "data.pen"
    build(photos, out, mix=MIX, options=OPTIONS)
    return files_of(out)


def stop_when(reached: Callable[[str, int], bool]) -> Callable[[str, int, int], None]:
    def on_progress(stage: str, done: int, total: int) -> None:
        if reached(stage, done):
            raise StoppedError

    return on_progress


def test_an_interrupted_build_is_no_dataset_and_goes_on(
    photos: Path, straight: dict[str, bytes], tmp_path: Path
) -> None:
    out = tmp_path / "data.pen"
    with pytest.raises(StoppedError):
        build(photos, out, mix=MIX, options=OPTIONS, on_progress=stop_when(lambda stage, _: stage == "png"))
    finished = finished_samples(out)

    with pytest.raises(DatasetError, match="not finished"):
        penstock.open(out)
    built = build(photos, out, mix=MIX, options=OPTIONS)

    assert finished >= 20, "the first format was done"
    assert built.num_converted == 40 - finished, "nothing that was finished is done again"
    assert files_of(out) == straight


@pytest.mark.parametrize("lost", ["rows", "shard", "torn shard", "half a shard", "index", "nothing"])
def test_whatever_a_kill_left_behind_the_result_is_the_same(
    photos: Path, straight: dict[str, bytes], tmp_path: Path, lost: str
) -> None:
    out = tmp_path / "data.pen"
    with pytest.raises(StoppedError):
        build(photos, out, mix=MIX, options=OPTIONS, on_progress=stop_when(lambda stage, done: done == 40))
    if lost == "rows":
        (out / ".build" / "weir-fast-00001.rows").unlink()
    elif lost == "shard":
        (out / "shards" / "png-00000.shard").unlink()
    elif lost == "torn shard":
        with (out / "shards" / "weir-fast-00000.shard").open("r+b") as file:
            file.truncate(1000)
    elif lost == "half a shard":
        (out / ".build" / "png-00000.rows").unlink()
        (out / ".build" / "png-00000.part").write_bytes(b"half of something longer" * 1000)
    elif lost == "index":
        (out / "index.parquet").write_bytes(b"PAR1")

    build(photos, out, mix=MIX, options=OPTIONS)

    assert files_of(out) == straight


def test_a_kill_between_manifest_and_cleaning_leaves_a_dataset(
    photos: Path, straight: dict[str, bytes], tmp_path: Path
) -> None:
    out = tmp_path / "data.pen"
    build(photos, out, mix=MIX, options=OPTIONS)
    (out / ".build").mkdir()
    (out / ".build" / "recipe.json").write_text("{}")

    assert len(penstock.open(out)) == 40
    build(photos, out, mix=MIX, options=OPTIONS)
    assert files_of(out) == straight


def begin(photos: Path, out: Path) -> None:
    with pytest.raises(StoppedError):
        build(photos, out, mix=MIX, options=OPTIONS, on_progress=stop_when(lambda stage, _: stage == "png"))


def test_another_mix_does_not_go_on_with_it(photos: Path, tmp_path: Path) -> None:
    begin(photos, tmp_path / "data.pen")

    with pytest.raises(DatasetError, match="another build was begun here") as caught:
        build(photos, tmp_path / "data.pen", mix="raw=1")
    assert "--force" in caught.value.fix
    assert build(photos, tmp_path / "data.pen", mix="raw=1", force=True).num_converted == 40


def test_a_source_that_changed_meanwhile_is_refused(photos: Path, tmp_path: Path) -> None:
    copy = tmp_path / "photos"
    shutil.copytree(photos, copy)
    begin(copy, tmp_path / "data.pen")
    changed = next(copy.rglob("*.png"))
    content = changed.read_bytes()
    changed.unlink()
    changed.write_bytes(content)

    with pytest.raises(DatasetError, match="another build was begun here"):
        build(copy, tmp_path / "data.pen", mix=MIX, options=OPTIONS)


def test_damaged_work_files_are_named(photos: Path, tmp_path: Path) -> None:
    out = tmp_path / "data.pen"
    begin(photos, out)
    rows = out / ".build" / "weir-fast-00000.rows"
    rows.write_bytes(rows.read_bytes()[:-1])

    with pytest.raises(DatasetError, match="work file") as caught:
        build(photos, out, mix=MIX, options=OPTIONS)
    assert caught.value.where == str(rows)


def test_what_does_not_fit_on_the_disk_is_refused_before_anything_is_written(
    photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = shutil.disk_usage(tmp_path)._replace(free=100_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: full)

    with pytest.raises(StorageError, match=r"needs about .* the disk has 97\.7 KiB free"):
        build(photos, tmp_path / "data.pen", mix="raw=1")
    assert list(tmp_path.iterdir()) == []


def test_preparing_writes_nothing(photos: Path, tmp_path: Path) -> None:
    preparation = prepare(photos, tmp_path / "data.pen", mix="raw=1")

    assert 0.9 < preparation.estimate.total_bytes / (40 * (64 * 48 * 3 + 32)) < 1.1
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def damaged(photos: Path, tmp_path: Path) -> Path:
    """A source with a truncated, an empty and an unreadable image."""
    copy = tmp_path / "photos"
    shutil.copytree(photos, copy)
    paths = sorted(copy.rglob("*.png"))
    paths[3].write_bytes(paths[3].read_bytes()[:200])
    paths[20].write_bytes(b"")
    return copy


def test_a_corrupt_image_ends_the_build_with_its_name(damaged: Path, tmp_path: Path) -> None:
    with pytest.raises(CodecError) as caught:
        build(damaged, tmp_path / "data.pen", mix="weir:fast=1", threads=1)

    assert any(str(path) in caught.value.where for path in damaged.rglob("*.png"))
    with pytest.raises(DatasetError, match="not finished"):
        penstock.open(tmp_path / "data.pen")


@pytest.mark.parametrize("mix", ["weir:fast=1", "png=1"])
def test_skipped_images_are_listed_and_ids_close_up(damaged: Path, tmp_path: Path, mix: str) -> None:
    built = build(damaged, tmp_path / "data.pen", mix=mix, options=BuildOptions(skip_errors=True, shard_bytes=16_384))
    dataset = penstock.open(tmp_path / "data.pen")
    paths = sorted(path.relative_to(damaged).as_posix() for path in damaged.rglob("*.png"))

    assert [entry.key for entry in built.manifest.skipped] == [paths[3], paths[20]]
    assert all(entry.reason for entry in built.manifest.skipped)
    assert dataset.column("key").to_pylist() == [path for path in paths if path not in (paths[3], paths[20])]
    assert dataset.column("id").to_pylist() == list(range(38))
    assert [sample["key"] for sample in dataset] == dataset.column("key").to_pylist()


def test_a_source_of_nothing_but_damage_gives_no_dataset(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "a.png").write_bytes(b"no image")

    with pytest.raises(DatasetError, match="no sample could be converted"):
        build(tmp_path / "photos", tmp_path / "data.pen", mix="png=1", options=BuildOptions(skip_errors=True))


def test_two_builds_do_not_work_on_one_dataset_at_once(photos: Path, tmp_path: Path) -> None:
    out = tmp_path / "data.pen"
    (out / ".build").mkdir(parents=True)

    with locked(out / ".build" / "lock"), pytest.raises(StorageError, match="another process is working here"):
        build(photos, out, mix=MIX, options=OPTIONS)
    assert build(photos, out, mix=MIX, options=OPTIONS).num_converted == 40


def test_force_does_not_clear_what_another_build_is_writing(
    photos: Path, straight: dict[str, bytes], tmp_path: Path
) -> None:
    out = tmp_path / "data.pen"
    begin(photos, out)
    before = files_of(out)

    with locked(out / ".build" / "lock"), pytest.raises(StorageError, match="another process is working here"):
        build(photos, out, mix=MIX, options=OPTIONS, force=True)
    assert files_of(out) == before
    build(photos, out, mix=MIX, options=OPTIONS, force=True)
    assert files_of(out) == straight


@pytest.mark.parametrize("force", [False, True])
def test_what_an_earlier_version_left_at_its_publishing_is_removed(
    photos: Path, straight: dict[str, bytes], tmp_path: Path, force: bool
) -> None:
    out = tmp_path / "data.pen"
    begin(photos, out)
    (out / ".penstock-4711-0.part").write_bytes(b"half an index")

    build(photos, out, mix=MIX, options=OPTIONS, force=force)

    assert files_of(out) == straight


def test_a_finished_dataset_is_found_without_writing(photos: Path, tmp_path: Path) -> None:
    out = tmp_path / "data.pen"
    build(photos, out, mix=MIX, options=OPTIONS)
    before = {path: path.stat().st_mtime_ns for path in (out, *out.rglob("*"))}

    assert build(photos, out, mix=MIX, options=OPTIONS).num_converted == 0

    assert {path: path.stat().st_mtime_ns for path in (out, *out.rglob("*"))} == before


def test_shards_that_belong_to_nothing_are_not_mixed_with_new_ones(
    photos: Path, straight: dict[str, bytes], tmp_path: Path
) -> None:
    out = tmp_path / "data.pen"
    build(photos, out, mix="raw=1")
    (out / "manifest.json").unlink()

    with pytest.raises(DatasetError, match="belong to no manifest") as caught:
        build(photos, out, mix=MIX, options=OPTIONS)
    assert "--force" in caught.value.fix
    build(photos, out, mix=MIX, options=OPTIONS, force=True)
    assert files_of(out) == straight


def test_shards_that_did_not_wait_for_the_disk_are_read_before_they_count(
    photos: Path, straight: dict[str, bytes], tmp_path: Path
) -> None:
    out = tmp_path / "data.pen"
    with pytest.raises(StoppedError):
        build(
            photos, out, mix=MIX, options=OPTIONS, durable=False, on_progress=stop_when(lambda stage, _: stage == "png")
        )
    shard = out / "shards" / "weir-fast-00000.shard"
    shard.write_bytes(bytes(shard.stat().st_size))  # what a power cut may leave: the length, and zeros

    build(photos, out, mix=MIX, options=OPTIONS)

    assert files_of(out) == straight


def test_a_dataset_inside_its_source_is_refused(photos: Path) -> None:
    with pytest.raises(ArgumentError, match="inside its own source"):
        build(photos, photos / "data.pen", mix=MIX)
    assert not (photos / "data.pen").exists()
