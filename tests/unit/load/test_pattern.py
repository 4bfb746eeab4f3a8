"""How a disk wants to be read: chosen by what it was measured to do, and said."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import penstock
from penstock import Loader
from penstock.build import build
from penstock.machine import EMULATED_DISK, EmulatedDisk
from penstock.order.pattern import DiskRates, choose_window

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


def test_a_loader_measures_when_asked_to(dataset: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(EMULATED_DISK, EmulatedDisk(None, 300).as_text())
    with Loader(dataset, batch_size=16, window="auto", cache="none") as seeking:
        assert seeking.stats()["reading"]["pattern"] == "runs"
        assert seeking.stats()["reading"]["reads_per_second"] == pytest.approx(300, rel=0.3)
        assert seeking.state_dict()["window"] is not None
    monkeypatch.setenv(EMULATED_DISK, EmulatedDisk(30e6, None).as_text())
    with Loader(dataset, batch_size=16, window="auto", cache="none") as slow:
        assert slow.stats()["reading"]["pattern"] == "random"
        assert slow.state_dict()["window"] is None
    with Loader(dataset, batch_size=16, cache="none") as plain:
        assert plain.stats()["reading"] == {"pattern": "random"}
