"""JPEG sources in datasets of format `sluice`: coefficients move, and an export gives the original files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import penstock
from penstock.build import build
from penstock.errors import CodecError
from penstock.export import export
from penstock.records import open_dataset
from tests.golden.images import photo


def write_jpegs(folder: Path, number: int = 5) -> list[Path]:
    files = []
    for index in range(number):
        file = folder / f"class{index % 2}" / f"{index}.jpg"
        file.parent.mkdir(parents=True, exist_ok=True)
        pixels = photo(40 + index, 70, 3)
        file.write_bytes(penstock.encode(pixels, "jpeg:q=88"))
        files.append(file)
    return files


def test_jpeg_sources_are_transcoded_without_loss(tmp_path: Path) -> None:
    files = write_jpegs(tmp_path / "photos")

    build(tmp_path / "photos", tmp_path / "photos.pen", mix="sluice=1", durable=False)

    told = open_dataset(tmp_path / "photos.pen").manifest.formats["sluice"]
    assert (told.transcoded, told.encoded, told.kept) == (len(files), 0, 0)
    with penstock.Loader(tmp_path / "photos.pen", shuffle=False) as loader:
        for batch, file in zip(loader, sorted(files), strict=True):
            np.testing.assert_array_equal(batch["image"][0], penstock.decode(file.read_bytes()))


def test_an_export_gives_the_original_files(tmp_path: Path) -> None:
    files = write_jpegs(tmp_path / "photos")
    build(tmp_path / "photos", tmp_path / "photos.pen", mix="sluice=1", durable=False)

    export(tmp_path / "photos.pen", tmp_path / "back")

    for file in files:
        assert (tmp_path / "back" / file.relative_to(tmp_path / "photos")).read_bytes() == file.read_bytes()


def test_other_sources_are_exported_as_the_jpeg_inside(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    pixels = photo(30, 50, 3)
    (tmp_path / "photos" / "one.png").write_bytes(penstock.encode(pixels, "png"))
    build(tmp_path / "photos", tmp_path / "photos.pen", mix="sluice:q=90=1", durable=False)
    with penstock.Loader(tmp_path / "photos.pen") as loader:
        stored = next(iter(loader))["image"][0]

    export(tmp_path / "photos.pen", tmp_path / "back")

    np.testing.assert_array_equal(penstock.decode((tmp_path / "back" / "one.jpg").read_bytes()), stored)


def test_a_jpeg_that_cannot_be_restored_is_refused_by_name(tmp_path: Path) -> None:
    write_jpegs(tmp_path / "photos")
    Image.new("CMYK", (32, 32)).save(tmp_path / "photos" / "class0" / "cmyk.jpg")

    with pytest.raises(CodecError, match=r"class0/cmyk\.jpg"):
        build(tmp_path / "photos", tmp_path / "photos.pen", mix="sluice=1", durable=False)
