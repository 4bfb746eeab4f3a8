"""Export as a folder of images, with one sub-folder per class.

OUT/train/cat/1.jpg                                   splits and classes are folders, keys are names
OUT/images/train/cat/1.jpg, OUT/masks/train/cat/1.png    if samples have several images
OUT/manifest.jsonl, OUT/classes.txt                   everything else: with them, the folder is a source that gives
                                                      the same keys, ids, labels and columns
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from penstock import _native
from penstock.codecs import Format
from penstock.codecs.table import BUILTIN, plug_ins
from penstock.errors import ArgumentError
from penstock.export.file_naming import folders_above, safe_path, under, unique_paths, with_ending
from penstock.export.images import FieldImages
from penstock.export.items import Items, wait
from penstock.export.row_values import batches, json_line, read_rows
from penstock.records import Dataset
from penstock.storage import AppendFile, make_folders, write_file
from penstock.types import OnProgress

MANIFEST = "manifest.jsonl"
CLASSES = "classes.txt"
FOLDERS = {"image": "images", "mask": "masks"}


def write_folder(
    dataset: Dataset,
    fields: Sequence[FieldImages],
    target: Format,
    folder: Path,
    threads: int,
    max_pixels: int,
    on_progress: OnProgress,
) -> tuple[int, Counter[str]]:
    """Fill an empty folder. Return the bytes of all images, and the metadata that their files could not hold."""
    names = {field.name: file_names(dataset, field, alone=len(fields) == 1) for field in fields}
    pool = _native.ThreadPool(threads)
    files = _native.SourceFiles([os.fsencode(path) for path in dataset.shard_paths()])
    num_bytes, dropped = 0, Counter[str]()
    keys = dataset.column("key")
    write_classes(dataset, folder)
    with AppendFile(folder / f".{MANIFEST}") as manifest:
        for begin, end in batches(len(dataset)):
            rows = read_rows(dataset, begin, end)
            items = Items()
            for position, row in zip(range(begin, end), rows, strict=True):
                said: dict[str, object] = {"key": keys[position].as_py()}
                for field in fields:
                    if field.file[position] >= 0:
                        name = names[field.name][position]
                        items.add_image(name, field, position)
                        said[field.name] = {"path": name, "role": field.role}
                manifest.append(json_line({**said, **row}))
            _make_folders(folder, items)
            exporting = _native.export_files(pool, items.plan(files, target, max_pixels), os.fsencode(folder))
            wait(exporting, on_progress, begin, len(dataset), len(items.names) / (end - begin))
            num_bytes += exporting.num_bytes
            dropped.update(exporting.dropped)
        manifest.publish(folder / MANIFEST)
    return num_bytes, dropped


def file_names(dataset: Dataset, field: FieldImages, *, alone: bool) -> list[str]:
    """Return the path of each sample's image, relative to the folder; "" if a sample has no image."""
    known = frozenset(ending for codec in (*BUILTIN, *plug_ins()) for ending in codec.extensions)
    prefix = "" if alone else f"{FOLDERS.get(field.name, safe_path(field.name))}/"
    places = class_folders(dataset)
    keys = dataset.column("key").to_pylist()
    present = np.flatnonzero(field.file >= 0).tolist()
    paths = [
        prefix + with_ending(safe_path(under(keys[position], places[position])), field.endings(position), known)
        for position in present
    ]
    reserved = unique_paths([MANIFEST, CLASSES, *paths])[2:]
    names = [""] * len(keys)
    for position, name in zip(present, reserved, strict=True):
        names[position] = name
    return names


def class_folders(dataset: Dataset) -> list[list[str]]:
    """Return the split and the class of every sample as folder names; missing ones are left out."""
    columns: list[list[str | None]] = []
    if dataset.splits:
        columns.append(dataset.column("split").to_pylist())
    labels = _label_names(dataset)
    if labels is not None:
        columns.append(labels)
    if not columns:
        return [[]] * len(dataset)
    return [[safe_path(name).replace("/", "_") for name in names if name] for names in zip(*columns, strict=True)]


def write_classes(dataset: Dataset, folder: Path) -> None:
    """Write the class table, one name per line."""
    if dataset.classes is None:
        return
    if any("\n" in name or "\r" in name for name in dataset.classes):
        raise ArgumentError("the name of a class has a line break", where=str(dataset.path), fix="rename the class")
    write_file(folder / CLASSES, "".join(f"{name}\n" for name in dataset.classes).encode())


def _label_names(dataset: Dataset) -> list[str | None] | None:
    """Convert labels to folder names: unique names of the class table, or numbers that sort in order."""
    import pyarrow as pa

    if all(field.name != "label" for field in dataset.fields):
        return None
    labels = dataset.column("label")
    if not pa.types.is_integer(labels.type):
        return None
    values: list[int | None] = labels.to_pylist()
    if dataset.classes is not None:
        folders = unique_paths([safe_path(name.replace("/", "_")) for name in dataset.classes])
        return [None if value is None else folders[value] for value in values]
    width = max((len(str(value)) for value in values if value is not None), default=1)
    return [None if value is None else f"{value:0{width}}" for value in values]


def _make_folders(root: Path, items: Items) -> None:
    needed = {os.path.dirname(name) for name in items.names}  # noqa: PTH120 - bytes
    for place in sorted(
        folder for name in needed for folder in (*folders_above(name.decode()), name.decode()) if folder
    ):
        make_folders(root / place)
