"""Consistency of manifest and index of a dataset, as a part of `penstock verify`.

This module reads no shard. Values that could mislead a reader are refused when the index is opened (`index.py`). The
values checked here may be wrong, but not dangerous: ids, keys, counts, and the origin of an image.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from penstock.lane_counts import choose_lanes
from penstock.records.manifest import FILE_NAME, INDEX_NAME, FormatCount, Manifest
from penstock.records.problem import Problem

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock.index import Field, StoredColumns
from penstock.records.dataset import Dataset

SHARE_ERROR = 1e-9


def contradictions(dataset: Dataset, locations: Mapping[str, StoredColumns]) -> list[Problem]:
    """List all contradictions between manifest and index."""
    manifest = dataset.manifest
    keys = dataset.column("key")
    return [
        *_of_manifest(manifest),
        *_of_rows(dataset, keys),
        *_of_splits(dataset),
        *_of_labels(dataset),
        *_of_formats(dataset, locations["image"]),
        *_of_shards(manifest, locations["image"]),
        *_of_skipped(manifest, keys),
        *_of_kept_as_jpeg(manifest, keys, locations["image"]),
        *(problem for field in manifest.image_fields for problem in _of_origins(dataset, field, locations[field.name])),
    ]


def _of_manifest(manifest: Manifest) -> Iterator[Problem]:
    lanes = choose_lanes(manifest.num_samples)
    if manifest.lanes != lanes:
        yield Problem(FILE_NAME, f"it says {manifest.lanes} lanes; {manifest.num_samples} samples have {lanes}")
    members = {"source": manifest.source, "recipe": manifest.recipe}
    text = json.dumps(members, sort_keys=True, separators=(",", ":"))
    if hashlib.sha256(text.encode()).hexdigest()[:32] != manifest.identity:
        yield Problem(FILE_NAME, "its identity is not that of its source and recipe")


def _of_rows(dataset: Dataset, keys: pa.Array) -> Iterator[Problem]:
    ids = dataset.column("id").to_numpy(zero_copy_only=False)
    odd = np.flatnonzero(ids != np.arange(len(ids)))
    if len(odd):
        yield Problem(INDEX_NAME, f"row {odd[0]} has id {ids[odd[0]]}; ids count the rows from 0")
    row = _first_unsorted(keys)
    if row is not None:
        first, second = keys[row].as_py(), keys[row + 1].as_py()
        what = "two samples have this key" if first == second else "keys are not sorted: this one comes too early"
        yield Problem(INDEX_NAME, what, key=first)


def _first_unsorted(keys: pa.Array) -> int | None:
    """Return the first row whose key is not below the next one, in the order of their bytes."""
    import pyarrow.compute as pc

    is_below = pc.less(keys.slice(0, len(keys) - 1), keys.slice(1)).to_numpy(zero_copy_only=False)
    wrong = np.flatnonzero(~is_below.astype(bool))
    return int(wrong[0]) if len(wrong) else None


def _of_splits(dataset: Dataset) -> Iterator[Problem]:
    told = dict(dataset.manifest.splits)
    found = _counted(dataset.column("split")) if told else {}
    if found != told:
        yield Problem(FILE_NAME, f"it counts {_shown(told)} of the splits, the index has {_shown(found)}")


def _of_labels(dataset: Dataset) -> Iterator[Problem]:
    import pyarrow as pa
    import pyarrow.compute as pc

    for field in dataset.fields:
        if field.is_image or field.classes is None:
            continue
        column = dataset.column(field.name)
        if not pa.types.is_integer(column.type):
            yield Problem(FILE_NAME, f"field '{field.name}' has classes, but holds {column.type}")
            continue
        bounds = pc.min_max(column).as_py()
        if bounds["min"] is not None and not 0 <= bounds["min"] <= bounds["max"] < len(field.classes):
            told = f"{bounds['min']} to {bounds['max']} do not count its {len(field.classes)} classes"
            yield Problem(INDEX_NAME, f"values of '{field.name}' from {told}")


def _of_formats(dataset: Dataset, image: StoredColumns) -> Iterator[Problem]:
    manifest = dataset.manifest
    kept = _flags(dataset.column("image.kept"))
    found = {name: image.format == number for number, name in enumerate(image.formats)}
    for name in {**manifest.formats, **found}:
        rows = found.get(name, np.zeros(len(image), bool))
        told = manifest.formats.get(name)
        if told is None or _differs(told, rows, image, kept):
            bytes_found = int(image.length[rows].sum())
            counts = f"{int(rows.sum())} samples of {bytes_found} bytes, {int((kept & rows).sum())} of them kept"
            yield Problem(FILE_NAME, f"what it counts of format '{name}' is not what the index has: {counts}")


def _differs(told: FormatCount, rows: npt.NDArray[np.bool_], image: StoredColumns, kept: npt.NDArray[np.bool_]) -> bool:
    samples = int(rows.sum())
    counts = (samples, int(image.length[rows].sum()), int((kept & rows).sum()), samples)
    claimed = (told.samples, told.bytes, told.kept, told.kept + told.transcoded + told.encoded)
    return counts != claimed or abs(told.share - samples / len(rows)) > SHARE_ERROR


def _of_shards(manifest: Manifest, image: StoredColumns) -> Iterator[Problem]:
    records = np.bincount(image.file, minlength=len(manifest.shards))
    pairs = np.unique(image.file.astype(np.int64) * len(image.formats) + image.format)
    formats: dict[int, list[str]] = {}
    for shard_number, code in zip(*(part.tolist() for part in np.divmod(pairs, len(image.formats))), strict=True):
        formats.setdefault(shard_number, []).append(image.formats[code])
    for number, shard in enumerate(manifest.shards):
        if shard.records != records[number]:
            yield Problem(shard.file, f"the manifest says {shard.records} records, the index has {records[number]}")
        own = formats.get(number, [shard.format])
        if own != [shard.format]:
            yield Problem(shard.file, f"the manifest says format '{shard.format}', the index {_shown(own)}")


def _of_skipped(manifest: Manifest, keys: pa.Array) -> Iterator[Problem]:
    import pyarrow as pa
    import pyarrow.compute as pc

    skipped = [entry.key for entry in manifest.skipped]
    if not skipped:
        return
    if manifest.recipe.get("on_error") != "skip":
        yield Problem(FILE_NAME, f"it lists {len(skipped)} skipped samples, but its recipe skips none")
    key, count = Counter(skipped).most_common(1)[0]
    if count > 1:
        yield Problem(FILE_NAME, "a sample is listed as skipped twice", key=key)
    present = pc.is_in(pa.array(skipped, pa.string()), value_set=keys).to_numpy(zero_copy_only=False)
    if present.any():
        yield Problem(
            FILE_NAME, "a sample is listed as skipped and is in the index", key=skipped[int(present.argmax())]
        )


def _of_kept_as_jpeg(manifest: Manifest, keys: pa.Array, image: StoredColumns) -> Iterator[Problem]:
    import pyarrow as pa
    import pyarrow.compute as pc

    if not manifest.kept_as_jpeg:
        return
    listed = pa.array([entry.key for entry in manifest.kept_as_jpeg], pa.string())
    rows = pc.index_in(listed, value_set=keys).fill_null(-1).to_numpy(zero_copy_only=False)
    skipped = {entry.key for entry in manifest.skipped}
    for entry, row in zip(manifest.kept_as_jpeg, rows.tolist(), strict=True):
        if row < 0 and entry.key in skipped:
            continue  # it could not be read as a JPEG either
        if row < 0 or image.formats[image.format[row]] != "jpeg":
            yield Problem(FILE_NAME, "a sample is listed as kept as jpeg, but is not stored so", key=entry.key)
            return


def _of_origins(dataset: Dataset, field: Field, found: StoredColumns) -> Iterator[Problem]:
    """Check that kept bytes have no hash of the source's pixels and no separate metadata."""
    kept = _flags(dataset.column(f"{field.name}.kept"))
    hashed = dataset.column(f"{field.name}.pixels").is_valid().to_numpy(zero_copy_only=False)
    for wrong, what in (
        (kept & hashed, "is marked as kept, but has a hash of other pixels"),
        (kept & (found.metadata_length > 0), "is marked as kept, but has metadata beside it"),
        (kept & (found.file < 0), "is marked as kept, but is not there"),
    ):
        rows = np.flatnonzero(wrong)
        if len(rows):
            key = dataset.column("key")[int(rows[0])].as_py()
            more = f" (and {len(rows) - 1} others)" if len(rows) > 1 else ""
            yield Problem(INDEX_NAME, f"{field.name} {what}{more}", key=key)


def _flags(column: pa.Array) -> npt.NDArray[np.bool_]:
    flags: npt.NDArray[np.bool_] = column.fill_null(False).to_numpy(zero_copy_only=False).astype(bool)
    return flags


def _counted(column: pa.Array) -> dict[str, int]:
    counts = column.value_counts().to_pylist()
    return {entry["values"]: entry["counts"] for entry in counts if entry["values"] is not None}


def _shown(value: Any) -> str:  # noqa: ANN401
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 100 else f"{text[:97]}..."
