"""Real images through datasets and back: JPEGs of ImageNet, frames and masks of Cityscapes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import penstock
from penstock import _native
from penstock.build import BuildOptions, build
from penstock.codecs import transcode
from penstock.export import ExportOptions, export
from penstock.records import Dataset, open_dataset
from tests.unit.export.layouts import LAYOUTS, assert_same

FORMATS = ("jpeg", "jpeg:restart", "png", "webp:lossless", "weir:fast", "weir:dense", "l3", "raw")
LOSSLESS = ("weir:fast=0.4,weir:dense=0.3,png=0.3", "l3=0.5,raw=0.5", "webp:lossless=1")


def linked(source: Path, out: Path, count: int | None) -> Path:
    """A folder with the first `count` files of another, in the same layout, by links."""
    for path in sorted(path for path in source.rglob("*") if path.is_file())[:count]:
        place = out / path.relative_to(source)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(path)
    return out


def street(shared_data: Path, out: Path, count: int | None) -> Path:
    """The first `count` frames of Cityscapes with their masks."""
    root = shared_data / "cityscapes"
    linked(root / "leftImg8bit", out / "leftImg8bit", count)
    linked(root / "gtFine", out / "gtFine", count)
    return out


def assert_same_pixels(one: Dataset, other: Dataset) -> None:
    assert one.column("key").to_pylist() == other.column("key").to_pylist()
    fields = [field.name for field in one.fields if field.is_image]
    for mine, theirs in zip(one, other, strict=True):
        assert all(np.array_equal(mine[field], theirs[field]) for field in fields), mine["key"]


def round_trip_of_photographs(source: Path, work: Path, layout: str) -> None:
    """Kept JPEGs come back byte for byte, transcoded ones with their coefficients."""
    build(source, work / "one.pen", mix="jpeg=0.5,jpeg:restart=0.5")
    export(work / "one.pen", work / "back", options=ExportOptions(layout=layout, shard_samples=100))
    build(work / "back", work / "two.pen", mix="jpeg=1")

    dataset, again = open_dataset(work / "one.pen"), open_dataset(work / "two.pen")
    assert_same_pixels(dataset, again)
    for position, key in enumerate(dataset.column("key").to_pylist()):
        data = (source / key).read_bytes()
        kept = dataset.column("image.kept")[position].as_py()
        assert again.read(position) == (data if kept else transcode(data, "jpeg:restart")), key


def round_trip_of_frames(source: Path, work: Path, mix: str, layout: str) -> None:
    """Frames and masks come back with their pixels, cities and splits."""
    build(source, work / "one.pen", mix=mix, options=BuildOptions(formats={"mask": "weir:dense"}))
    export(work / "one.pen", work / "back", options=ExportOptions(layout=layout))
    build(work / "back", work / "two.pen", mix="png=1")

    dataset, again = open_dataset(work / "one.pen"), open_dataset(work / "two.pen")
    assert_same_pixels(dataset, again)
    for name in ("city", "split"):
        assert dataset.column(name).to_pylist() == again.column(name).to_pylist()
    for sample in dataset:
        assert np.array_equal(sample["image"], penstock.decode((source / sample["key"]).read_bytes()))


@pytest.mark.parametrize("layout", ["folder", "webdataset"])
def test_a_few_photographs_come_back(shared_data: Path, tmp_path: Path, layout: str) -> None:
    round_trip_of_photographs(linked(shared_data / "imagenet", tmp_path / "source", 6), tmp_path, layout)


@pytest.mark.parametrize("layout", ["folder", "webdataset"])
def test_a_few_frames_and_their_masks_come_back(shared_data: Path, tmp_path: Path, layout: str) -> None:
    round_trip_of_frames(street(shared_data, tmp_path / "source", 4), tmp_path, LOSSLESS[0], layout)


@pytest.mark.long
@pytest.mark.parametrize("layout", ["folder", "webdataset"])
def test_all_photographs_come_back(shared_data: Path, tmp_path: Path, layout: str) -> None:
    round_trip_of_photographs(linked(shared_data / "imagenet", tmp_path / "source", None), tmp_path, layout)


@pytest.mark.long
@pytest.mark.parametrize("mix", LOSSLESS)
@pytest.mark.parametrize("layout", ["folder", "webdataset"])
def test_all_frames_and_their_masks_come_back(shared_data: Path, tmp_path: Path, layout: str, mix: str) -> None:
    round_trip_of_frames(street(shared_data, tmp_path / "source", None), tmp_path, mix, layout)


@pytest.mark.long
@pytest.mark.parametrize("layout", LAYOUTS)
def test_real_images_go_through_every_format_in_every_layout(shared_data: Path, tmp_path: Path, layout: str) -> None:
    frames = sorted((shared_data / "cityscapes" / "leftImg8bit").rglob("*.png"))[:24]
    masks = sorted((shared_data / "cityscapes" / "gtFine").rglob("*.png"))[:24]
    photographs = sorted((shared_data / "imagenet").iterdir())[:24]
    files = [path.read_bytes() for path in (*frames, *photographs)]
    source = LAYOUTS[layout](tmp_path / "source", files, [path.read_bytes() for path in (*masks, *masks)])
    mix = ",".join(f"{format}={1 / len(FORMATS)}" for format in FORMATS)

    build(source, tmp_path / "one.pen", mix=mix)
    export(tmp_path / "one.pen", tmp_path / "back")
    build(tmp_path / "back", tmp_path / "two.pen", mix="png=1")

    dataset = open_dataset(tmp_path / "one.pen")
    assert set(dataset.formats) == set(FORMATS)
    assert_same(dataset, open_dataset(tmp_path / "two.pen"))
    decoded = {penstock.decode(data).tobytes() for data in files}
    lossy = {"jpeg", "jpeg:restart"}
    for sample, format in zip(dataset, dataset.column("image.format").to_pylist(), strict=True):
        assert format in lossy or sample["image"].tobytes() in decoded, sample["key"]


def pixels_and_metadata_come_back(source: Path, work: Path) -> None:
    build(source, work / "one.pen", mix="weir:fast=0.5,raw=0.5")
    done = export(work / "one.pen", work / "back", options=ExportOptions(image_format="png:level=1"))

    assert done.dropped == {}
    for path in sorted(source.iterdir()):
        data = path.read_bytes()
        back = (work / "back" / path.name).with_suffix(".png").read_bytes()
        assert np.array_equal(penstock.decode(back), penstock.decode(data)), path.name
        assert _native.read_metadata(back)[:2] == _native.read_metadata(data)[:2], path.name


def test_a_few_photographs_keep_pixels_and_metadata(shared_data: Path, tmp_path: Path) -> None:
    pixels_and_metadata_come_back(linked(shared_data / "imagenet", tmp_path / "source", 6), tmp_path)


@pytest.mark.long
def test_all_photographs_keep_pixels_and_metadata(shared_data: Path, tmp_path: Path) -> None:
    pixels_and_metadata_come_back(linked(shared_data / "imagenet", tmp_path / "source", None), tmp_path)


def test_the_real_folders_are_not_written_to(shared_data: Path, tmp_path: Path) -> None:
    root = shared_data / "imagenet"
    before = root.stat().st_mtime_ns

    build(root, tmp_path / "one.pen", mix="jpeg=1")

    assert root.stat().st_mtime_ns == before
