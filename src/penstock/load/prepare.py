"""Index prepared for a loader. A dataset's index has formats, sizes and checksums; that of files has places."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from penstock import _native
from penstock.codecs import parse_format
from penstock.documents import Document
from penstock.errors import ArgumentError, DatasetError
from penstock.index import Field, SampleIndex, StoredColumns
from penstock.index.fields import LOADED_ROLES
from penstock.load.batch_columns import batch_columns
from penstock.load.blocks import find_blocks
from penstock.load.engine_table import EngineTable
from penstock.order import Window
from penstock.records import Dataset
from penstock.records.dataset import record_sizes
from penstock.records.fidelity import stored_scans

FIELD_GRID = 64
MAX_WINDOW = 2**31 - 1  # samples or runs, so that their product fits 64 bits

Codec = tuple[str, tuple[int, ...]]
"""A codec's name, and the scans that its pieces have."""


def prepare(index: SampleIndex, fields: Sequence[str] | None = None) -> EngineTable:
    """Prepare an index for the engine, with these fields (by default the image, all its masks, and all columns)."""
    chosen = _chosen_fields(index, fields)
    if isinstance(index, Dataset):
        return _of_dataset(index, chosen, fields)
    from penstock.load.file_samples import samples_of_files  # which a dataset does not need

    return samples_of_files(index, chosen, fields)


def _of_dataset(dataset: Dataset, chosen: list[Field], fields: Sequence[str] | None) -> EngineTable:
    locations = [dataset.locations(field.name) for field in chosen]
    codecs = list(dict.fromkeys(codec_of(text) for found in locations for text in found.formats))
    blocks = find_blocks(locations, dataset.place)
    names = dataset.files
    table = _native.SampleTable(names.root, names.text, names.ends, len(locations[0]), [name for name, _ in codecs])
    if dataset.store is not None:
        table.read_from(dataset.store.read_part, locations[0].shard_bytes.astype(np.uint64))
    if blocks is not None:
        blocks.add_to(table, [scans for _, scans in codecs])
    for field, found in zip(chosen, locations, strict=True):
        _add_field(table, field, found, codecs, dataset.place)
    scalars, lists = batch_columns(dataset, fields, np.stack([locations[0].height, locations[0].width], axis=1))
    return EngineTable(
        place=dataset.place,
        index=dataset,
        num_samples=len(locations[0]),
        table=table,
        image_fields=tuple(field.name for field in chosen),
        scalars=scalars,
        lists=lists,
        formats=locations[0].format,
        splits=dataset.split_numbers,
        split_names=dataset.splits,
        sizes=record_sizes(locations) if blocks is None else blocks.sizes_at(None),
        largest_pixel_bytes=max(int(_pixel_bytes(found).max()) for found in locations),
        working_bytes=max(_working_bytes(found) for found in locations),
        fingerprint=dataset.fingerprint,
        lanes=dataset.manifest.lanes,
        window=_planned_window(dataset) or (None if blocks is None else blocks.window()),
        records=(locations[0].file, locations[0].offset),
        file_bytes=locations[0].shard_bytes,
        format_names=locations[0].formats,
        pixel_sizes=np.sum([_decoded_bytes(found) for found in locations], axis=0),
        blocks=blocks,
        masks=frozenset(field.name for field in chosen if field.role != "image"),
        has_checksums=True,
    )


def _planned_window(dataset: Dataset) -> Window | None:
    """Return the window of the plan that the dataset was built from, or None."""
    plan = dataset.manifest.recipe.get("plan")
    members = plan.get("window") if isinstance(plan, dict) else None
    if not isinstance(members, dict):
        return None
    window = Document(members, f"{dataset.path}: window of the plan", DatasetError)
    run, runs = (window.integer(name, minimum=1, maximum=MAX_WINDOW) for name in ("run", "runs"))
    return Window(run, runs)


def _chosen_fields(index: SampleIndex, names: Sequence[str] | None) -> list[Field]:
    known = {field.name: field for field in index.fields if field.role in LOADED_ROLES}
    if names is None:
        return [known["image"], *(field for name, field in known.items() if name != "image")]
    columns = {"key", *(field.name for field in index.fields if not field.is_image)}
    for name in names:
        if name not in known and name not in columns:
            fix = f"choose among {', '.join([*known, *sorted(columns)])}"
            raise ArgumentError(f"the {index.kind} has no field {name!r}", where="fields", fix=fix, code=100)
    return [known["image"], *(known[name] for name in names if name in known and name != "image")]


def _add_field(table: _native.SampleTable, field: Field, found: StoredColumns, codecs: list[Codec], place: str) -> None:
    absent = np.flatnonzero(found.file < 0)
    if len(absent):
        raise DatasetError(
            f"{len(absent)} samples have no {field.name} (sample {absent[0]} is the first)",
            where=place,
            fix=f"leave {field.name!r} out of `fields`, or build without these samples",
            code=240,
        )
    numbers = np.array([codecs.index(codec_of(text)) for text in found.formats], np.uint8)
    table.add_field(
        field.role != "image",
        found.file.astype(np.uint32),
        found.offset.astype(np.uint64),
        found.length.astype(np.uint64),
        found.checksum,
        numbers[found.format],
    )


def codec_of(format: str) -> Codec:
    """Return the codec of a format and the scans of its pieces; refuse formats that only Python decodes."""
    name = parse_format(format).codec
    if name not in _native.codec_names():
        raise ArgumentError(
            f"format '{format}' is decoded in Python, which a loader does not",
            where="format",
            fix="build the dataset with native formats: `penstock build --mix …`",
            code=100,
        )
    return name, stored_scans(format)


def _decoded_bytes(found: StoredColumns) -> npt.NDArray[np.int64]:
    """Return the bytes of one field as pixels in memory, with each image on its own grid."""
    pixel_bytes = found.channels.astype(np.int64) * np.where(found.bits > 8, 2, 1)
    return np.asarray(-(-found.width.astype(np.int64) * found.height * pixel_bytes // FIELD_GRID) * FIELD_GRID)


def _pixel_bytes(found: StoredColumns) -> npt.NDArray[np.int64]:
    samples = found.width.astype(np.int64) * found.height * np.maximum(found.channels, 3)
    return np.asarray(samples * np.where(found.bits > 8, 2, 1))


def _working_bytes(found: StoredColumns) -> int:
    """Return the scratch of the largest image of each format, assuming that it is as wide as the widest."""
    pixels, most = _pixel_bytes(found), 0
    for number, format in enumerate(found.formats):
        chosen = np.flatnonzero(found.format == number)
        if len(chosen) == 0:
            continue
        largest = chosen[np.argmax(pixels[chosen])]
        width = int(found.width[chosen].max())
        height = -(-int(found.width[largest]) * int(found.height[largest]) // width)
        shape = (height, width, int(found.channels[largest]), int(found.bits[largest]))
        most = max(most, _native.working_bytes(codec_of(format)[0], *shape))
    return most
