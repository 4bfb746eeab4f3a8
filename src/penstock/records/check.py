"""Verification of a dataset against its manifest: every file, every record, every pixel. Used by `penstock verify`."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from penstock import _native
from penstock.codecs.contract import DEFAULT_MAX_PIXELS
from penstock.errors import StorageError
from penstock.index import Field, StoredColumns
from penstock.records.consistency import contradictions
from penstock.records.dataset import Dataset
from penstock.records.manifest import FILE_NAME, FileEntry, Manifest, checksum_text
from penstock.records.problem import Problem
from penstock.records.shard import HEADER, first_in_padding, header_problem, number_of
from penstock.storage import file_checksum, file_size, list_tree, read_file, read_range
from penstock.types import OnProgress, no_progress

POLL_SECONDS = 0.1

Array = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Verification:
    """Result of a verification: what was checked, and the problems."""

    path: Path
    num_samples: int
    num_files: int
    num_bytes: int
    num_decoded: int
    """Images that were decoded and whose pixels were compared; 0 in a quick check."""
    num_proven: int
    """Decoded images whose pixels were proven equal to the source's."""
    num_restored: int
    """Decoded images from which the original JPEG was restored, byte for byte."""
    problems: tuple[Problem, ...]


def verify(
    path: str | os.PathLike[str],
    *,
    quick: bool = False,
    threads: int = 0,
    max_pixels: int = DEFAULT_MAX_PIXELS,
    on_progress: OnProgress = no_progress,
) -> Verification:
    """Verify a dataset against its manifest, index and checksums.

    Always compares manifest and index: ids, keys, counts of splits, formats and records, and the samples that were kept
    or skipped.

    Args:
        path: Folder of the dataset.
        quick: Only check sizes and checksums of all files. If a shard fails, its records are checked too, so that the
            report names the record, the header or the padding. Otherwise every image is decoded, and its pixels are
            compared with the hash of the source's. A `sluice` image is restored to its JPEG, whose length and CRC-32C
            must be those that the record holds of the original file, and whose pixels must be the image's.
        threads: Number of threads; 0 means all usable cores.
        max_pixels: Images with more pixels are reported and not decoded, whatever the index says.
        on_progress: Function that is called with the progress.

    Returns:
        The problems that were found.

    Raises:
        DatasetError: If the manifest or the index cannot be read.
    """
    dataset = Dataset(path)
    checker = _Checker(dataset, _native.ThreadPool(threads), max_pixels, on_progress)
    problems = checker.check_files()
    locations = {field.name: dataset.locations(field.name) for field in dataset.manifest.image_fields}
    problems += checker.check_extents(locations)
    problems += contradictions(dataset, locations)
    damaged = {problem.file for problem in problems}
    decoded, proven = 0, 0
    for field in dataset.manifest.image_fields:
        found = locations[field.name]
        ids = checker.ids_to_check(found, damaged, quick=quick)
        problems += checker.check_images(field, found, ids, decode=not quick)
        decoded += 0 if quick else len(ids)
        if not quick:
            hashes = dataset.column(f"{field.name}.pixels")
            proven += len(hashes) - hashes.null_count
    problems = checker.name_rest(problems, locations)
    manifest = dataset.manifest
    entries = [manifest.index, *manifest.shards]
    return Verification(
        path=dataset.path,
        num_samples=manifest.num_samples,
        num_files=len(entries) + 1,
        num_bytes=sum(entry.bytes for entry in entries),
        num_decoded=decoded,
        num_proven=proven + (0 if quick else _num_transcoded(manifest)),
        num_restored=0 if quick else _num_transcoded(manifest),
        problems=tuple(sorted(problems, key=lambda problem: (problem.file, problem.byte or 0))),
    )


def _num_transcoded(manifest: Manifest) -> int:
    """Return the number of JPEGs that became `sluice`."""
    return sum(count.transcoded for name, count in manifest.formats.items() if name.partition(":")[0] == "sluice")


class _Checker:
    def __init__(self, dataset: Dataset, pool: _native.ThreadPool, max_pixels: int, on_progress: OnProgress) -> None:
        self.dataset = dataset
        self.max_pixels = max_pixels
        self.pool = pool
        self.on_progress = on_progress
        self.files = _native.SourceFiles([os.fsencode(path) for path in dataset.shard_paths()])

    def check_files(self) -> list[Problem]:
        """Check sizes, checksums and headers, and report unlisted files."""
        manifest = self.dataset.manifest
        problems = []
        total = len(manifest.shards)
        for number, shard in enumerate(manifest.shards):
            what = self._file_problem(shard)
            if what:
                problems.append(Problem(shard.file, what))
            self.on_progress("reading shards", number + 1, total)
        expected = {FILE_NAME, manifest.index.file, *(shard.file for shard in manifest.shards)}
        names = set(list_tree(self.dataset.path, hidden=True).files)
        problems += [Problem(name, "the manifest does not list this file") for name in sorted(names - expected)]
        return problems

    def _file_problem(self, entry: FileEntry) -> str:
        path = self.dataset.path / entry.file
        try:
            header = read_range(path, 0, HEADER.size)
            size = file_size(path)  # before it is read: a huge file is not looked through to be told wrong
            crc = 0
            if size == entry.bytes:
                size, crc = file_checksum(path)
        except StorageError as error:
            return error.what
        if size != entry.bytes:
            return f"it has {size} bytes, the manifest says {entry.bytes}"
        own = header_problem(header, self.dataset.manifest.identity, number_of(entry.file))
        return own or ("" if checksum_text(crc) == entry.checksum else "it does not match its checksum")

    def check_extents(self, locations: dict[str, StoredColumns]) -> list[Problem]:
        """Check that no two images overlap."""
        shard, begin, end = _extents(locations)
        order = np.lexsort((begin, shard))
        shard, begin, end = shard[order], begin[order], end[order]
        overlap = np.flatnonzero((shard[1:] == shard[:-1]) & (begin[1:] < end[:-1]))
        files = self.dataset.manifest.shards
        return [
            Problem(files[shard[place]].file, "two images of the index overlap here", byte=int(begin[place + 1]))
            for place in overlap
        ]

    def ids_to_check(self, found: StoredColumns, damaged: set[str], *, quick: bool) -> Array:
        """Return samples in the order of their bytes; a quick check only takes shards that failed."""
        wanted = found.file >= 0
        if quick:
            failed = np.array([file in damaged for file in found.shard_files], bool)
            wanted &= np.append(failed, False)[found.file]
        ids = np.flatnonzero(wanted)
        return ids[np.lexsort((found.offset[ids], found.file[ids]))]

    def check_images(self, field: Field, found: StoredColumns, ids: Array, *, decode: bool) -> list[Problem]:
        """Compare records with checksums, and pixels with hashes."""
        if len(ids) == 0:
            return []
        hashes = [value or b"" for value in self.dataset.column(f"{field.name}.pixels").take(ids).to_pylist()]
        checking = _native.check_images(
            self.pool,
            self.files,
            (
                (found.file[ids], found.offset[ids], found.length[ids]),
                (found.metadata_length[ids], found.checksum[ids]),
                (found.width[ids], found.height[ids], found.channels[ids], found.bits[ids]),
                hashes,
            ),
            _pieces(found, ids),
            field.role == "mask",
            decode and field.role != "source",
            self.max_pixels,
        )
        self._wait(checking.job, f"checking {field.name}")
        keys = self.dataset.column("key")
        return [
            Problem(
                found.shard_files[found.file[ids[place]]],
                f"{field.name}: {what}",
                key=keys[int(ids[place])].as_py(),
                byte=int(found.offset[ids[place]]),
            )
            for place, what in checking.findings.items()
        ]

    def name_rest(self, problems: list[Problem], locations: dict[str, StoredColumns]) -> list[Problem]:
        """Find the wrong byte between records, if a shard fails and none of its records does."""
        named = []
        for problem in problems:
            others = [other for other in problems if other.file == problem.file and other is not problem]
            if problem.what != "it does not match its checksum":
                named.append(problem)
            elif not others:
                named.append(self._in_padding(problem, locations))
        return named

    def _in_padding(self, problem: Problem, locations: dict[str, StoredColumns]) -> Problem:
        files = [shard.file for shard in self.dataset.manifest.shards]
        shard, begin, end = _extents(locations)
        own = np.flatnonzero(shard == files.index(problem.file))
        own = own[np.argsort(begin[own])]
        data = read_file(self.dataset.path / problem.file)
        place = first_in_padding(data, begin[own], end[own] - begin[own])
        if place is None:
            return problem
        return Problem(problem.file, "padding that is not zero; no image is damaged", byte=place)

    def _wait(self, job: _native.Job, stage: str) -> None:
        try:
            while not job.wait(POLL_SECONDS):
                self.on_progress(stage, job.num_done, job.num_tasks)
        except BaseException:
            job.cancel()
            raise
        job.finish()


def _pieces(found: StoredColumns, ids: Array) -> tuple[Array, Array]:
    """Return the number of pieces of each of these images, and their places."""
    if found.segments is None:
        return np.zeros(len(ids), np.int64), np.empty(0, np.int64)
    pieces = [found.segments.pieces(sample) for sample in ids.tolist()]
    return np.diff(found.segments.begin)[ids], np.concatenate([np.empty(0, np.int64), *pieces])


def _extents(locations: dict[str, StoredColumns]) -> tuple[Array, Array, Array]:
    """Return shard, first byte and end of every piece of every image."""
    shards, begins, ends = [], [], []
    for found in locations.values():
        whole = found.file >= 0
        if found.segments is not None:
            in_pieces = np.diff(found.segments.begin) > 0
            whole &= ~in_pieces
            shards.append(found.file[found.segments.image].astype(np.int64))
            begins.append(found.segments.offset)
            ends.append(found.segments.offset + found.segments.length)
            last = found.segments.begin[1:][in_pieces] - 1
            ends[-1][last] += found.metadata_length[in_pieces]
        shards.append(found.file[whole].astype(np.int64))
        begins.append(found.offset[whole])
        ends.append((found.offset + found.length + found.metadata_length)[whole])
    return np.concatenate(shards), np.concatenate(begins), np.concatenate(ends)
