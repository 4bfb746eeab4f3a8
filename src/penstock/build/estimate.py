"""Estimate of bytes, time and disk space of a build, from a few images of the source."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from penstock import _native
from penstock.build.recipe import Recipe
from penstock.codecs import Format
from penstock.errors import PenstockError, StorageError
from penstock.index import ASK
from penstock.sources.source import Source
from penstock.storage import is_folder
from penstock.units import bytes_text

TRIALS = 6
"""Number of images that are converted per format."""
PLENTY = 100
"""Multiple of the source's bytes that is more than the raw pixels of JPEGs need."""
MARGIN = 0.02
"""Share of the free space that must stay free."""


@dataclass(frozen=True, slots=True)
class FormatEstimate:
    """Estimated bytes and CPU time of the samples of one format, including their other fields."""

    samples: int
    bytes: int
    cpu_seconds: float


@dataclass(frozen=True, slots=True)
class Estimate:
    """Estimated bytes, time and disk space of a build."""

    num_samples: int
    source_bytes: int
    formats: Mapping[str, FormatEstimate]
    work_bytes: int
    """Bytes needed only during the build, for sources that cannot be read by offset."""
    threads: int
    written_bytes: int
    """Bytes that an interrupted build has written already."""
    free_bytes: int

    @property
    def total_bytes(self) -> int:
        """Bytes of the finished dataset."""
        return sum(entry.bytes for entry in self.formats.values())

    @property
    def seconds(self) -> float:
        """Estimated time if the processor is the bottleneck."""
        share = 1 - min(1.0, self.written_bytes / max(1, self.total_bytes))
        return share * sum(entry.cpu_seconds for entry in self.formats.values()) / self.threads

    @property
    def missing_bytes(self) -> int:
        """Bytes by which the disk is too small; 0 if it is large enough."""
        needed = max(0, self.total_bytes - self.written_bytes) + self.work_bytes
        return max(0, int(needed - self.free_bytes * (1 - MARGIN)))


def estimate(recipe: Recipe, source: Source, out: Path, written_bytes: int) -> Estimate:
    """Convert a few images of every format, and extrapolate."""
    assigned = _assigned(recipe)
    source_bytes = sum(
        _total_bytes(recipe, source, name, np.arange(recipe.index.num_samples)) for name in _fields(recipe)
    )
    formats = {}
    for number, format in enumerate(recipe.formats):
        ranks = np.flatnonzero(assigned == number)
        if len(ranks):
            formats[str(format)] = _estimate_format(recipe, source, format, ranks)
    asked = sum(
        _total_bytes(recipe, source, name, np.flatnonzero(recipe.index.locations(name).file == ASK))
        for name in _fields(recipe)
    )
    return Estimate(
        num_samples=recipe.index.num_samples,
        source_bytes=source_bytes,
        formats=formats,
        work_bytes=asked,
        threads=recipe.pool.num_threads,
        written_bytes=written_bytes,
        free_bytes=shutil.disk_usage(_existing(out)).free,
    )


def fits_for_sure(recipe: Recipe, out: Path) -> bool:
    """Return whether the disk has a hundred times the source's bytes, so that no image must be tried."""
    lengths = [place.length[~place.is_absent] for place in map(recipe.index.locations, recipe.index.roles)]
    if any((length < 0).any() for length in lengths):
        return False
    return PLENTY * sum(int(length.sum()) for length in lengths) < shutil.disk_usage(_existing(out)).free


def check_space(expected: Estimate, out: Path) -> None:
    """Refuse a build that does not fit on the disk."""
    if not expected.missing_bytes:
        return
    raise StorageError(
        f"the dataset needs about {bytes_text(expected.total_bytes + expected.work_bytes)}, "
        f"the disk has {bytes_text(expected.free_bytes)} free",
        where=str(out),
        fix=f"free {bytes_text(expected.missing_bytes)}, choose a smaller format, or build on another disk",
        code=450,
    )


def _fields(recipe: Recipe) -> list[str]:
    return list(recipe.index.roles)


def _assigned(recipe: Recipe) -> npt.NDArray[np.int32]:
    """Return the formats of all samples; round robin, if a rule needs headers of images that are in no file yet."""
    has_asked = bool((recipe.index.locations("image").file == ASK).any())
    if has_asked and recipe.rules.needs_headers:
        return (np.arange(recipe.index.num_samples) % len(recipe.formats)).astype(np.int32)
    return recipe.assigned


def _estimate_format(recipe: Recipe, source: Source, format: Format, ranks: npt.NDArray[np.int64]) -> FormatEstimate:
    total, seconds = 0.0, 0.0
    for name, target in zip(_fields(recipe), recipe.targets(format), strict=True):
        tried = _try(recipe, source, name, target, ranks)
        whole = _total_bytes(recipe, source, name, ranks)
        keeps_source = recipe.options.keep_source and name == "image"
        total += whole * (tried.bytes_per_byte + keeps_source)
        seconds += whole * tried.seconds_per_byte
    return FormatEstimate(len(ranks), int(total) + 64 * len(ranks), seconds)


@dataclass(frozen=True, slots=True)
class _Tried:
    bytes_per_byte: float
    seconds_per_byte: float


def _try(recipe: Recipe, source: Source, name: str, target: _native.Target, ranks: npt.NDArray[np.int64]) -> _Tried:
    read, stored, seconds = 0, 0, 0.0
    for data in _contents(recipe, source, name, _spread(ranks)):
        begin = time.perf_counter()
        try:
            converted, _ = _native.store_image(data, target, recipe.options.max_pixels)
        except PenstockError:
            continue  # the build will say where it is
        seconds += time.perf_counter() - begin
        read += len(data)
        stored += len(converted)
    return _Tried(stored / read, seconds / read) if read else _Tried(1.0, 0.0)


def _total_bytes(recipe: Recipe, source: Source, name: str, ranks: npt.NDArray[np.int64]) -> int:
    """Return the bytes of a field of these samples; unknown lengths count as the mean of a few."""
    place = recipe.index.locations(name)
    present = ranks[place.file[ranks] != -1]
    lengths = place.length[present]
    known = lengths[lengths >= 0]
    num_unknown = len(lengths) - len(known)
    if not num_unknown:
        return int(known.sum())
    unknown = present[lengths < 0]
    tried = [len(data) for data in _contents(recipe, source, name, _spread(unknown))]
    return int(known.sum() + num_unknown * np.mean(tried))


def _contents(recipe: Recipe, source: Source, name: str, ranks: npt.NDArray[np.int64]) -> Iterable[bytes]:
    place = recipe.index.locations(name)
    asked = ranks[place.file[ranks] == ASK]
    if len(asked):
        yield from source.read(name, np.sort(recipe.index.rows[asked]))
    for rank in ranks[place.file[ranks] >= 0]:
        try:
            yield recipe.files.read(int(place.file[rank]), int(place.offset[rank]), int(place.length[rank]))
        except PenstockError:
            continue


def _spread(ranks: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Select a few samples, evenly spread."""
    chosen: npt.NDArray[np.int64] = np.unique(np.linspace(0, len(ranks) - 1, min(TRIALS, len(ranks))).astype(int))
    return ranks[chosen]


def _existing(path: Path) -> Path:
    return next((parent for parent in (path, *path.absolute().parents) if is_folder(parent)), Path("/"))
