"""`penstock bench loader`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import penstock

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Call


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nine small images."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    root = tmp_path / "images"
    root.mkdir()
    for number in range(9):
        pixels = np.full((30, 40, 3), number, np.uint8)
        (root / f"{number}.png").write_bytes(penstock.encode(pixels, "png"))
    return root


def test_epochs_are_shown_in_a_table(cli: Call, folder: Path) -> None:
    answer = cli("bench", "loader", folder, "--batch-size", "4", "--epochs", "2", "--threads", "2")

    assert answer.status == 0
    assert answer.stdout.startswith(f"9 samples of {folder}, batches of 4, transform train224, decode exact\n")
    assert "bottleneck: " in answer.stdout
    assert len([line for line in answer.stdout.splitlines() if line[:2] in ("0 ", "1 ")]) == 2


def test_json_has_what_the_table_has_and_more(cli: Call, folder: Path) -> None:
    found: dict[str, Any] = cli(
        "bench", "loader", folder, "--transform", "none", "--epochs", "3", "--cache", "none", "--json"
    ).json

    assert found["num_samples"] == 9
    assert len(found["epochs"]) == 3
    assert all(epoch["bytes_read"] > 0 and epoch["cpu_seconds_per_image"] > 0 for epoch in found["epochs"])
    assert set(found["epochs"][0]["stages"]) == {"storage", "decode", "compute"}
    assert found["images_per_second"]["median"] > 0


def test_a_window_shows_how_random_it_is(cli: Call, folder: Path) -> None:
    answer = cli("bench", "loader", folder, "--transform", "none", "--epochs", "1", "--window", "1KiB")
    assert answer.status == 0
    assert "(1 = a full permutation)" in answer.stdout + answer.stderr


def test_wrong_words_are_explained(cli: Call, folder: Path) -> None:
    answer = cli("bench", "loader", folder, "--transform", "trian224")
    assert answer.status != 0
    assert "choose among none, train224, val224" in answer.stderr
    answer = cli("bench", "loader", folder, "--cache", "rollin")
    assert "cache is 'rollin'" in answer.stderr


def test_damaged_samples_end_a_bench_unless_they_are_skipped(cli: Call, folder: Path) -> None:
    (folder / "3.png").write_bytes(b"no image")
    words = ("bench", "loader", folder, "--transform", "none", "--epochs", "1", "--batch-size", "4")

    assert cli(*words).status == 1
    skipped = cli(*words, "--on-error", "skip")
    assert skipped.status == 0
    assert "8 samples of" in skipped.stdout
    assert "1 sample failed to load" in skipped.stderr
