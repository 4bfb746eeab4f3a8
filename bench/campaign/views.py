"""Mix without a build: a dataset whose rows point into the shards of several finished builds.

Shards are hard links, rows are taken as they are from the index of the build that has the wanted format, and the
manifest is written again, so a loader checks every record as ever. It is not a dataset to keep: `penstock verify` finds
that its shards were born in others, which is true.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock import _native
from penstock.build.index_table import write_index
from penstock.records import Dataset
from penstock.records.manifest import FILE_NAME, INDEX_NAME, FileEntry, FormatCount, checksum_text, write_manifest


def make_view(builds: Mapping[str, Path], chosen: Sequence[str], path: Path) -> Path:
    """Make a dataset at `path` in which sample i is in the format `chosen[i]`. A finished one is kept.

    `builds` has, by format, datasets of one format each, made of the same source.
    """
    if (path / FILE_NAME).exists():
        return path
    formats = [format for format in builds if format in set(chosen)]
    parts = {format: Dataset(builds[format]) for format in formats}
    (path / "shards").mkdir(parents=True, exist_ok=True)
    for part in parts.values():
        for shard in part.shard_paths():
            link = path / "shards" / shard.name
            if not link.exists():
                os.link(shard, link)
    index = write_index(_rows(parts, np.array([formats.index(format) for format in chosen])))
    (path / INDEX_NAME).write_bytes(index)
    first = parts[formats[0]].manifest
    image = replace(first.field("image"), formats=tuple(formats))
    manifest = replace(
        first,
        fields=(image, *(field for field in first.fields if field.name != "image")),
        formats={format: _count(parts[format], format, chosen) for format in formats},
        index=FileEntry(INDEX_NAME, len(index), checksum_text(_native.crc32c(index))),
        shards=tuple(shard for part in parts.values() for shard in part.manifest.shards),
        tables=tuple(dict.fromkeys(entry for part in parts.values() for entry in part.manifest.tables)),
    )
    (path / FILE_NAME).write_bytes(write_manifest(manifest))
    return path


def _rows(parts: Mapping[str, Dataset], chosen: npt.NDArray[np.int64]) -> pa.Table:
    """Return row i of the part that sample i was given to."""
    tables = []
    for part in parts.values():
        table = part.columns
        plain = [column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column for column in table]
        tables.append(pa.table(dict(zip(table.column_names, plain, strict=True))))
    together = pa.concat_tables(tables)
    return together.take(pa.array(chosen * len(chosen) + np.arange(len(chosen)))).combine_chunks()


def _count(part: Dataset, format: str, chosen: Sequence[str]) -> FormatCount:
    """Count the samples of a build in the view."""
    mine = np.array([one == format for one in chosen])
    whole = part.manifest.formats[format]
    samples = int(mine.sum())
    made = [samples if count else 0 for count in (whole.kept, whole.transcoded, whole.encoded)]
    return FormatCount(samples / len(chosen), samples, int(part.locations().length[mine].sum()), *made)
