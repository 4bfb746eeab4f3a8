"""Images of a folder, found by content."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import penstock
from penstock.bench import corpus as corpus_module
from penstock.bench import load_corpus
from penstock.errors import ArgumentError
from penstock.machine import Memory


def test_images_come_sorted_and_the_rest_is_told_apart(folder: Path) -> None:
    found = load_corpus(folder)

    assert [str(image.path.relative_to(folder)) for image in found.images] == ["a.raw", "b/1.raw", "b/2.jpg"]
    assert [file.path.name for file in found.unreadable] == ["z.raw"]
    assert found.unreadable[0].error.where.startswith(str(folder / "z.raw"))
    assert (found.num_other_files, found.num_files) == (1, 5)
    assert found.pixel_bytes == 33 * 44 + 30 * 20 * 3 + 40 * 50 * 3


def test_a_limit_counts_images_and_spreads_them(tmp_path: Path) -> None:
    for number in range(10):
        image = penstock.encode(np.full((4, 4), number, np.uint8), "raw")
        (tmp_path / f"{number}.raw").write_bytes(b"no image" if number == 4 else image)

    names = [image.path.name for image in load_corpus(tmp_path, limit=5).images]

    assert names == ["0.raw", "1.raw", "2.raw", "6.raw", "8.raw"]


def test_a_folder_without_images_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing")

    with pytest.raises(ArgumentError, match="no readable image among 1 files") as raised:
        load_corpus(tmp_path)

    assert raised.value.fix


def test_more_than_memory_is_refused_before_it_is_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus_module, "memory", lambda: Memory(10**9, None, 20_000))

    with pytest.raises(ArgumentError, match="half of the free memory") as raised:
        load_corpus(folder, copies=3)

    assert "limit of 1" in raised.value.fix
