"""A built dataset as samples: columns of its index become the native table's."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from penstock import _native
from penstock.codecs import parse_format
from penstock.documents import Document
from penstock.errors import ArgumentError, DatasetError
from penstock.load.blocks import find_blocks
from penstock.load.columns import ListColumn, as_list_column
from penstock.load.samples import Samples, as_folder, pack_names
from penstock.order import Window
from penstock.records import Dataset, Field, Locations
from penstock.records.fidelity import stored_scans

if TYPE_CHECKING:
    import pyarrow as pa

FIELD_GRID = 64
MAX_WINDOW = 2**31 - 1  # samples or runs, so that their product fits 64 bits
LOADED_ROLES = ("image", "mask", "depth")

Codec = tuple[str, tuple[int, ...]]
"""A codec's name, and the scans that its pieces have."""


def open_dataset(path: str | os.PathLike[str], fields: Sequence[str] | None = None) -> Samples:
    """The samples of a dataset, with these image fields (by default the picture and all masks of it)."""
    dataset = Dataset(path)
    chosen = _chosen_fields(dataset, fields)
    locations = [dataset.locations(field.name) for field in chosen]
    codecs = list(dict.fromkeys(_codec_of(text) for found in locations for text in found.formats))
    blocks = find_blocks(locations, str(path))
    names, name_ends = pack_names([os.fsencode(file) for file in locations[0].shard_files])
    table = _native.SampleTable(as_folder(path), names, name_ends, len(locations[0]), [name for name, _ in codecs])
    if blocks is not None:
        blocks.add_to(table, [scans for _, scans in codecs])
    for field, found in zip(chosen, locations, strict=True):
        _add_field(table, field, found, codecs, str(path))
    splits, split_names = _splits(dataset)
    scalars, lists = _columns(dataset, fields, locations[0])
    return Samples(
        place=str(path),
        num_samples=len(locations[0]),
        table=table,
        image_fields=tuple(field.name for field in chosen),
        scalars=scalars,
        lists=lists,
        formats=locations[0].format,
        splits=splits,
        split_names=split_names,
        sizes=_record_sizes(locations) if blocks is None else blocks.sizes_at(None),
        largest_pixel_bytes=max(int(_pixel_bytes(found).max()) for found in locations),
        working_bytes=max(_working_bytes(found) for found in locations),
        fingerprint=dataset.fingerprint,
        lanes=dataset.manifest.lanes,
        window=_planned_window(dataset) or (None if blocks is None else blocks.window()),
        records=(locations[0].shard, locations[0].offset),
        format_names=locations[0].formats,
        pixel_sizes=np.sum([_decoded_bytes(found) for found in locations], axis=0),
        blocks=blocks,
        masks=frozenset(field.name for field in chosen if field.role != "image"),
    )


def _planned_window(dataset: Dataset) -> Window | None:
    """What the plan that the dataset was built by says of reading, if it says anything."""
    plan = dataset.manifest.recipe.get("plan")
    members = plan.get("window") if isinstance(plan, dict) else None
    if not isinstance(members, dict):
        return None
    window = Document(members, f"{dataset.path}: window of the plan", DatasetError)
    run, runs = (window.integer(name, minimum=1, maximum=MAX_WINDOW) for name in ("run", "runs"))
    return Window(run, runs)


def _chosen_fields(dataset: Dataset, names: Sequence[str] | None) -> list[Field]:
    known = {field.name: field for field in dataset.fields if field.role in LOADED_ROLES}
    if names is None:
        return [known["image"], *(field for name, field in known.items() if name != "image")]
    columns = {"key", *(field.name for field in dataset.fields if not field.is_image)}
    for name in names:
        if name not in known and name not in columns:
            fix = f"choose among {', '.join([*known, *sorted(columns)])}"
            raise ArgumentError(f"the dataset has no field {name!r}", where="fields", fix=fix, code=100)
    return [known["image"], *(known[name] for name in names if name in known and name != "image")]


def _add_field(table: _native.SampleTable, field: Field, found: Locations, codecs: list[Codec], place: str) -> None:
    absent = np.flatnonzero(found.shard < 0)
    if len(absent):
        raise DatasetError(
            f"{len(absent)} samples have no {field.name} (sample {absent[0]} is the first)",
            where=place,
            fix=f"leave {field.name!r} out of `fields`, or build without these samples",
            code=240,
        )
    numbers = np.array([codecs.index(_codec_of(text)) for text in found.formats], np.uint8)
    table.add_field(
        field.role != "image",
        found.shard.astype(np.uint32),
        found.offset.astype(np.uint64),
        found.length.astype(np.uint64),
        found.checksum,
        numbers[found.format],
    )


def _codec_of(format: str) -> Codec:
    name = parse_format(format).codec
    if name not in _native.codec_names():
        raise ArgumentError(
            f"format '{format}' is decoded in Python, which a loader does not",
            where="format",
            fix="build the dataset with native formats: `penstock build --mix …`",
            code=100,
        )
    return name, stored_scans(format)


def _decoded_bytes(found: Locations) -> npt.NDArray[np.int64]:
    """Of one field, as memory keeps pixels: each image on a grid of its own."""
    pixel_bytes = found.channels.astype(np.int64) * np.where(found.bits > 8, 2, 1)
    return np.asarray(-(-found.width.astype(np.int64) * found.height * pixel_bytes // FIELD_GRID) * FIELD_GRID)


def _pixel_bytes(found: Locations) -> npt.NDArray[np.int64]:
    samples = found.width.astype(np.int64) * found.height * np.maximum(found.channels, 3)
    return np.asarray(samples * np.where(found.bits > 8, 2, 1))


def _working_bytes(found: Locations) -> int:
    """Of the largest image of each format, were it as wide as the widest."""
    pixels, most = _pixel_bytes(found), 0
    for number, format in enumerate(found.formats):
        chosen = np.flatnonzero(found.format == number)
        if len(chosen) == 0:
            continue
        largest = chosen[np.argmax(pixels[chosen])]
        width = int(found.width[chosen].max())
        height = -(-int(found.width[largest]) * int(found.height[largest]) // width)
        shape = (height, width, int(found.channels[largest]), int(found.bits[largest]))
        most = max(most, _native.working_bytes(_codec_of(format)[0], *shape))
    return most


def _record_sizes(locations: Sequence[Locations]) -> npt.NDArray[np.int64]:
    begin = np.minimum.reduce([found.offset for found in locations])
    end = np.maximum.reduce([found.offset + found.length for found in locations])
    return np.asarray(end - begin)


def _splits(dataset: Dataset) -> tuple[npt.NDArray[np.int16], tuple[str, ...]]:
    count, names = dataset.manifest.num_samples, dataset.splits
    if not names:
        return np.full(count, -1, np.int16), ()
    found = np.asarray(dataset.column("split").to_numpy(zero_copy_only=False))
    numbers = np.full(count, -1, np.int16)
    for number, name in enumerate(names):
        numbers[found == name] = number
    return numbers, names


def _columns(
    dataset: Dataset, names: Sequence[str] | None, found: Locations
) -> tuple[dict[str, npt.NDArray[np.generic]], dict[str, ListColumn]]:
    """Columns of numbers as arrays, all others as lists. `key` is there if it is asked for."""
    wanted = [field.name for field in dataset.fields if not field.is_image]
    if names is not None:
        wanted = [name for name in ("key", *wanted) if name in names]
    numbers: dict[str, npt.NDArray[np.generic]] = {}
    lists: dict[str, ListColumn] = {}
    for name in wanted:
        column = dataset.column(name)
        if _is_number(column):
            numbers[name] = np.asarray(column.to_numpy(zero_copy_only=False))
        else:
            lists[name] = as_list_column(name, column, (found.height, found.width))
    return numbers, lists


def _is_number(column: pa.Array) -> bool:
    """Whether NumPy holds all values: integers that are not there become not-a-number, but flags cannot."""
    import pyarrow as pa

    kind = column.type
    is_flag = pa.types.is_boolean(kind) and column.null_count == 0
    return bool(is_flag or pa.types.is_integer(kind) or pa.types.is_floating(kind))
