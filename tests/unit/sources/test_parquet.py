"""Parquet files with images, as `datasets` writes them and as others do."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import penstock
from penstock.errors import SourceError
from penstock.index import ASK, Role
from penstock.sources.parquet import ParquetImages
from tests.unit.sources.listed import bytes_of

IMAGES = [penstock.encode(np.full((4, 4 + shade), shade, np.uint8), "png") for shade in range(7)]
STRUCT = pa.struct({"bytes": pa.binary(), "path": pa.string()})


def embedded(images: Sequence[bytes | None], paths: Sequence[str | None] | None = None) -> pa.Array:
    values = zip(images, paths or [None] * len(images), strict=True)
    return pa.array([{"bytes": data, "path": path} for data, path in values], STRUCT)


def write(path: Path, columns: dict[str, pa.Array], features: object = None, row_group_size: int = 3) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pa.table(columns)
    if features is not None:
        table = table.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})
    pq.write_table(table, path, row_group_size=row_group_size)
    return path


def test_a_dataset_of_hugging_face_is_read_with_its_classes_and_splits(tmp_path: Path) -> None:
    features = {"image": {"_type": "Image"}, "label": {"names": ["dog", "cat"], "_type": "ClassLabel"}}
    for split, part in (("train", slice(0, 5)), ("test", slice(5, 7))):
        labels = [0, 1, 1, 0, 1, -1, -1][part]
        paths = [f"{number}.png" for number in range(7)][part]
        columns = {"image": embedded(IMAGES[part], paths), "label": pa.array(labels)}
        write(tmp_path / f"data/{split}-00000-of-00001.parquet", columns, features)
    source = ParquetImages(tmp_path)

    listing = source.listing()

    assert listing.roles == {"image": Role.IMAGE}
    assert listing.classes == ("dog", "cat")
    assert listing.keys.to_pylist() == ["5.png", "6.png", "0.png", "1.png", "2.png", "3.png", "4.png"]
    assert listing.splits is not None
    assert listing.splits.to_pylist() == ["test"] * 2 + ["train"] * 5
    assert listing.columns["label"].to_pylist() == [None, None, 0, 1, 1, 0, 1]
    assert bytes_of(source, listing) == [*IMAGES[5:], *IMAGES[:5]]


def test_plain_bytes_are_images_if_they_look_like_one(tmp_path: Path) -> None:
    columns = {"photo": pa.array(IMAGES, pa.large_binary()), "hash": pa.array([b"12"] * 7), "n": pa.array(range(7))}
    source = ParquetImages(write(tmp_path / "a.parquet", columns))

    listing = source.listing()

    assert bytes_of(source, listing) == IMAGES
    assert listing.keys.to_pylist()[:2] == ["a/00000000", "a/00000001"]
    assert list(listing.columns) == ["n"]
    assert dict(listing.left_out) == {"column 'hash' of type binary": 1}


def test_rows_are_read_in_batches_and_any_of_them_left_out(tmp_path: Path) -> None:
    source = ParquetImages(write(tmp_path / "a.parquet", {"image": embedded(IMAGES)}))
    source.listing()

    assert list(source.read("image", np.array([0, 2]))) == [IMAGES[0], IMAGES[2]]
    assert list(source.read("image", np.array([5, 6]))) == IMAGES[5:]
    assert list(source.read("image", np.array([1]))) == [IMAGES[1]]


def test_further_images_may_be_absent_and_nested_columns_are_flattened(tmp_path: Path) -> None:
    columns = {
        "image": embedded(IMAGES),
        "mask": embedded([IMAGES[0], None, *IMAGES[2:]]),
        "objects": pa.array([{"bbox": [[0.0, 1.0, 2.0, 3.0]], "category": [1]}] * 7),
    }
    source = ParquetImages(write(tmp_path / "a.parquet", columns))

    listing = source.listing()

    assert listing.roles == {"image": Role.IMAGE, "mask": Role.MASK}
    assert bytes_of(source, listing, "mask") == [IMAGES[0], None, *IMAGES[2:]]
    assert listing.columns["objects_bbox"].to_pylist()[0] == [[0.0, 1.0, 2.0, 3.0]]


def test_lengths_are_good_enough_for_an_estimate(tmp_path: Path) -> None:
    images = [np.random.default_rng(seed).bytes(10_000) for seed in range(7)]
    source = ParquetImages(write(tmp_path / "a.parquet", {"image": embedded(images)}))

    places = source.listing().images["image"]

    assert (places.file == ASK).all()
    assert 70_000 <= places.length.sum() <= 71_000


@pytest.mark.parametrize("paths", [["a.png"] * 7, ["../a.png", *"bcdefg"], ["/a.png", *"bcdefg"], [None, *"bcdefg"]])
def test_paths_that_name_no_sample_for_sure_are_not_keys(tmp_path: Path, paths: list[str | None]) -> None:
    source = ParquetImages(write(tmp_path / "x" / "a.parquet", {"image": embedded(IMAGES, paths)}))

    assert source.listing().keys.to_pylist() == [f"a/{row:08}" for row in range(7)]


def test_a_row_without_bytes_is_named(tmp_path: Path) -> None:
    images = [*IMAGES[:4], None, *IMAGES[5:]]
    source = ParquetImages(write(tmp_path / "a.parquet", {"image": embedded(images, ["x.png"] * 7)}))

    with pytest.raises(SourceError, match="no bytes of an image") as caught:
        source.listing()

    assert caught.value.where == f"{tmp_path / 'a.parquet'}: row group 1, row 1, column 'image'"


@pytest.mark.parametrize("damage", ["cut", "garbage", "empty"])
def test_a_damaged_file_is_named(damage: str, tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", {"image": embedded(IMAGES)})
    whole = path.read_bytes()
    path.write_bytes({"cut": whole[:-20], "garbage": b"\0" * len(whole), "empty": b""}[damage])

    with pytest.raises(SourceError, match="cannot be read") as caught:
        ParquetImages(path).listing()

    assert caught.value.where == str(path)


def test_files_with_other_columns_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", {"image": embedded(IMAGES)})
    write(tmp_path / "b.parquet", {"image": embedded(IMAGES), "x": pa.array(range(7))})

    with pytest.raises(SourceError, match="other columns"):
        ParquetImages(tmp_path).listing()


def test_a_table_without_images_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no column holds images; there are x"):
        ParquetImages(write(tmp_path / "a.parquet", {"x": pa.array([1])})).listing()


@pytest.mark.parametrize(
    "told", ["{", "[]", '{"info": 3}', '{"info": {"features": [1]}}', '{"info": {"features": {"image": 1}}}']
)
def test_nonsense_of_hugging_face_is_passed_over(told: str, tmp_path: Path) -> None:
    table = pa.table({"image": embedded(IMAGES)}).replace_schema_metadata({"huggingface": told})
    pq.write_table(table, tmp_path / "a.parquet")

    assert len(ParquetImages(tmp_path).listing().keys) == 7
