"""The same few images in every layout that is a source, and what datasets built from them have in common."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

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
ENDINGS = [".jpg" if seed % 2 else ".png" for seed in range(6)]
LABELS = ["dog", "cat", "dog", "bird", "cat", "cat"]
SPLITS = ["train", "train", "train", "val", "val", "val"]


def put(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def folder(root: Path) -> Path:
    for seed, data in enumerate(FILES):
        put(root / SPLITS[seed] / LABELS[seed] / f"{seed}{ENDINGS[seed]}", data)
    return root


def flat(root: Path) -> Path:
    for seed, data in enumerate(FILES):
        put(root / f"{seed}.v1{ENDINGS[seed]}", data)
    return root


def cityscapes(root: Path) -> Path:
    for seed, photo in enumerate(PHOTOS):
        stem = f"{SPLITS[seed]}/{LABELS[seed]}/{LABELS[seed]}_{seed:06}_000019"
        put(root / f"leftImg8bit/{stem}_leftImg8bit.png", penstock.encode(photo, "png"))
        put(root / f"gtFine/{stem}_gtFine_labelIds.png", MASK_FILES[seed])
        if seed % 2:
            instances = MASKS[seed].astype(np.uint16) * 300
            put(root / f"gtFine/{stem}_gtFine_instanceIds.png", penstock.encode(instances, "png"))
    return root


def webdataset(root: Path) -> Path:
    for split in ("train", "val"):
        members = {}
        for seed in range(6):
            if SPLITS[seed] == split:
                members[f"{seed:03}{ENDINGS[seed]}"] = FILES[seed]
                members[f"{seed:03}.seg.png"] = MASK_FILES[seed]
                members[f"{seed:03}.cls"] = str(seed % 3).encode()
                members[f"{seed:03}.json"] = json.dumps({"boxes": [[seed, 0.5]] * seed, "night": seed > 2}).encode()
        write_tar(root / f"{split}-000000.tar", members)
    return root


def parquet(root: Path) -> Path:
    names = ["dog", "cat", "bird"]
    features = {"label": {"names": names, "_type": "ClassLabel"}}
    images = [{"bytes": data, "path": f"{seed}{ENDINGS[seed]}"} for seed, data in enumerate(FILES)]
    table = pa.table(
        {
            "image": pa.array(images, pa.struct({"bytes": pa.binary(), "path": pa.string()})),
            "label": pa.array([names.index(label) for label in LABELS]),
            "caption": pa.array([f"a {label}.png" for label in LABELS]),
        }
    ).replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})
    root.mkdir(parents=True)
    pq.write_table(table.slice(0, 3), root / "train-00000-of-00001.parquet", row_group_size=2)
    pq.write_table(table.slice(3), root / "validation-00000-of-00001.parquet", row_group_size=2)
    return root


def manifest(root: Path) -> Path:
    rows = []
    for seed, data in enumerate(FILES):
        put(root / "files" / f"{seed}{ENDINGS[seed]}", data)
        put(root / "files" / f"{seed}.mask.png", MASK_FILES[seed])
        mask = f"files/{seed}.mask.png" if seed else None
        rows.append({"path": f"files/{seed}{ENDINGS[seed]}", "mask": mask, "label": LABELS[seed], "n": seed})
    (root / "list.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return root / "list.jsonl"


LAYOUTS: dict[str, Callable[[Path], Path]] = {
    "folder": folder,
    "flat": flat,
    "cityscapes": cityscapes,
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
