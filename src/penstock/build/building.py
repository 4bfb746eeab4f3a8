"""Build from end to end: list, assign, convert, index, publish."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from penstock import _native
from penstock.build.estimate import Estimate, check_space, estimate, fits_for_sure
from penstock.build.foreign import ForeignFiles
from penstock.build.index_table import WrittenShard
from penstock.build.options import BuildOptions
from penstock.build.publish import publish
from penstock.build.recipe import Recipe
from penstock.build.rules import Rules, read_rules, rules_of_mix
from penstock.build.sluice_tables import trained_tables
from penstock.build.staging import stage
from penstock.build.work import SHARDS_FOLDER, WorkFolder, stem_of
from penstock.codecs import Format
from penstock.errors import ArgumentError, DatasetError
from penstock.records.dataset import open_dataset
from penstock.records.manifest import Manifest
from penstock.sources import index_of, open_source
from penstock.sources.source import Source
from penstock.storage import AnyPlace, Store, StorePath, is_folder, read_input
from penstock.types import OnProgress, no_progress

POLL_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Built:
    """Result of a build."""

    path: Path
    manifest: Manifest
    num_converted: int
    """Samples read and converted by this run; fewer than all if it continued an earlier one."""
    source_bytes: int
    """Bytes that this run read from the source."""


def build(
    source: AnyPlace,
    out: str | os.PathLike[str],
    *,
    mix: str | Mapping[Format, float] | Rules,
    options: BuildOptions | None = None,
    threads: int = 0,
    force: bool = False,
    durable: bool = True,
    on_progress: OnProgress = no_progress,
) -> Built:
    """Write the images of a source as a dataset.

    The result depends only on the source, the mix and the options, to the byte. It does not depend on threads, or on
    how often the build was killed and called again: a second call continues after the last finished shard. `prepare`
    does the same in two steps.

    Args:
        source: Images: a folder, tars, Parquet files, a manifest, or a dataset; or their place in a store.
        out: Folder of the dataset. One that holds another dataset is refused, unless `force` is set.
        mix: Shares of formats such as "weir:fast=0.6,png=0.4", or the rules of `load_plan`.
        options: Options that affect the bytes of the dataset.
        threads: Number of threads; 0 means all usable cores.
        force: Start over, and replace a dataset at `out`.
        durable: Wait for the disk. Otherwise a kill is still harmless, but a power cut may leave a dataset that
            `verify` refuses.
        on_progress: Function that is called with the progress.

    Raises:
        PenstockError: If the source cannot be read, or the dataset does not fit on the disk.

    >>> import tempfile
    >>> from penstock.synth import Scenes, write
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     done = write(f"{folder}/images", images=10, scenes=Scenes(width=32, height=32))
    ...     built = build(f"{folder}/images", f"{folder}/data.pen", mix="png=0.7,raw=0.3")
    >>> {name: count.samples for name, count in built.manifest.formats.items()}
    {'png': 7, 'raw': 3}
    """
    preparation = prepare(source, out, mix=mix, options=options, threads=threads)
    return preparation.run(force=force, durable=durable, on_progress=on_progress)


def prepare(
    source: AnyPlace | Source,
    out: str | os.PathLike[str],
    *,
    mix: str | Mapping[Format, float] | Rules,
    options: BuildOptions | None = None,
    threads: int = 0,
) -> Preparation:
    """List the source and check the arguments; nothing is written before `Preparation.run`.

    A `source` that is already open is used as it is; otherwise `options` say how to open the path.
    """
    chosen = options or BuildOptions()
    chosen.check_values()
    rules = mix if isinstance(mix, Rules) else rules_of_mix(mix, chosen.seed)
    work = WorkFolder(Path(out))
    work.check()
    if isinstance(source, (str, os.PathLike)):
        _check_apart(Path(source), work.root)
    if isinstance(source, (str, os.PathLike, Store, StorePath)):
        source = open_source(source, chosen.source_kind, allow_outside=chosen.allow_outside)
    if isinstance(source.path, Path):
        _check_apart(source.path, work.root)
    codecs = [format.codec for format in (*rules.formats, *chosen.field_formats().values())]
    opened = ForeignFiles(source, codecs, skip_errors=chosen.skip_errors, max_pixels=chosen.max_pixels)
    index = index_of(opened).without(chosen.fields_left_out())
    chosen = _with_formats(chosen, opened.fields)
    return Preparation(opened, Recipe(index, rules, chosen, _native.ThreadPool(threads)), work)


def load_plan(path: str | os.PathLike[str]) -> Rules:
    """Load the rules of a plan file, for `build`."""
    return read_rules(read_input(path), os.fspath(path))


class Preparation:
    """Build that has been checked, but not started."""

    def __init__(self, source: Source, recipe: Recipe, work: WorkFolder) -> None:
        self._source = source
        self._work = work
        self.recipe = recipe

    @cached_property
    def estimate(self) -> Estimate:
        """Estimate of bytes and time, from a few images that are converted and discarded."""
        return estimate(self.recipe, self._source, self._work.root, self._work.written_bytes())

    def run(self, *, force: bool = False, durable: bool = True, on_progress: OnProgress = no_progress) -> Built:
        """Build, or continue a build that was interrupted; `force` starts over."""
        work, recipe = self._work, self.recipe
        if not force and work.is_finished() and not work.has_leftovers():
            return _already_built(work, recipe)
        replaces = force and is_folder(work.root)
        if not replaces:
            self._check_space()
        with work.held():
            work.check()  # again: from here on nobody else builds here
            if not force and work.is_finished():
                built = _already_built(work, recipe)
                work.end()
                return built
            if replaces:
                work.clear()
                self._check_space()
            state = hashlib.sha256(self._source.state()).hexdigest()
            work.check_begun(recipe.members, state)
            work.begin(recipe.members, state, durable=durable)
            staged = stage(self._source, recipe.index, work.work, on_progress)
            return _Run(recipe.with_places(staged), work, durable, on_progress).build()

    def _check_space(self) -> None:
        if "estimate" in self.__dict__ or not fits_for_sure(self.recipe, self._work.root):
            check_space(self.estimate, self._work.root)


class _Run:
    """Part of a build that writes."""

    def __init__(self, recipe: Recipe, work: WorkFolder, durable: bool, on_progress: OnProgress) -> None:
        self.recipe = recipe
        self.work = work
        self.durable = durable
        self.on_progress = on_progress
        self.num_done = 0
        self.num_converted = 0
        self.source_bytes = 0
        self.tables: _native.SluiceTables | None = None

    def build(self) -> Built:
        """Write shards, then the index, then the manifest."""
        self.tables = trained_tables(self.recipe, self.work.work, self._wait)
        shards: list[WrittenShard] = []
        passed_on: list[int] = []
        for format in self.recipe.writing_order:
            shards += self._write_format(format, [])
            passed_on += [rank for shard in shards for rank in shard.notes.fallbacks if shard.format == str(format)]
        if passed_on or self.recipe.fallback in set(self.recipe.formats) - set(self.recipe.writing_order):
            shards += self._write_format(self.recipe.fallback, passed_on)
        manifest = publish(self.recipe, shards, self.work, self.tables, durable=self.durable)
        self.work.end()
        return Built(self.work.root, manifest, self.num_converted, self.source_bytes)

    def _write_format(self, format: Format, further: list[int]) -> list[WrittenShard]:
        """Write the shards of a format that are missing, and return all of them."""
        stem = stem_of(format)
        finished = self.work.resumed_shards(stem, durable=self.durable)
        order = self.recipe.order(format, further)
        done = sum(notes.num_samples for notes in finished)
        self.num_done += done
        if done < len(order):
            self._convert(format, order[done:], len(finished))
        written = self.work.finished_shards(stem)
        self.num_done -= sum(len(notes.fallbacks) for notes in written)  # they come again, as another format
        files = (f"{SHARDS_FOLDER}/{self.work.shard_path(stem, number).name}" for number in range(len(written)))
        return [WrittenShard(file, str(format), notes) for file, notes in zip(files, written, strict=True)]

    def _convert(self, format: Format, rest: npt.NDArray[np.int64], first_shard: int) -> None:
        recipe = self.recipe
        places = (recipe.index.locations(name) for name in recipe.index.roles)
        fields = [
            ((place.file[rest], place.offset[rest], place.length[rest]), place.known_checksums(rest), target)
            for place, target in zip(places, recipe.targets(format, self.tables), strict=True)
        ]
        building = _native.build_shards(
            recipe.pool,
            recipe.files,
            rest,
            fields,
            (os.fsencode(self.work.shards), os.fsencode(self.work.work), stem_of(format)),
            (first_shard, recipe.options.shard_bytes, bytes.fromhex(recipe.identity)),
            recipe.options.skip_errors,
            recipe.options.keep_source,
            self.durable,
            recipe.options.max_pixels,
        )
        self._wait(building.job, str(format))
        self.num_done += len(rest)
        self.num_converted += len(rest)
        self.source_bytes += building.source_bytes

    def _wait(self, job: _native.Job, stage: str) -> None:
        total = self.recipe.index.num_samples
        try:
            while not job.wait(POLL_SECONDS):
                self.on_progress(stage, self.num_done + job.num_done, total)
        except BaseException:
            job.cancel()
            while not job.wait(POLL_SECONDS):  # samples under way still write into the work folder
                pass
            raise
        job.finish()
        self.on_progress(stage, self.num_done + job.num_done, total)


def _with_formats(options: BuildOptions, foreign: set[str]) -> BuildOptions:
    """Set the format PNG for fields whose files cannot be kept, unless a format was chosen."""
    if foreign and options.keep_source:
        raise ArgumentError(
            "files that only Python decodes (TIFF) cannot be kept beside their images",
            where="keep_source",
            fix="leave it out, or convert them to PNG",
            code=130,
        )
    further = {name: "png" for name in sorted(foreign) if name != "image" and name not in options.formats}
    return replace(options, formats={**options.formats, **further}) if further else options


def _check_apart(source: Path, out: Path) -> None:
    """Refuse a dataset inside its own source, which is only read."""
    if is_folder(source) and out.resolve().is_relative_to(source.resolve()):
        raise ArgumentError(
            "the dataset would lie inside its own source", where=str(out), fix="choose a folder outside of it", code=100
        )


def _already_built(work: WorkFolder, recipe: Recipe) -> Built:
    dataset = open_dataset(work.root)
    if dataset.manifest.identity != recipe.identity:
        raise DatasetError(
            "another dataset is here: its source, mix or options are not these",
            where=str(work.root),
            fix="choose another folder, or replace the dataset with --force",
            code=205,
        )
    return Built(work.root, dataset.manifest, 0, 0)
