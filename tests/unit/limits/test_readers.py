"""Where no control group holds a disk limit, Penstock's own readers do: probes and loaders alike."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

import penstock
from penstock import Loader
from penstock.bench import LoaderBenchOptions, bench_under
from penstock.limits import Limits, cgroups
from penstock.machine import EMULATED_DISK, EmulatedDisk
from penstock.storage import probe_reads


@pytest.fixture
def images(tmp_path: Path) -> Path:
    """24 files of 12 kB that do not compress."""
    for number in range(24):
        pixels = np.random.default_rng(number).integers(0, 256, (64, 64, 3), np.uint8)
        (tmp_path / f"{number:02d}.png").write_bytes(penstock.encode(pixels, "png"))
    return tmp_path


def pretend(monkeypatch: pytest.MonkeyPatch, bytes_per_second: float | None, reads_per_second: float | None) -> None:
    monkeypatch.setenv(EMULATED_DISK, EmulatedDisk(bytes_per_second, reads_per_second).as_text())


def test_a_probe_finds_the_disk_that_is_pretended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "data"
    file.write_bytes(bytes(1 << 20))
    pretend(monkeypatch, 8e6, None)
    by_bytes = probe_reads(file, list(range(0, 1 << 20, 1 << 16)), 1 << 16, depth=8, direct=True)
    pretend(monkeypatch, None, 100)
    by_requests = probe_reads(file, [0, 4096] * 6, 4096, depth=8, direct=True)
    assert by_bytes["wall_seconds"] > 0.9 * ((1 << 20) / 8e6 - 0.02)
    assert by_requests["wall_seconds"] > 0.9 * (12 / 100 - 0.02)


def test_loaders_of_a_process_share_the_disk(images: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, None, 200)
    began = time.monotonic()
    for _ in range(2):
        with Loader(images, batch_size=8, cache="none") as loader:
            assert sum(len(batch["id"]) for batch in loader) == 24
    assert time.monotonic() - began > 0.9 * (48 / 200 - 0.04)


def test_an_emulated_bench_falls_back_on_readers(images: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroups, "hierarchies", lambda: iter(()))
    options = LoaderBenchOptions(transform="none", batch_size=8, cache="none", epochs=1)
    found = bench_under(images, options, Limits(disk_reads_per_second=100))
    assert found.enforced_by.disk == "readers"
    assert found.images_per_second < 130
