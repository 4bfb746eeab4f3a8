"""Export as WebDataset: tars of neighbouring members, a few thousand samples each.

OUT/train-000000.tar      cats/1.jpg  cats/1.mask.png  cats/1.cls  cats/1.json
OUT/classes.txt           names of the numbers in .cls

The .json holds the sample's key and columns, so that a build from the tars restores everything. The same dataset
gives the same bytes.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from penstock import _native
from penstock.codecs import Format
from penstock.codecs.table import BUILTIN, plug_ins
from penstock.export.file_naming import safe_path, unique_paths
from penstock.export.folder import write_classes
from penstock.export.images import FieldImages
from penstock.export.items import Items, wait
from penstock.export.row_values import json_line, read_rows
from penstock.records import Dataset
from penstock.types import OnProgress

WITHOUT_SPLIT = "samples"


def write_tars(
    dataset: Dataset,
    fields: Sequence[FieldImages],
    target: Format,
    folder: Path,
    shard_samples: int,
    threads: int,
    max_pixels: int,
    on_progress: OnProgress,
) -> tuple[int, Counter[str]]:
    """Fill an empty folder. Return the bytes of all members, and the metadata that their files could not hold."""
    names = member_names(dataset.column("key").to_pylist())
    pool = _native.ThreadPool(threads)
    files = _native.SourceFiles([os.fsencode(path) for path in dataset.shard_paths()])
    num_bytes, dropped, done = 0, Counter[str](), 0
    write_classes(dataset, folder)
    for tar, positions in _shards(dataset, shard_samples):
        items = _members(dataset, fields, names, positions)
        exporting = _native.export_tar(pool, items.plan(files, target, max_pixels), os.fsencode(folder / tar))
        wait(exporting, on_progress, done, len(dataset), len(items.names) / len(positions))
        done += len(positions)
        num_bytes += exporting.num_bytes
        dropped.update(exporting.dropped)
    return num_bytes, dropped


def member_names(keys: Sequence[str]) -> list[str]:
    """Return base names for samples: keys without image endings and dots, which would end the base name.

    >>> member_names(["cats/1.jpg", "cats/1.png", "v1.2/a.b.png"])
    ['cats/1', 'cats/1-1', 'v1.2/a_b']
    """
    known = frozenset(ending for codec in (*BUILTIN, *plug_ins()) for ending in codec.extensions)
    return unique_paths([_base_name(safe_path(key), known) for key in keys])


def _base_name(path: str, known: frozenset[str]) -> str:
    folder, slash, name = path.rpartition("/")
    stem, dot, ending = name.rpartition(".")
    name = stem if stem and dot + ending.lower() in known else name
    name = name.replace(".", "_")
    return f"{folder}{slash}{'a' + name if name.startswith('__') else name}"


def _shards(dataset: Dataset, shard_samples: int) -> list[tuple[str, npt.NDArray[np.int64]]]:
    """Return tars with the positions of their samples, split by split, in the order of the selection."""
    import pyarrow.compute as pc

    shards = []
    splits = dataset.column("split") if dataset.splits else None
    for split in (*dataset.splits, None):
        if splits is None:
            positions = np.arange(len(dataset))
        else:
            chosen = pc.is_null(splits) if split is None else pc.equal(splits, split).fill_null(False)
            positions = np.flatnonzero(chosen.to_numpy(zero_copy_only=False))
        stem = safe_path(split).replace("/", "_") if split else WITHOUT_SPLIT
        for number, begin in enumerate(range(0, len(positions), shard_samples)):
            shards.append((f"{stem}-{number:06}.tar", positions[begin : begin + shard_samples]))
    return shards


def _members(
    dataset: Dataset, fields: Sequence[FieldImages], names: list[str], positions: npt.NDArray[np.int64]
) -> Items:
    items = Items()
    selected = dataset.subset(dataset.ids[positions])
    keys = selected.column("key").to_pylist()
    labels = selected.column("label").to_pylist() if _has_label(dataset) else [None] * len(positions)
    rows = read_rows(selected, 0, len(positions))
    for row, position in enumerate(positions.tolist()):
        base = names[position]
        for field in fields:
            if field.file[position] >= 0:
                name = "" if field.name == "image" else f".{field.name}"
                items.add_image(f"{base}{name}{field.endings(position)[0]}", field, position)
        said = rows[row]
        if isinstance(labels[row], int):
            said.pop("label", None)
            items.add_text(f"{base}.cls", str(labels[row]).encode())
        items.add_text(f"{base}.json", json_line({"__key__": keys[row], **said}))
    return items


def _has_label(dataset: Dataset) -> bool:
    return any(field.name == "label" for field in dataset.fields)
