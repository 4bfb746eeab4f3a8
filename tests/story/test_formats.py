"""Real images through a dataset and back: pixels, labels, ids, masks and metadata are those of the source."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import penstock
from penstock.build import BuildOptions, build
from penstock.codecs import DecodeOptions, find
from penstock.records import verify

LOSSLESS = ("raw", "png", "weir:fast", "weir:dense", "webp:lossless", "l3")
SMALL = 6
ALL = 10_000


def few(folder: Path, out: Path, count: int) -> Path:
    """A part of a folder, evenly."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    for path in files[:: max(1, len(files) // count)]:
        target = out / path.relative_to(folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    return out


@pytest.mark.parametrize("format", LOSSLESS)
@pytest.mark.parametrize("count", [SMALL, pytest.param(ALL, marks=pytest.mark.long)])
def test_imagenet_comes_back_pixel_for_pixel(shared_data: Path, tmp_path: Path, format: str, count: int) -> None:
    photos = few(shared_data / "imagenet", tmp_path / "photos", count)
    grey = [path for path in photos.iterdir() if penstock.inspect(path.read_bytes()).channels == 1]
    if format == "webp:lossless":
        for path in grey:
            path.unlink()  # it holds no grey images, and says so
    build(photos, tmp_path / "data.pen", mix=f"{format}=1")

    keys = []
    for sample in penstock.open(tmp_path / "data.pen"):
        keys.append(sample["key"])
        assert np.array_equal(sample["image"], penstock.decode((photos / sample["key"]).read_bytes()))
    assert keys == sorted(path.name for path in photos.iterdir())
    assert verify(tmp_path / "data.pen").num_proven == len(keys)


@pytest.mark.parametrize(("format", "same"), [("jpeg", True), ("jpeg:restart", False), ("jpeg:progressive", False)])
@pytest.mark.parametrize("count", [SMALL, pytest.param(ALL, marks=pytest.mark.long)])
def test_jpegs_keep_their_bytes_or_their_coefficients(
    shared_data: Path, tmp_path: Path, format: str, same: bool, count: int
) -> None:
    photos = few(shared_data / "imagenet", tmp_path / "photos", count)
    built = build(photos, tmp_path / "data.pen", mix=f"{format}=1")
    dataset = penstock.open(tmp_path / "data.pen")

    assert built.manifest.formats[format].encoded == 0
    for position, key in enumerate(dataset.column("key").to_pylist()):
        source = (photos / key).read_bytes()
        assert (dataset.read(position) == source) is same
        assert np.array_equal(dataset[position]["image"], penstock.decode(source))


def test_a_jpeg_that_is_coarse_already_is_not_encoded_again(shared_data: Path, tmp_path: Path) -> None:
    photos = tmp_path / "photos"
    photos.mkdir()
    pixels = penstock.decode(sorted((shared_data / "imagenet").iterdir())[0].read_bytes())
    for quality in (50, 80, 85, 90):
        (photos / f"{quality}.jpg").write_bytes(penstock.encode(pixels, f"jpeg:q={quality}"))
    build(photos, tmp_path / "data.pen", mix="jpeg:q=85=1")

    assert penstock.open(tmp_path / "data.pen").column("image.kept").to_pylist() == [True, True, True, False]


@pytest.mark.parametrize("format", LOSSLESS)
def test_cityscapes_comes_back_with_its_masks(shared_data: Path, tmp_path: Path, format: str) -> None:
    source = shared_data / "cityscapes"
    few_frames = tmp_path / "city"
    for part in ("leftImg8bit", "gtFine"):
        few(source / part, few_frames / part, SMALL)
    options = BuildOptions(formats={"mask": "weir:fast"}, keep_source=True)
    build(few_frames, tmp_path / "data.pen", mix=f"{format}=1", options=options)
    dataset = penstock.open(tmp_path / "data.pen")

    assert len(dataset) >= SMALL
    for position, sample in enumerate(dataset):
        frame = next((few_frames / "leftImg8bit").rglob(f"{Path(sample['key']).name}*"))
        mask = next((few_frames / "gtFine").rglob(f"{frame.name.replace('_leftImg8bit.png', '')}*labelIds.png"))
        assert np.array_equal(sample["image"], penstock.decode(frame.read_bytes()))
        indices = find("png").decode(mask.read_bytes(), DecodeOptions(palette="indices"))
        assert np.array_equal(sample["mask"], indices)
        assert dataset.read(position, "source") == frame.read_bytes()
    assert verify(tmp_path / "data.pen").problems == ()


def test_shrinking_is_pillows_lanczos_and_masks_take_the_nearest(shared_data: Path, tmp_path: Path) -> None:
    from PIL import Image

    few_frames = tmp_path / "city"
    for part in ("leftImg8bit", "gtFine"):
        few(shared_data / "cityscapes" / part, few_frames / part, 2)
    build(few_frames, tmp_path / "data.pen", mix="png=1", options=BuildOptions(max_side=200))

    for sample in penstock.open(tmp_path / "data.pen"):
        frame = next((few_frames / "leftImg8bit").rglob(f"{Path(sample['key']).name}*"))
        mask = next((few_frames / "gtFine").rglob(f"{frame.name.replace('_leftImg8bit.png', '')}*labelIds.png"))
        expected = Image.open(frame).resize((200, 100), Image.Resampling.LANCZOS)
        assert np.array_equal(sample["image"], np.asarray(expected))
        assert np.array_equal(sample["mask"], np.asarray(Image.open(mask).resize((200, 100), Image.Resampling.NEAREST)))
