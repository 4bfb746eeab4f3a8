"""A loader that waits for small, slow reads says so, from its own counters and without reading anything for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock
from penstock import Loader
from penstock.build import build
from penstock.load import disk_probe, slow_reads
from penstock.load.slow_reads import SlowReadWatch
from penstock.machine import EMULATED_DISK, EmulatedDisk

WAITING = {"decode_wait_seconds": 9.0, "decode_busy_seconds": 1.0}


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Records of 12 kB."""
    root = tmp_path_factory.mktemp("slow")
    (root / "images").mkdir()
    for number in range(64):
        pixels = np.random.default_rng(number).integers(0, 256, (64, 64, 3), np.uint8)
        (root / "images" / f"{number:03d}.png").write_bytes(penstock.encode(pixels, "png"))
    build(root / "images", root / "data.pen", mix="raw=1", durable=False)
    return root / "data.pen"


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slow_reads, "PATIENCE_SECONDS", 0.01)
    monkeypatch.setattr(SlowReadWatch, "advised_places", set())


def test_a_loader_that_waits_for_slow_reads_says_once_what_to_try(
    dataset: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(EMULATED_DISK, EmulatedDisk(None, 400).as_text())
    for _ in range(2):
        with Loader(dataset, batch_size=16, cache="none") as loader:
            assert sum(1 for _ in loader) == 4
            assert "window=" in loader.stats()["reading"]["advice"]
    told = [record.message for record in caplog.records if "batches wait" in record.message]
    assert len(told) == 1
    assert "penstock profile" in told[0]
    with Loader(dataset, batch_size=16, cache="none", window=False) as silent:
        assert sum(1 for _ in silent) == 4
        assert "advice" not in silent.stats()["reading"]


def test_training_never_probes_the_disk(dataset: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    probed: list[object] = []
    monkeypatch.setattr(disk_probe, "probe_reads", lambda *arguments, **_: probed.append(arguments))
    monkeypatch.setenv(EMULATED_DISK, EmulatedDisk(None, 400).as_text())

    with Loader(dataset, batch_size=16, cache="none") as loader:
        assert sum(1 for _ in loader) == 4
        stats = loader.stats()

    assert probed == []
    assert stats["num_reads"] <= 64  # neighbours are read together


@pytest.mark.parametrize(
    ("counters", "is_told"),
    [
        ({**WAITING, "num_reads": 4000, "bytes_read": 40_000_000}, True),
        ({**WAITING, "num_reads": 40_000, "bytes_read": 4_000_000_000}, False),  # fast
        ({**WAITING, "num_reads": 40, "bytes_read": 40_000_000}, False),  # large
        ({"decode_wait_seconds": 1.0, "decode_busy_seconds": 9.0, "num_reads": 4000, "bytes_read": 40_000_000}, False),
        ({**WAITING, "num_reads": 0, "bytes_read": 0}, False),
    ],
)
def test_only_small_and_slow_reads_are_told(dataset: Path, counters: dict[str, Any], is_told: bool) -> None:
    samples = penstock.plan_loader(dataset, cache="none").samples
    reading: dict[str, Any] = {"from": disk_probe.DEFAULT}
    watch = SlowReadWatch(samples, reading)
    assert watch.is_time(6.0, 10.0)

    watch.look(counters, 10.0)

    assert ("advice" in reading) is is_told
    assert not watch.is_time(60.0, 100.0)
