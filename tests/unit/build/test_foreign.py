"""TIFFs, which only Python decodes, become records like everything else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tifffile

import penstock
from penstock.build import BuildOptions, build, prepare
from penstock.errors import ArgumentError, PenstockError
from penstock.records import verify


@pytest.fixture
def scans(tmp_path: Path) -> Path:
    """Two TIFFs, one of 16 bits, and a PNG."""
    folder = tmp_path / "scans"
    folder.mkdir()
    rng = np.random.default_rng(0)
    tifffile.imwrite(folder / "a.tif", rng.integers(0, 256, (20, 30, 3), np.uint8), photometric="rgb")
    tifffile.imwrite(folder / "b.TIFF", rng.integers(0, 65536, (10, 12), np.uint16))
    (folder / "c.png").write_bytes(penstock.encode(rng.integers(0, 256, (8, 9), np.uint8), "png"))
    return folder


@pytest.mark.parametrize("mix", ["raw=1", "weir:dense=1", "png=1", "raw=0.4,png=0.6"])
def test_tiffs_come_back_pixel_for_pixel(scans: Path, tmp_path: Path, mix: str) -> None:
    build(scans, tmp_path / "data.pen", mix=mix)
    dataset = penstock.open(tmp_path / "data.pen")

    assert [sample["key"] for sample in dataset] == ["a.tif", "b.TIFF", "c.png"]
    for sample in dataset:
        assert np.array_equal(sample["image"], penstock.decode((scans / sample["key"]).read_bytes()))
    assert not any(dataset.column("image.kept").to_pylist()[:2]), "these bytes are not the source's"
    assert verify(tmp_path / "data.pen").problems == ()
    assert not (tmp_path / "data.pen" / ".build").exists()


def test_what_a_tiff_says_beside_its_pixels_is_counted(scans: Path, tmp_path: Path) -> None:
    left_out = prepare(scans, tmp_path / "data.pen", mix="raw=1").recipe.index.left_out

    assert list(left_out.values()) == [2]


def test_a_damaged_tiff_is_named_or_skipped(scans: Path, tmp_path: Path) -> None:
    (scans / "a.tif").write_bytes((scans / "a.tif").read_bytes()[:100])

    with pytest.raises(PenstockError) as caught:
        build(scans, tmp_path / "data.pen", mix="png=1")
    assert "a.tif" in caught.value.where
    built = build(scans, tmp_path / "skip.pen", mix="png=1", options=BuildOptions(skip_errors=True))
    assert [entry.key for entry in built.manifest.skipped] == ["a.tif"]


def test_tiffs_cannot_be_kept_beside_their_images(scans: Path, tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="cannot be kept"):
        prepare(scans, tmp_path / "data.pen", mix="png=1", options=BuildOptions(keep_source=True))
