"""Measurement of a machine and a source: everything that `penstock plan` needs."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock import _native
from penstock.codecs import decode, inspect
from penstock.errors import ArgumentError, CodecError
from penstock.index import ABSENT, ASK, WHOLE, ListedIndex
from penstock.index.source_files import sizes_of_files, source_files
from penstock.machine import this_machine
from penstock.profile.costs import candidates, measure_formats
from penstock.profile.disk import DiskProbe, check_room, measure_disk, measure_opens
from penstock.profile.fidelity_costs import measure_fidelities, source_seconds
from penstock.profile.pipeline import measure_pipeline, measure_scaling
from penstock.profile.profile_values import Dataset, Disk, FormatCosts, Measurement, Profile
from penstock.profile.sampling import stratified
from penstock.sources import index_of, open_source
from penstock.sources.source import Source
from penstock.storage import AnyPlace, Store, StorePath
from penstock.transforms import Chain, apply, split
from penstock.transforms.named import named
from penstock.types import Integers, OnProgress, no_progress

WORTH_WHOLE_REPEATS = 50
"""Images: who measures fewer wants a quick answer."""
LAYERS = "sluice:layers=2"
"""Format whose layers are measured beside scans."""
FIDELITY_IMAGES = 24
"""Number of measured images that are decoded at every fidelity."""
MANY = 4096
"""Images whose headers are read: a header costs a thousandth of a measurement."""

Step = Callable[[Mapping[str, npt.NDArray[Any]]], object]


@dataclass(frozen=True, slots=True)
class ProfileOptions:
    """Options of a profile: what to measure, and for how long."""

    on: Path | None = None
    """A folder on the disk where the dataset will live; None: where the source lives."""
    sample: int = 200
    formats: str = ""
    """Candidates, separated by commas; the source's own format is always among them. Empty: the usual ones."""
    lossy: bool = False
    transform: str = "none"
    compute_rate: float | None = None
    step: Step | None = None
    batch_size: int = 32
    ranks: int = 1
    budget_seconds: float = 60.0
    """Time limit for the formats; after it, the images measured so far are used."""
    disk: DiskProbe = field(default_factory=DiskProbe)
    repeat_seconds: float = 0.25
    """Approximate time of one repeat of one format in the loader's pipeline."""


def measure(
    path: AnyPlace | Source,
    options: ProfileOptions | None = None,
    *,
    on_progress: OnProgress = no_progress,
) -> Profile:
    """Measure the machine on a source. Writes only a probe file, which it removes."""
    options = options or ProfileOptions()
    named(options.transform)  # refuses what it does not know, before anything is measured
    source = open_source(path) if isinstance(path, (str, os.PathLike, Store, StorePath)) else path
    folder = _probe_folder(source.path, options.on)
    check_room(folder, options.disk)
    on_progress("listing", 0, 1)
    index = index_of(source)
    sizes = _source_bytes(index)
    rows = choose_rows(index, options.sample, sizes)
    fields = [list(_read_fields(source, index, int(row))) for row in rows]
    codecs = Counter(codec for data, *_ in fields if (codec := _codec(data)))
    own = codecs.most_common(1)[0][0] if codecs else "png"
    chain = split(named(options.transform))
    measured = measure_formats(
        fields,
        candidates(own, options.lossy, options.formats, only_source=len(codecs) == 1),
        chain,
        budget_seconds=options.budget_seconds,
        on_progress=on_progress,
    )
    damaged = {str(index.column("key")[int(rows[number])]): error for number, error in measured.damaged.items()}
    if not measured.images:
        name, error = next(iter(damaged.items()))
        raise error.within(name)
    machine = this_machine()
    looked_at = fields[: len(measured.images) + len(damaged)]
    images = [data for number, (data, *_) in enumerate(looked_at) if number not in measured.damaged]
    seconds = options.repeat_seconds * min(1.0, len(measured.images) / WORTH_WHOLE_REPEATS)
    pipeline = measure_pipeline(measured.stored, chain, machine.cores, folder, seconds=seconds, on_progress=on_progress)
    disk = measure_disk(folder, options.disk, on_progress=on_progress)
    formats = measured.scaled(pipeline.formats, disk)
    return Profile(
        cpu=machine.cpu,
        simd=machine.simd,
        cores=machine.cores,
        memory_bytes=machine.memory.available_bytes,
        scaling=measure_scaling(measured.stored[own], own, chain, machine.cores, folder, seconds=seconds),
        disk=_with_opens(disk, index),
        dataset=Dataset(
            num_samples=len(index),
            source_bytes=int(sizes.sum()),
            num_labels=_num_labels(index),
            source_format=own,
            codecs={name: count / codecs.total() for name, count in sorted(codecs.items())},
            mean_pixels=_mean_pixels(index, choose_rows(index, MANY, sizes)),
        ),
        images=measured.images,
        formats=formats,
        compute=_compute(options, images, chain),
        compute_from=_compute_from(options),
        transform=options.transform,
        ranks=options.ranks,
        **_fidelities(images[:FIDELITY_IMAGES], formats[own], chain, on_progress),
        busy_cores=pipeline.busy_cores,
        damaged={name: error.what for name, error in damaged.items()},
    )


def choose_rows(index: ListedIndex, count: int, source_bytes: Integers | None = None) -> Integers:
    """Choose the samples that a profile measures, in order; missing sizes are read from the file system."""
    return stratified(_labels(index), _source_bytes(index) if source_bytes is None else source_bytes, count)


def _fidelities(
    images: list[bytes], own: FormatCosts, chain: Chain, on_progress: OnProgress
) -> dict[str, dict[int, FormatCosts]]:
    """Measure the costs of JPEGs in scans and in layers. Decode times are scaled to the pipeline, like the source."""
    if any(inspect(data).codec != "jpeg" for data in images):
        return {}
    factor = float(own.decode_seconds[: len(images)].mean()) / source_seconds(images, chain)
    found = {"fidelities": measure_fidelities(images, chain=chain, on_progress=on_progress)}
    try:
        found["layers"] = measure_fidelities(images, LAYERS, chain=chain, on_progress=on_progress)
    except CodecError:  # a JPEG that Sluice does not take
        found["layers"] = {}
    return {
        name: {
            number: replace(costs, decode_seconds=costs.decode_seconds * factor) for number, costs in measured.items()
        }
        for name, measured in found.items()
    }


def _labels(index: ListedIndex) -> npt.NDArray[np.int64] | None:
    if "label" not in index.table.column_names:
        return None
    return np.unique(np.asarray(index.column("label")).astype(str), return_inverse=True)[1].astype(np.int64)


def _num_labels(index: ListedIndex) -> int:
    labels = _labels(index)
    return 0 if labels is None else int(labels.max()) + 1


def _source_bytes(index: ListedIndex) -> Integers:
    """Return the bytes of all image fields of each sample; sizes of whole files come from the file system."""
    total = np.zeros(index.num_samples, np.int64)
    for places in map(index.locations, index.roles):
        length = places.length.astype(np.int64).copy()
        for row in np.flatnonzero((length == WHOLE) & (places.file >= 0)):
            length[row] = sizes_of_files(index, places.file[row : row + 1])[0]
        total += np.where(places.file == ABSENT, 0, np.maximum(length, 0))
    return total


def _mean_pixels(index: ListedIndex, rows: Integers) -> float:
    """Return the mean pixels of these images from their headers; 0 if some are in no file or cannot be read."""
    places = index.locations("image")
    file, offset, length = (column[rows] for column in (places.file, places.offset, places.length))
    if (file < 0).any():
        return 0.0
    files, pool = source_files(index), _native.ThreadPool(0)  # both must outlive the job
    looked = _native.inspect_sources(
        pool, files, (file.astype(np.int32), offset.astype(np.int64), length.astype(np.int64))
    )
    try:
        looked.job.finish()
    except CodecError:
        return 0.0
    return float(np.mean([width * height for width, height, *_ in looked.headers()]))


def _codec(data: bytes) -> str:
    """Return the codec from the header, or "" if it cannot be read."""
    try:
        return inspect(data).codec
    except CodecError:
        return ""


def _read_fields(source: Source, index: ListedIndex, row: int) -> Iterator[bytes]:
    """Yield the image of a sample, then its other image fields."""
    for name in index.roles:
        places = index.locations(name)
        file = int(places.file[row])
        if file == ASK:
            yield next(iter(source.read(name, index.rows[row : row + 1])))
        elif file != ABSENT:
            yield index.read(row, name)


def _with_opens(disk: Disk, index: ListedIndex) -> Disk:
    """Add the time of opening a file of the source, if it is on a local disk."""
    if index.store is not None:
        return disk
    some = [index.files[number] for number in range(min(500, len(index.files)))]
    return replace(disk, file_seconds=measure_opens(some))


def _probe_folder(path: Path | StorePath, on: Path | None) -> Path:
    """Return a folder for probe files: the named one, or the one next to the source, never inside it."""
    if on is None and isinstance(path, StorePath):
        raise ArgumentError(
            "the source is in no local folder, so its disk cannot be measured",
            where=str(path),
            fix="name a folder on the disk where the dataset will live: --on FOLDER",
            code=100,
        )
    return on if on is not None else Path(str(path)).resolve().parent


def _compute(options: ProfileOptions, images: list[bytes], chain: Chain) -> Measurement | None:
    if options.compute_rate is not None:
        return Measurement.exactly(options.compute_rate)
    if options.step is None:
        return None
    batch = {"image": _batch(images, chain, options.batch_size)}
    options.step(batch)  # warms up
    rates: list[float] = []
    begin = time.monotonic()
    while len(rates) < 5 or (time.monotonic() - begin < 3 and len(rates) < 1000):
        start = time.perf_counter()
        options.step(batch)
        rates.append(options.batch_size / (time.perf_counter() - start))
    return Measurement.of(rates)


def _compute_from(options: ProfileOptions) -> str:
    if options.compute_rate is not None:
        return "given"
    return "measured" if options.step is not None else "unknown"


def _batch(images: list[bytes], chain: Chain, batch_size: int) -> npt.NDArray[Any]:
    """Make a batch in memory; the transform must give images of several sizes one size."""
    made = [apply(decode(images[number % len(images)]), list(chain.native)) for number in range(batch_size)]
    if len({pixels.shape for pixels in made}) > 1:
        raise ArgumentError(
            "images of several sizes make no batch", where="--step", fix="choose a transform, such as train224"
        )
    return np.stack(made)
