"""How a disk wants to be read: chosen by what it was measured to do, and said."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import penstock
from penstock import Loader
from penstock.build import build, load_plan
from penstock.machine import EMULATED_DISK, EmulatedDisk
from penstock.order import WINDOW_LANES
from penstock.order.disk_rates import DiskRates, choose_window
from penstock.plan import Goals, make_plan, write_plan
from penstock.profile import read_profile, write_profile
from penstock.profile.disk import DiskProbe
from penstock.profile.measure import ProfileOptions, measure

RECORD = 100_000


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A shard of 3 MB in records of 12 kB."""
    root = tmp_path_factory.mktemp("pattern")
    (root / "images").mkdir()
    for number in range(256):
        pixels = np.random.default_rng(number).integers(0, 256, (64, 64, 3), np.uint8)
        (root / "images" / f"{number:03d}.png").write_bytes(penstock.encode(pixels, "png"))
    build(root / "images", root / "data.pen", mix="raw=1")
    return root / "data.pen"


def test_a_disk_that_does_not_seek_gets_a_full_permutation() -> None:
    assert choose_window(DiskRates(2e9, 300_000), RECORD, 10**6) is None
    assert choose_window(DiskRates(100e6, 20_000), RECORD, 10**6) is None  # slow, but no slower at random


def test_a_disk_that_seeks_gets_runs_that_are_worth_a_seek() -> None:
    hdd = DiskRates(150e6, 120)
    window = choose_window(hdd, RECORD, 10**6)
    assert window is not None
    assert hdd.records_per_second(RECORD, window.run) > 0.89 * hdd.bytes_per_second / RECORD
    assert window.run * RECORD <= 16 << 20


def test_runs_that_wait_in_memory_fit_there() -> None:
    window = choose_window(DiskRates(150e6, 120), RECORD, 10**6, most_open_bytes=500e6, num_formats=2)
    assert window is not None
    assert window.run * window.runs * RECORD * WINDOW_LANES * 2 <= 500e6


def test_a_loader_measures_when_asked_to(dataset: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(EMULATED_DISK, EmulatedDisk(None, 300).as_text())
    with Loader(dataset, batch_size=16, window="auto", cache="none") as seeking:
        assert seeking.stats()["reading"]["pattern"] == "runs"
        assert seeking.stats()["reading"]["reads_per_second"] == pytest.approx(300, rel=0.3)
        assert seeking.state_dict()["window"] is not None
    monkeypatch.setenv(EMULATED_DISK, EmulatedDisk(10e6, None).as_text())
    with Loader(dataset, batch_size=16, window="auto", cache="none") as slow:
        assert slow.stats()["reading"]["pattern"] == "random"
        assert slow.state_dict()["window"] is None
    with Loader(dataset, batch_size=16, cache="none") as plain:
        assert plain.stats()["reading"] == {"pattern": "random", "from": "default"}


def build_planned(dataset: Path, folder: Path, disk: EmulatedDisk, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, str]:
    """Profile, plan and build on such a disk; the dataset, and what the plan says."""
    monkeypatch.setenv(EMULATED_DISK, disk.as_text())
    source = dataset.parent / "images"
    probe = DiskProbe(file_bytes=16 << 20, repeats=1, num_small_reads=256)
    options = ProfileOptions(on=folder, sample=4, formats="raw,png", repeat_seconds=0.01, disk=probe)
    profile = read_profile(write_profile(measure(source, options)))
    plan = make_plan(profile, Goals(memory_bytes=0))
    (folder / "plan.json").write_bytes(write_plan(plan))
    monkeypatch.delenv(EMULATED_DISK)
    build(source, folder / "data.pen", mix=load_plan(folder / "plan.json"))
    return folder / "data.pen", " ".join(plan.explanation)


def test_a_plan_for_a_disk_that_seeks_makes_loaders_read_runs(
    dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = EmulatedDisk(200e6, 500)
    path, said = build_planned(dataset, tmp_path, disk, monkeypatch)
    assert "This disk seeks" in said
    monkeypatch.setenv(EMULATED_DISK, disk.as_text())
    found = {}
    for window in (None, False):
        with Loader(path, batch_size=16, cache="none", window=window) as loader:
            assert sorted(id_ for batch in loader for id_ in batch["id"]) == list(range(256))
            found[window] = loader.stats()
    assert found[None]["reading"] == {"pattern": "runs", "from": "dataset"}
    assert found[False]["reading"] == {"pattern": "random", "from": "given"}
    assert found[None]["num_reads"] < found[False]["num_reads"] / 2
    assert found[None]["images_per_second"] > found[False]["images_per_second"]


def test_a_plan_for_a_disk_that_does_not_seek_keeps_the_full_permutation(
    dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, said = build_planned(dataset, tmp_path, EmulatedDisk(100e6, None), monkeypatch)
    assert "seeks" not in said
    with Loader(path, batch_size=16, cache="none") as loader:
        assert loader.stats()["reading"] == {"pattern": "random", "from": "default"}


def test_liquid_passes_a_recorded_window_over(dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, _ = build_planned(dataset, tmp_path, EmulatedDisk(200e6, 500), monkeypatch)
    with Loader(path, batch_size=16, cache="liquid", memory="64MiB") as loader:
        assert loader.stats()["reading"] == {"pattern": "random", "from": "cache"}
        assert loader.state_dict()["window"] is None


def test_a_state_brings_its_window(dataset: Path) -> None:
    with Loader(dataset, batch_size=16, window=8, cache="none") as runs:
        next(iter(runs))
        state = runs.state_dict()
    with Loader(dataset, batch_size=16, cache="none") as loader:
        loader.load_state_dict(state)
        assert loader.stats()["reading"] == {"pattern": "runs", "from": "state"}
