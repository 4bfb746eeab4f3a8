"""A build from end to end: list, assign, convert, index, publish."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from penstock import _native
from penstock.build.assignment import assign_formats, write_order
from penstock.build.index import Rows, WrittenField, WrittenShard, index_table, write_index
from penstock.build.listing import Listing, list_source
from penstock.build.options import BuildOptions
from penstock.build.rows import ORIGINS
from penstock.build.sources import open_source
from penstock.build.target import check_format, keep_target, target_of
from penstock.build.work import SHARDS_FOLDER, WorkFolder
from penstock.codecs import Format, parse_mix
from penstock.errors import ArgumentError, DatasetError
from penstock.records.dataset import open_dataset
from penstock.records.index import one_chunk
from penstock.records.manifest import (
    FILE_NAME,
    INDEX_NAME,
    Field,
    FileEntry,
    FormatCount,
    Manifest,
    ShardEntry,
    Skipped,
    checksum_text,
    lanes_for,
    write_manifest,
)
from penstock.storage import write_file
from penstock.types import OnProgress, no_progress

if TYPE_CHECKING:
    import pyarrow as pa

POLL_SECONDS = 0.1
SOURCE_FIELD = "source"


@dataclass(frozen=True, slots=True)
class Built:
    """What a build did."""

    path: Path
    manifest: Manifest
    num_converted: int
    """Samples read and converted by this run; less than all if it went on with an earlier one."""
    source_bytes: int
    """Read by this run."""


def build(
    source: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    mix: str | Mapping[Format, float],
    options: BuildOptions | None = None,
    threads: int = 0,
    force: bool = False,
    on_progress: OnProgress = no_progress,
) -> Built:
    """Write the images of a source as a dataset, in a mix such as "weir:fast=0.6,png=0.4".

    The result depends on the source, the mix and the options alone, to the byte: not on threads, and not on how often
    the build was killed and called again, which goes on behind the last finished shard. A folder that holds another
    dataset is refused; `force` replaces it. `threads` 0 means all usable cores.

    >>> import tempfile
    >>> from penstock.synth import Scenes, write
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     done = write(f"{folder}/images", images=10, scenes=Scenes(width=32, height=32))
    ...     built = build(f"{folder}/images", f"{folder}/data.pen", mix="png=0.7,raw=0.3")
    >>> {name: count.samples for name, count in built.manifest.formats.items()}
    {'png': 7, 'raw': 3}
    """
    chosen = options or BuildOptions()
    chosen.check_values()
    parsed = parse_mix(mix) if isinstance(mix, str) else dict(mix)
    formats = chosen.field_formats()
    for format in (*parsed, *formats.values()):
        check_format(format)
    opened = open_source(source, chosen.source_kind)
    listing = list_source(opened)
    plan = _Plan(listing, parsed, chosen)
    work = WorkFolder(Path(out))
    work.check()
    if force:
        work.clear()
    if work.is_finished():
        return _already_built(work, plan)
    work.begin(plan.recipe(), hashlib.sha256(opened.state()).hexdigest())
    run = _Run(plan, work, _native.ThreadPool(threads), on_progress)
    return run.build()


class _Plan:
    """What is to be written: which samples in which format and order, and what becomes of every field."""

    def __init__(self, listing: Listing, mix: Mapping[Format, float], options: BuildOptions) -> None:
        self.listing = listing
        self.options = options
        self.mix = dict(mix)
        self.formats = list(mix)
        self.field_formats = options.field_formats()
        unknown = sorted(set(self.field_formats) - set(listing.layout.roles) | ({"image"} & set(self.field_formats)))
        if unknown:
            known = ", ".join(name for name in listing.layout.roles if name != "image") or "none"
            raise ArgumentError(
                f"no further image field is named '{unknown[0]}'", where="formats", fix=f"known: {known}"
            )
        ranks = np.arange(len(listing), dtype=np.int64)
        self._assigned = assign_formats(ranks, list(mix.values()), options.seed)

    def recipe(self) -> dict[str, object]:
        """What decides every byte of the dataset."""
        mix = {str(format): share for format, share in self.mix.items()}
        source = {"kind": self.listing.kind, "fingerprint": self.listing.fingerprint()}
        return {"source": source, "recipe": {"mix": mix, **self.options.recipe()}}

    def identity(self) -> str:
        """The dataset's name for itself."""
        text = json.dumps(self.recipe(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def order(self, format: Format) -> npt.NDArray[np.int64]:
        """Ranks of the samples in a format, as they are written."""
        ranks = np.flatnonzero(self._assigned == self.formats.index(format))
        return write_order(ranks, self.options.seed, self.options.runs)

    def written_fields(self) -> list[WrittenField]:
        """Image fields in the order of a record."""
        fields = [
            WrittenField(name, str(self.field_formats[name]) if name in self.field_formats else None)
            for name in self.listing.layout.roles
        ]
        return [*fields, WrittenField(SOURCE_FIELD, None)] if self.options.keep_source else fields

    def targets(self, format: Format) -> list[_native.Target]:
        """What becomes of each image field of the source."""
        targets = []
        for name, role in self.listing.layout.roles.items():
            wanted = format if name == "image" else self.field_formats.get(name)
            if wanted is None:
                targets.append(keep_target(role))
            else:
                targets.append(target_of(wanted, role, check=self.options.check))
        return targets


class _Run:
    """One call of `build` that has something to write."""

    def __init__(self, plan: _Plan, work: WorkFolder, pool: _native.ThreadPool, on_progress: OnProgress) -> None:
        self.plan = plan
        self.work = work
        self.pool = pool
        self.on_progress = on_progress
        self.num_done = 0
        self.num_converted = 0
        self.source_bytes = 0

    def build(self) -> Built:
        """Write shards, then the index, then the manifest."""
        files = _native.SourceFiles(self.plan.listing.files)
        identity = bytes.fromhex(self.plan.identity())
        shards: list[WrittenShard] = []
        for format in self.plan.formats:
            self._write_format(format, files, identity)
            stem = stem_of(format)
            for number, notes in enumerate(self.work.finished_shards(stem)):
                file = f"{SHARDS_FOLDER}/{self.work.shard_path(stem, number).name}"
                shards.append(WrittenShard(file, str(format), notes))
        manifest = self._publish(shards)
        self.work.end()
        return Built(self.work.root, manifest, self.num_converted, self.source_bytes)

    def _write_format(self, format: Format, files: _native.SourceFiles, identity: bytes) -> None:
        stem = stem_of(format)
        finished = self.work.finished_shards(stem)
        order = self.plan.order(format)
        done = sum(notes.num_samples for notes in finished)
        self.num_done += done
        rest = order[done:]
        if len(rest) == 0:
            return
        places = (self.plan.listing.places[name] for name in self.plan.listing.layout.roles)
        fields = [
            ((place.file[rest], place.offset[rest], place.length[rest]), target)
            for place, target in zip(places, self.plan.targets(format), strict=True)
        ]
        building = _native.build_shards(
            self.pool,
            files,
            rest,
            fields,
            (os.fsencode(self.work.shards), os.fsencode(self.work.work), stem),
            (len(finished), self.plan.options.shard_bytes, identity),
            self.plan.options.skip_errors,
            self.plan.options.keep_source,
        )
        self._wait(building, str(format))
        self.num_done += len(rest)
        self.num_converted += len(rest)
        self.source_bytes += building.source_bytes

    def _wait(self, building: _native.Building, stage: str) -> None:
        job, total = building.job, len(self.plan.listing)
        try:
            while not job.wait(POLL_SECONDS):
                self.on_progress(stage, self.num_done + job.num_done, total)
        except BaseException:
            job.cancel()
            while not job.wait(POLL_SECONDS):  # samples under way still read the arrays that they were given
                pass
            raise
        job.finish()
        self.on_progress(stage, self.num_done + job.num_done, total)

    def _publish(self, shards: list[WrittenShard]) -> Manifest:
        listing = self.plan.listing
        rows = Rows(shards, len(listing))
        if len(rows.kept) == 0:
            reason = next(reason for shard in shards for reason in shard.notes.skipped.values())
            raise DatasetError(
                f"no sample could be converted; the first: {reason}",
                where=str(self.work.root),
                fix="check the source; without --on-error skip the first problem is named with its place",
                code=203,
            )
        fields = self.plan.written_fields()
        table = index_table(listing.columns, rows, fields, shards)
        index = write_index(table)
        write_file(self.work.root / INDEX_NAME, index, durable=True)
        manifest = Manifest(
            identity=self.plan.identity(),
            num_samples=len(rows.kept),
            lanes=lanes_for(len(rows.kept)),
            **self.plan.recipe(),  # type: ignore[arg-type]  # source and recipe
            fields=(*_image_fields(self.plan, table), *_column_fields(listing)),
            splits=_splits(table),
            formats={str(format): _count(format, share, shards) for format, share in self.plan.mix.items()},
            metadata=_metadata(shards),
            skipped=_skipped(listing, shards),
            index=FileEntry(INDEX_NAME, len(index), checksum_text(_native.crc32c(index))),
            shards=tuple(_entry(shard) for shard in shards),
        )
        write_file(self.work.root / FILE_NAME, write_manifest(manifest), durable=True)
        return manifest


def stem_of(format: Format) -> str:
    """How the shards of a format are named.

    >>> from penstock.codecs import parse_format
    >>> stem_of(parse_format("jpeg:q=85:restart"))
    'jpeg-q85-restart'
    """
    return str(format).replace(":", "-").replace("=", "")


def _already_built(work: WorkFolder, plan: _Plan) -> Built:
    dataset = open_dataset(work.root)
    if dataset.manifest.identity != plan.identity():
        raise DatasetError(
            "another dataset is here: its source, mix or options are not these",
            where=str(work.root),
            fix="choose another folder, or replace the dataset with --force",
            code=205,
        )
    if work.work.is_dir():
        work.end()
    return Built(work.root, dataset.manifest, 0, 0)


def _image_fields(plan: _Plan, table: pa.Table) -> list[Field]:
    fields = []
    for field in plan.written_fields():
        role = SOURCE_FIELD if field.name == SOURCE_FIELD and plan.options.keep_source else None
        names = one_chunk(table.column(f"{field.name}.format")).dictionary.to_pylist()
        fields.append(Field(field.name, role or plan.listing.layout.roles[field.name].value, tuple(names)))
    return fields


def _column_fields(listing: Listing) -> list[Field]:
    schema = listing.columns.schema
    return [
        Field(
            name,
            "label" if name == "label" else "column",
            type=str(schema.field(name).type),
            classes=listing.layout.classes if name == "label" else None,
        )
        for name in schema.names
        if name not in ("key", "split")
    ]


def _splits(table: pa.Table) -> dict[str, int]:
    if "split" not in table.column_names:
        return {}
    counts = {entry["values"]: entry["counts"] for entry in table.column("split").value_counts().to_pylist()}
    return {name: counts[name] for name in sorted(name for name in counts if name is not None)}


def _count(format: Format, share: float, shards: list[WrittenShard]) -> FormatCount:
    rows = [shard.notes.rows[shard.notes.rows["field"] == 0] for shard in shards if shard.format == str(format)]
    origins = Counter(int(origin) for part in rows for origin in part["origin"])
    return FormatCount(
        share,
        sum(len(part) for part in rows),
        int(sum(part["length"].sum() for part in rows)),
        *(origins[number] for number in range(len(ORIGINS))),
    )


def _metadata(shards: list[WrittenShard]) -> dict[str, dict[str, int]]:
    kept = sum((shard.notes.metadata_kept for shard in shards), Counter[str]())
    dropped = sum((shard.notes.metadata_dropped for shard in shards), Counter[str]())
    return {"kept": dict(sorted(kept.items())), "dropped": dict(sorted(dropped.items()))}


def _skipped(listing: Listing, shards: list[WrittenShard]) -> tuple[Skipped, ...]:
    reasons = {rank: reason for shard in shards for rank, reason in shard.notes.skipped.items()}
    keys = listing.columns.column("key")
    return tuple(Skipped(keys[rank].as_py(), reasons[rank]) for rank in sorted(reasons))


def _entry(shard: WrittenShard) -> ShardEntry:
    notes = shard.notes
    return ShardEntry(
        shard.file, notes.shard_bytes, checksum_text(notes.shard_checksum), shard.format, notes.num_records
    )
