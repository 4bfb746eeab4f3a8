"""The same few images in every layout that is a source, and what datasets built from them have in common."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

import penstock
from penstock.records import Dataset
from tests.unit.sources.tars import write_tar

PHOTOS = [np.random.default_rng(seed).integers(0, 255, (24 + seed, 32, 3), np.uint8) for seed in range(6)]
MASKS = [(photo[..., 0] // 64).astype(np.uint8) for photo in PHOTOS]
FILES = [penstock.encode(photo, "jpeg:q=90" if seed % 2 else "png") for seed, photo in enumerate(PHOTOS)]
MASK_FILES = [penstock.encode(mask, "png") for mask in MASKS]
NAMES = ["dog", "cat", "bird"]


def label_of(number: int) -> str:
    return ("dog", "cat", "dog", "bird")[number % 4]


def split_of(number: int, count: int) -> str:
    return "train" if 2 * number < count else "val"


def ending_of(data: bytes) -> str:
    return {"jpeg": ".jpg", "png": ".png"}[penstock.inspect(data).codec]


def put(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def folder(root: Path, files: Sequence[bytes] = FILES, masks: Sequence[bytes] = MASK_FILES) -> Path:
    for number, data in enumerate(files):
        put(root / split_of(number, len(files)) / label_of(number) / f"{number}{ending_of(data)}", data)
    return root


def flat(root: Path, files: Sequence[bytes] = FILES, masks: Sequence[bytes] = MASK_FILES) -> Path:
    for number, data in enumerate(files):
        put(root / f"{number}.v1{ending_of(data)}", data)
    return root


def cityscapes(root: Path, files: Sequence[bytes] = FILES, masks: Sequence[bytes] = MASK_FILES) -> Path:
    for number, (data, mask) in enumerate(zip(files, masks, strict=True)):
        city = label_of(number)
        stem = f"{split_of(number, len(files))}/{city}/{city}_{number:06}_000019"
        put(root / f"leftImg8bit/{stem}_leftImg8bit.png", data)
        put(root / f"gtFine/{stem}_gtFine_labelIds.png", mask)
        if number % 2:
            instances = penstock.decode(mask).astype(np.uint16) * 300
            put(root / f"gtFine/{stem}_gtFine_instanceIds.png", penstock.encode(instances, "png"))
    return root


def images_and_masks(root: Path, files: Sequence[bytes] = FILES, masks: Sequence[bytes] = MASK_FILES) -> Path:
    for number, (data, mask) in enumerate(zip(files, masks, strict=True)):
        put(root / "images" / label_of(number) / f"{number}{ending_of(data)}", data)
        put(root / "masks" / label_of(number) / f"{number}.png", mask)
    return root


def webdataset(root: Path, files: Sequence[bytes] = FILES, masks: Sequence[bytes] = MASK_FILES) -> Path:
    for split in ("train", "val"):
        members = {}
        for number, (data, mask) in enumerate(zip(files, masks, strict=True)):
            if split_of(number, len(files)) == split:
                said = {"boxes": [[number, 0.5]] * (number % 4), "night": number > 2}
                members[f"{number:03}{ending_of(data)}"] = data
                members[f"{number:03}.seg.png"] = mask
                members[f"{number:03}.cls"] = str(number % 3).encode()
                members[f"{number:03}.json"] = json.dumps(said).encode()
        write_tar(root / f"{split}-000000.tar", members)
    return root


def parquet(root: Path, files: Sequence[bytes] = FILES, masks: Sequence[bytes] = MASK_FILES) -> Path:
    features = {"label": {"names": NAMES, "_type": "ClassLabel"}}
    images = [{"bytes": data, "path": f"{number}{ending_of(data)}"} for number, data in enumerate(files)]
    table = pa.table(
        {
            "image": pa.array(images, pa.struct({"bytes": pa.binary(), "path": pa.string()})),
            "label": pa.array([NAMES.index(label_of(number)) for number in range(len(files))]),
            "caption": pa.array([f"a {label_of(number)}.png" for number in range(len(files))]),
        }
    ).replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})
    root.mkdir(parents=True)
    half = len(files) // 2
    pq.write_table(table.slice(0, half), root / "train-00000-of-00001.parquet", row_group_size=2)
    pq.write_table(table.slice(half), root / "validation-00000-of-00001.parquet", row_group_size=2)
    return root


def manifest(root: Path, files: Sequence[bytes] = FILES, masks: Sequence[bytes] = MASK_FILES) -> Path:
    rows = []
    for number, (data, mask) in enumerate(zip(files, masks, strict=True)):
        place = f"files/{number}{ending_of(data)}"
        put(root / place, data)
        put(root / f"files/{number}.mask.png", mask)
        own = f"files/{number}.mask.png" if number else None
        rows.append({"path": place, "mask": own, "label": label_of(number), "n": number})
    (root / "list.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return root / "list.jsonl"


class Layout(Protocol):
    """Writes images and their masks, and says what to build from."""

    def __call__(self, root: Path, files: Sequence[bytes] = FILES, masks: Sequence[bytes] = MASK_FILES) -> Path:
        """Where the source is."""


LAYOUTS: dict[str, Layout] = {
    "folder": folder,
    "flat": flat,
    "cityscapes": cityscapes,
    "masks": images_and_masks,
    "webdataset": webdataset,
    "parquet": parquet,
    "manifest": manifest,
}


def facts(dataset: Dataset) -> dict[str, object]:
    """Everything that a dataset says of its samples beside pixels; values, not their widths."""
    names = ["key", *(field.name for field in dataset.fields if not field.is_image)]
    columns = {
        name: dataset.column(name).to_pylist() for name in (*names, "split")[: len(names) + bool(dataset.splits)]
    }
    roles = {field.name: field.role for field in dataset.fields if field.is_image and field.role != "source"}
    return {"columns": columns, "classes": dataset.classes, "roles": roles}


def pixels(dataset: Dataset) -> dict[tuple[str, str], npt.NDArray[Any] | None]:
    """Pixels of every image by key and field."""
    fields = [field.name for field in dataset.fields if field.is_image and field.role != "source"]
    return {(sample["key"], field): sample[field] for sample in dataset for field in fields}


def assert_same(one: Dataset, other: Dataset) -> None:
    """Equal keys, ids, splits, labels, columns and pixels."""
    assert facts(one) == facts(other)
    mine, theirs = pixels(one), pixels(other)
    assert mine.keys() == theirs.keys()
    for place, image in mine.items():
        found = theirs[place]
        if image is None or found is None:
            assert image is found, place
        else:
            np.testing.assert_array_equal(image, found, err_msg=str(place))
