"""Samples that cannot be had: raised, skipped or replaced, and nothing else moves."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path
from time import perf_counter, sleep

import numpy as np
import pytest
import tifffile

from penstock import ArgumentError, CodecError, Loader, PenstockError, StorageError
from penstock.build import build
from penstock.load.prepare import codec_of
from tests.unit.load.conftest import COUNT

BROKEN = 12


@pytest.fixture
def damaged(folder: Path, tmp_path: Path) -> Path:
    """The folder with one image cut in half."""
    copy = tmp_path / "images"
    shutil.copytree(folder, copy)
    files = sorted(copy.rglob("*.png"), key=lambda path: path.relative_to(copy).as_posix())
    files[BROKEN].write_bytes(files[BROKEN].read_bytes()[:120])
    return copy


def ids_of(loader: Loader) -> list[list[int]]:
    return [batch["id"].tolist() for batch in loader]


def test_by_default_the_sample_is_named(damaged: Path) -> None:
    with Loader(damaged, batch_size=8, shuffle=False) as loader:
        batches = iter(loader)
        assert len(next(batches)["id"]) == 8
        with pytest.raises(CodecError) as caught:
            next(batches)
        assert f"sample {BROKEN}" in caught.value.where
        assert ".png" in caught.value.where
        # The position is kept: what failed was not delivered.
        assert loader.state_dict()["delivered"] == 8


def test_reading_ahead_stops_at_the_first_error(damaged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.load.budget.PREFETCHED_SAMPLES", 4)  # three batches of two are under way
    with Loader(damaged, batch_size=2, shuffle=False) as loader:
        batches = iter(loader)
        found = [next(batches)["id"].tolist() for _ in range(BROKEN // 2 - 1)]
        delivery = loader.runner.delivery
        assert delivery is not None
        while loader.runner.pipeline.num_failed == 0:
            sleep(0.001)
        found.append(next(batches)["id"].tolist())
        num_asked_for = delivery.num_submitted
        with pytest.raises(CodecError):
            next(batches)

    assert found == [[number, number + 1] for number in range(0, BROKEN, 2)]
    assert num_asked_for == BROKEN // 2 + 1


def test_skipping_shortens_the_batch_and_moves_nothing(folder: Path, damaged: Path) -> None:
    with Loader(folder, batch_size=8, seed=3) as loader:
        whole = ids_of(loader) + ids_of(loader)
    with Loader(damaged, batch_size=8, seed=3, on_error="skip") as loader:
        found = ids_of(loader) + ids_of(loader)
        stats = loader.stats()

    assert found == [[sample for sample in batch if sample != BROKEN] for batch in whole]
    assert stats["num_failed_samples"] == 1
    assert stats["num_errors"] == 2


def test_replacing_marks_the_substitute(folder: Path, damaged: Path, pixels: np.ndarray) -> None:
    with Loader(folder, batch_size=8, seed=3) as loader:
        whole = ids_of(loader)
    runs = []
    for threads in (1, 2):
        with Loader(damaged, batch_size=8, seed=3, on_error="replace", threads=threads) as loader:
            runs.append(list(loader))

    for batch, expected in zip(runs[0], whole, strict=True):
        assert (batch["valid"] == (np.array(expected) != BROKEN)).all()
        assert (batch["id"][batch["valid"]] == np.array(expected)[batch["valid"]]).all()
        assert BROKEN not in batch["id"]
        assert (batch["image"] == pixels[batch["id"]]).all()
    assert [batch["id"].tolist() for batch in runs[0]] == [batch["id"].tolist() for batch in runs[1]]


def test_too_many_errors_raise_whatever_the_policy(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "images"
    shutil.copytree(folder, copy)
    for path in list(copy.rglob("*.png"))[:5]:
        path.write_bytes(b"not an image")

    with Loader(copy, on_error="skip", max_errors=4) as loader, pytest.raises(PenstockError, match="5 samples failed"):
        list(loader)


def test_what_only_python_decodes_is_refused_before_the_first_batch(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "images"
    shutil.copytree(folder, copy)
    for number in range(5):
        (copy / f"scan{number}.TIF").write_bytes(b"II*\0" + bytes(60))

    names = "'scan0.TIF', 'scan1.TIF', 'scan2.TIF', …"
    with pytest.raises(ArgumentError, match=f"5 files are decoded in Python.*{names}") as caught:
        Loader(copy, on_error="skip")
    assert f"penstock build {copy} OUT.pen --mix" in caught.value.fix
    with Loader(copy, subset=slice(COUNT), batch_size=4) as loader:
        assert sum(len(batch["id"]) for batch in loader) == COUNT


def test_a_tiff_by_another_name_is_a_bad_sample(tmp_path: Path) -> None:
    (tmp_path / "scan.png").write_bytes(b"II*\0" + bytes(60))
    with Loader(tmp_path) as loader, pytest.raises(CodecError, match="no image format that a loader decodes") as caught:
        list(loader)
    assert "penstock build" in caught.value.fix


def test_a_dataset_of_what_only_python_decodes_is_refused() -> None:
    with pytest.raises(ArgumentError, match="decoded in Python") as refused:
        codec_of("tiff")
    assert "penstock build --mix" in refused.value.fix


def test_a_folder_of_tiffs_loads_once_it_is_built(tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (9, 11, 3), dtype=np.uint8)
    (tmp_path / "scans").mkdir()
    tifffile.imwrite(tmp_path / "scans" / "a.tif", pixels)
    build(tmp_path / "scans", tmp_path / "scans.pen", mix="weir:fast=1")

    with Loader(tmp_path / "scans.pen") as loader:
        (batch,) = loader
    np.testing.assert_array_equal(batch["image"][0], pixels)


def test_a_file_deleted_under_way_is_a_storage_error(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "images"
    shutil.copytree(folder, copy)
    with Loader(copy, batch_size=1, shuffle=False) as loader:
        victim = sorted(copy.rglob("*.png"), key=lambda path: path.relative_to(copy).as_posix())[-1]
        victim.unlink()
        with pytest.raises(StorageError, match="No such file") as caught:
            list(loader)
        assert caught.value.errno == errno.ENOENT
        assert victim.name in caught.value.where


def test_a_disk_that_stalls_is_waited_for(folder: Path) -> None:
    with Loader(folder, batch_size=10) as loader:
        loader.runner.pipeline.stall(None, 0.2, 4)
        began = perf_counter()
        assert sum(len(batch["id"]) for batch in loader) == COUNT
        assert perf_counter() - began >= 0.2


def test_a_passing_fault_is_not_an_error(folder: Path) -> None:
    with Loader(folder, batch_size=10) as loader:
        loader.runner.pipeline.fail(None, errno.EIO, 3)
        list(loader)
        stats = loader.stats()

    assert stats["io"]["num_retries"] == 3
    assert stats["num_errors"] == 0


def test_a_loader_goes_on_after_an_error(damaged: Path) -> None:
    with Loader(damaged, batch_size=8) as loader:
        with pytest.raises(CodecError):
            list(loader)
        with pytest.raises(CodecError):
            list(loader)
