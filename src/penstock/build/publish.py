"""Last step of a build: from finished shards to an index and a manifest."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from penstock import _native
from penstock.build.index_table import Rows, WrittenShard, index_table, write_index
from penstock.build.recipe import SOURCE_FIELD, Recipe
from penstock.build.shard_notes import ORIGINS
from penstock.build.work import WorkFolder
from penstock.errors import DatasetError
from penstock.index import Field, ListedIndex
from penstock.lane_counts import choose_lanes
from penstock.records.dataset import open_dataset
from penstock.records.index import Index, one_chunk
from penstock.records.manifest import (
    FILE_NAME,
    INDEX_NAME,
    FileEntry,
    FormatCount,
    Manifest,
    ShardEntry,
    Skipped,
    TableEntry,
    checksum_text,
    read_manifest,
    write_manifest,
)
from penstock.storage import StorePath

if TYPE_CHECKING:
    import pyarrow as pa


def publish(
    recipe: Recipe,
    shards: Sequence[WrittenShard],
    work: WorkFolder,
    tables: _native.SluiceTables | None,
    *,
    durable: bool,
) -> Manifest:
    """Write the index, then the manifest, which makes the dataset valid. Refuse one that would not open."""
    source = recipe.index
    rows = Rows(shards, source.num_samples)
    if len(rows.kept) == 0:
        reason = next(reason for shard in shards for reason in shard.notes.skipped.values())
        raise DatasetError(
            f"no sample could be converted; the first: {reason}",
            where=str(work.root),
            fix="check the source; without --on-error skip the first problem is named with its place",
            code=203,
        )
    table = index_table(source.table, rows, recipe.written_fields(), shards)
    index = write_index(table)
    manifest = Manifest(
        identity=recipe.identity,
        num_samples=len(rows.kept),
        lanes=choose_lanes(len(rows.kept)),
        source=recipe.members["source"],
        recipe=recipe.members["recipe"],
        fields=(*_image_fields(recipe, table), *source.column_fields),
        splits=_splits(table),
        formats=_counts(recipe, shards, len(rows.kept)),
        metadata=_metadata(shards),
        skipped=_reasons(source, [shard.notes.skipped for shard in shards]),
        kept_as_jpeg=_reasons(source, [shard.notes.fallbacks for shard in shards]),
        tables=() if tables is None else (TableEntry("sluice", tables.name, tables.data),),
        index=FileEntry(INDEX_NAME, len(index), checksum_text(_native.crc32c(index))),
        shards=tuple(_entry(shard) for shard in shards),
    )
    members = write_manifest(manifest)
    check_opens(members, index, str(work.root))
    store = work.store(durable=durable)
    store.publish(INDEX_NAME, index)
    store.publish(FILE_NAME, members)
    return manifest


def publish_dataset(folder: str | os.PathLike[str], place: StorePath) -> None:
    """Publish the files of a finished dataset below a place of a store, and its manifest last.

    Readers see no dataset before everything is there. Nothing is replaced: a place that has a dataset is refused.

    >>> import tempfile, penstock
    >>> from penstock.build import build
    >>> from penstock.storage import MemoryStore
    >>> from penstock.synth import Scenes, write
    >>> place = StorePath(MemoryStore(), "sets/photos.pen")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     done = write(f"{folder}/images", images=4, scenes=Scenes(width=32, height=32))
    ...     built = build(f"{folder}/images", f"{folder}/data.pen", mix="png=1")
    ...     publish_dataset(f"{folder}/data.pen", place)
    >>> len(penstock.open(place))
    4
    """
    manifest = open_dataset(folder).manifest
    if (place / FILE_NAME).is_object():
        raise place.store.exists_already((place / FILE_NAME).name)
    for name in (*(shard.file for shard in manifest.shards), manifest.index.file, FILE_NAME):
        place.store.publish_file((place / name).name, Path(folder, name))


def check_opens(manifest: bytes, index: bytes, where: str) -> None:
    """Read a manifest and an index as a reader does, and raise DatasetError if they are refused."""
    found = read_manifest(manifest, where)
    opened = Index(index, found, where)
    for field in found.image_fields:
        opened.locations(field)


def _image_fields(recipe: Recipe, table: pa.Table) -> list[Field]:
    roles = {name: role.value for name, role in recipe.index.roles.items()}
    fields = []
    for field in recipe.written_fields():
        formats = one_chunk(table.column(f"{field.name}.format")).dictionary.to_pylist()
        fields.append(Field(field.name, roles.get(field.name, SOURCE_FIELD), tuple(formats)))
    return fields


def _splits(table: pa.Table) -> dict[str, int]:
    if "split" not in table.column_names:
        return {}
    counts = {entry["values"]: entry["counts"] for entry in table.column("split").value_counts().to_pylist()}
    return {name: counts[name] for name in sorted(name for name in counts if name is not None)}


def _counts(recipe: Recipe, shards: Sequence[WrittenShard], num_samples: int) -> dict[str, FormatCount]:
    counts = {}
    for format in dict.fromkeys([*map(str, recipe.formats), *(shard.format for shard in shards)]):
        rows = [shard.notes.rows[shard.notes.rows["field"] == 0] for shard in shards if shard.format == format]
        samples = sum(len(part) for part in rows)
        if not samples:
            continue
        origins = np.sum([np.bincount(part["origin"], minlength=len(ORIGINS)) for part in rows], axis=0)
        length = int(sum(part["length"].sum() for part in rows))
        counts[format] = FormatCount(samples / num_samples, samples, length, *(int(count) for count in origins))
    return counts


def _metadata(shards: Sequence[WrittenShard]) -> dict[str, dict[str, int]]:
    kept = sum((shard.notes.metadata_kept for shard in shards), Counter[str]())
    dropped = sum((shard.notes.metadata_dropped for shard in shards), Counter[str]())
    return {"kept": dict(sorted(kept.items())), "dropped": dict(sorted(dropped.items()))}


def _reasons(source: ListedIndex, notes: Sequence[Mapping[int, str]]) -> tuple[Skipped, ...]:
    reasons = {rank: reason for own in notes for rank, reason in own.items()}
    keys = source.table.column("key")
    return tuple(Skipped(keys[rank].as_py(), reasons[rank]) for rank in sorted(reasons))


def _entry(shard: WrittenShard) -> ShardEntry:
    notes = shard.notes
    return ShardEntry(
        shard.file, notes.shard_bytes, checksum_text(notes.shard_checksum), shard.format, notes.num_records
    )
