"""Analysis of a folder of published (DL)² runs: its tables and figures, from the logs alone.

Runs are identified by the authors' folder names; models, variants and budgets may differ.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from statistics import fmean, median
from typing import Any

from penstock.documents import Document, Json
from penstock.errors import ArgumentError, PenstockError
from penstock.lab.dllogger import Epoch, Report, read_report
from penstock.lab.iostat import bytes_per_epoch, read_samples
from penstock.lab.training_epochs import images_per_second, mean_size, representative_seconds, stall_share
from penstock.storage import list_tree, read_file

SIZES_GIB: Mapping[str, Mapping[str, float]] = {
    "inet": {
        "raw": 145.7, "jpeg85": 67.5, "jpeg75": 51.3, "jpeg50": 35.3, "jpeg25": 23.6, "jpeg10": 14.5,
        "webp85": 56.2, "webp75": 38.0, "webp50": 28.4, "webp25": 19.3, "webp10": 13.6,
    },
    "p365": {
        "raw": 109.2, "jpeg50": 87.4, "jpeg25": 52.6, "jpeg10": 30.4, "jpeg5": 21.8, "jpeg1": 17.3,
        "webp50": 57.2, "webp25": 38.6, "webp10": 28.0, "webp5": 22.2, "webp1": 17.1,
    },
}  # fmt: skip
"""Table II of the paper; the logs do not hold them."""

TRAIN_IMAGES = {"inet": 1_281_167, "p365": 1_803_460}
VALIDATION_IMAGES = {"inet": 50_000, "p365": 36_500}

_MODEL = r"(?P<model>[A-Za-z0-9_.-]+)"
_PLACE = r"(?P<variant>[a-z0-9]+)-(?P<disk>[a-z]+)"
_EPOCH_TIME = re.compile(rf"(?P<data>[a-z0-9]+)-{_MODEL}-{_PLACE}-w(?P<workers>\d+)")
_RATE = re.compile(rf"(?P<model>[A-Za-z0-9_.]+)-{_PLACE}-w(?P<workers>\d+)")
_SYNTHETIC = re.compile(r"(?P<model>[A-Za-z0-9_.-]+)-(?P<variant>[a-z0-9]+)-synth")
_LOADER = re.compile(rf"standalone-{_PLACE}-(?P<loader>[a-z0-9]+)")
_BUDGET = re.compile(rf"time-(?P<data>[a-z0-9]+)-{_MODEL}-{_PLACE}-(?P<hours>\d+(?:\.\d+)?)h")
_ACCURACY = re.compile(rf"acc-(?P<data>[a-z0-9]+)-{_MODEL}-{_PLACE}")
_SUBSET = re.compile(rf"space-(?P<data>[a-z0-9]+)-{_MODEL}-raw(?P<percent>\d+)-(?P<disk>[a-z]+)")
_CACHE = re.compile(
    rf"(?P<data>[a-z0-9]+)-{_MODEL}-(?P<disk>hdd|ssd|mem)-(?P<variant>[a-z0-9]+)-(?P<loader>pytorch|minio)"
)
_REGIMEN = re.compile(rf"(?P<data>[a-z0-9]+)-{_MODEL}-(?P<stages>[a-z0-9]+:\d+(?:_[a-z0-9]+:\d+)+)-(?P<disk>[a-z]+)")
_DISK = re.compile(r"io-(?P<gib>\d+)G-(?P<loader>[a-z0-9]+)")
_CODING = re.compile(r"(?P<way>enc|dec)-(?P<tool>mp|dl)-(?P<codec>.+)")
_KINDS = (_BUDGET, _ACCURACY, _SUBSET, _REGIMEN, _CACHE, _EPOCH_TIME, _LOADER, _RATE, _SYNTHETIC, _DISK, _CODING)


@dataclass(frozen=True, slots=True)
class EpochTime:
    """Table III: the time of an epoch, and the share of a step that waits."""

    data: str
    model: str
    variant: str
    disk: str
    workers: int
    seconds: float
    stall_share: float | None


@dataclass(frozen=True, slots=True)
class Budget:
    """Fig 7: the best accuracy within a time budget."""

    data: str
    model: str
    variant: str
    disk: str
    hours: float
    num_epochs: int
    top1: float
    curve: tuple[tuple[float, float], ...] = ()
    """Hours passed and accuracy after each epoch, by the epoch time of Table III; without it, by the run's own."""


@dataclass(frozen=True, slots=True)
class Storage:
    """Fig 8: compressed or subsampled to the same share of the original's size."""

    data: str
    model: str
    percent: int
    variant: str
    compressed_top1: float
    subsampled_top1: float


@dataclass(frozen=True, slots=True)
class Cache:
    """Fig 10: cache and compression, alone and together."""

    data: str
    model: str
    disk: str
    variant: str
    loader: str
    images_per_second: float | None
    """Rate of training; None if the number of images is unknown."""
    seconds: float


@dataclass(frozen=True, slots=True)
class Regimen:
    """Fig 9: a low quality first, the original later."""

    data: str
    model: str
    stages: str
    top1: float
    mean_gib: float | None
    """Mean size of the variants; None if it is unknown."""


@dataclass(frozen=True, slots=True)
class Rate:
    """Fig 3 and 6: the rate of training from a storage, or (synthetic) without any; Fig 1a: loading alone."""

    model: str
    """Empty for a loader alone."""
    variant: str
    disk: str
    workers: int
    loader: str
    images_per_second: float
    stall_share: float | None


@dataclass(frozen=True, slots=True)
class Thrashing:
    """Fig 2: the bytes that an epoch read from the disk under a limit of memory."""

    loader: str
    memory_gib: int
    read_gib: float


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Fig 4 and 5: the accuracy of a model on a variant without a time limit."""

    data: str
    model: str
    variant: str
    disk: str
    num_epochs: int
    top1: float
    top5: float | None


@dataclass(frozen=True, slots=True)
class Coding:
    """Table IV: the time of a codec."""

    way: str
    """`encode` or `decode`."""
    codec: str
    is_batched: bool
    total_seconds: float
    num_images: int
    """0 if it was done in batches."""
    median_ms: float | None
    """Median time of an image, or of a batch."""
    bits_per_pixel: float | None


@dataclass(frozen=True, slots=True)
class Published:
    """Results of a folder of runs."""

    epoch_times: tuple[EpochTime, ...] = ()
    budgets: tuple[Budget, ...] = ()
    storage: tuple[Storage, ...] = ()
    caches: tuple[Cache, ...] = ()
    regimens: tuple[Regimen, ...] = ()
    rates: tuple[Rate, ...] = ()
    thrashing: tuple[Thrashing, ...] = ()
    accuracies: tuple[Accuracy, ...] = ()
    codings: tuple[Coding, ...] = ()
    unknown: tuple[str, ...] = ()
    """Runs whose names fit no experiment."""
    unread: tuple[str, ...] = ()
    """Runs whose reports are damaged or too short, and why."""

    def as_dict(self) -> dict[str, Json]:
        """Convert the results for `--json`."""
        return dict(asdict(self))


def analyse(folder: Path) -> Published:
    """Read every run below a folder. Raise ArgumentError if no run can be read.

    A run that cannot be read is listed with the reason; the others are analysed without it.
    """
    runs, unread = _runs(folder)
    found: dict[re.Pattern[str], list[Any]] = {kind: [] for kind in _KINDS}
    for name, reports in runs.items():
        kind = _kind(name)
        if kind is not None:
            try:
                found[kind].append(_READERS[kind](name, reports))
            except PenstockError as refusal:
                unread[name] = refusal
    if unread and not any(found.values()):
        raise next(iter(unread.values()))
    epoch_times = tuple(found[_EPOCH_TIME])
    rates = (*found[_RATE], *found[_SYNTHETIC], *found[_LOADER])
    return Published(
        epoch_times=epoch_times,
        budgets=tuple(_timed(run, curve, epoch_times) for run, curve in found[_BUDGET]),
        storage=tuple(_storage(found[_SUBSET], found[_ACCURACY])),
        caches=tuple(found[_CACHE]),
        regimens=tuple(found[_REGIMEN]),
        rates=rates,
        thrashing=tuple(sorted(found[_DISK], key=lambda run: (run.loader, run.memory_gib))),
        accuracies=tuple(found[_ACCURACY]),
        codings=tuple(found[_CODING]),
        unknown=tuple(name for name in runs if _kind(name) is None),
        unread=tuple(f"{name}: {' '.join(filter(None, (error.what, error.where)))}" for name, error in unread.items()),
    )


Reports = list["Report | Plain | Samples"]


@dataclass(frozen=True, slots=True)
class Plain:
    """Report that is one JSON object: of a loader alone, of an encoder or a decoder."""

    members: Document

    def numbers(self, name: str) -> list[float]:
        """Return a list of numbers; empty if it is missing."""
        return [float(str(value)) for value in self.members.values(name)] if name in self.members else []


@dataclass(frozen=True, slots=True)
class Samples:
    """Disk reads, second by second."""

    read: list[tuple[datetime, float]]


def _runs(folder: Path) -> tuple[dict[str, Reports], dict[str, PenstockError]]:
    """Return runs by name, in order, with one report each or one per stage, and those that cannot be read."""
    found: dict[str, Reports] = {}
    unread: dict[str, PenstockError] = {}
    paths = [path for path in list_tree(folder).paths() if re.fullmatch(_REPORT_FILE, path.name)]
    if not paths:
        raise ArgumentError(
            "there is no DLLogger report here", where=str(folder), fix="give the folder of the experiments", code=100
        )
    for path in sorted(paths, key=lambda path: (path.parent.name, path)):
        try:
            found.setdefault(path.parent.name, []).append(_read(read_file(path), str(path)))
        except PenstockError as refusal:
            unread[path.parent.name] = refusal
    return {name: reports for name, reports in found.items() if name not in unread}, unread


_REPORT_FILE = r"experiment_report(_stage_\d+)?\.json|iostat\.json"


def _read(data: bytes, where: str) -> Report | Plain | Samples:
    if where.endswith("iostat.json"):
        return Samples(read_samples(data, where))
    if data.lstrip()[:1] != b"{":
        return read_report(data, where)
    try:
        members = json.loads(data)
    except ValueError as cause:
        raise ArgumentError("this is neither DLLogger's nor JSON", where=where, fix="leave it out") from cause
    return Plain(Document(members, where))


def _kind(name: str) -> re.Pattern[str] | None:
    return next((kind for kind in _KINDS if kind.fullmatch(name)), None)


def _parts(kind: re.Pattern[str], name: str) -> dict[str, str]:
    match = kind.fullmatch(name)
    assert match is not None  # the caller asked `_kind`
    return match.groupdict()


def _logged(name: str, reports: Reports) -> list[Report]:
    """Return the reports of a training run. Raise ArgumentError if they are something else."""
    found = [report for report in reports if isinstance(report, Report)]
    if len(found) != len(reports) or not found:
        raise ArgumentError("this is not a report of a training", where=name, fix="leave it out")
    return found


def _plain(name: str, reports: Reports) -> Plain:
    if not isinstance(reports[0], Plain):
        raise ArgumentError("this is a report of a training", where=name, fix="leave it out")
    return reports[0]


def _top1(name: str, reports: list[Report]) -> float:
    reached = [report.best_top1 for report in reports if report.best_top1 is not None]
    reached += [epoch.top1 for report in reports for epoch in report.epochs if epoch.top1 is not None]
    if not reached:
        raise ArgumentError("this run validated nothing", where=name, fix="leave it out, or give its whole report")
    return max(reached)


def _epoch_time(name: str, reports: Reports) -> EpochTime:
    parts = _parts(_EPOCH_TIME, name)
    epochs = _logged(name, reports)[0].epochs
    seconds, stall = representative_seconds(epochs), stall_share(epochs)
    return EpochTime(
        parts["data"], parts["model"], parts["variant"], parts["disk"], int(parts["workers"]), seconds, stall
    )


def _rate(name: str, reports: Reports) -> Rate:
    """Compute the rate of training and validation images over the time of both, as in the published figures."""
    kind = _kind(name)
    assert kind is not None
    parts = _parts(kind, name)
    (report, *_) = _logged(name, reports)
    asked = [int(report.parameter(part) or -1) for part in ("synth_train_samples", "synth_val_samples")]
    num_images = sum(asked) if min(asked) > 0 else TRAIN_IMAGES["inet"] + VALIDATION_IMAGES["inet"]
    return Rate(
        parts["model"],
        parts["variant"],
        parts.get("disk", "none"),
        int(parts.get("workers", 0)),
        report.parameter("data_loader") or ("synthetic" if kind is _SYNTHETIC else ""),
        images_per_second(report.epochs, num_images),
        stall_share(report.epochs),
    )


def _loader_rate(name: str, reports: Reports) -> Rate:
    """Compute the rate of a loader alone for training images; the published rates include validation (+3.9 %)."""
    parts = _parts(_LOADER, name)
    epochs = _plain(name, reports).numbers("epoch_times")
    timed = [Epoch(number, seconds) for number, seconds in enumerate(epochs)]
    rate = images_per_second(timed, TRAIN_IMAGES["inet"])
    return Rate("", parts["variant"], parts["disk"], 0, parts["loader"], rate, None)


def _coding(name: str, reports: Reports) -> Coding:
    parts, report = _parts(_CODING, name), _plain(name, reports)
    is_encoder = parts["way"] == "enc"
    single = report.numbers("enc_times" if is_encoder else "dec_times")
    times = single or report.numbers("batch_times")
    sizes = report.numbers("bpp")
    return Coding(
        "encode" if is_encoder else "decode",
        parts["codec"],
        not single,
        report.members.number("total_time"),
        len(single),
        median(times) * 1e3 if times else None,
        fmean(sizes) if sizes else None,
    )


def _thrashing(name: str, reports: Reports) -> Thrashing:
    parts, samples = _parts(_DISK, name), [report for report in reports if isinstance(report, Samples)]
    epochs = _logged(name, [report for report in reports if not isinstance(report, Samples)])[0].epochs
    read = bytes_per_epoch(samples[0].read, epochs) if samples else None
    if read is None:
        raise ArgumentError("no two epochs of it have an iostat.json beside them", where=name, fix="give it, too")
    return Thrashing(parts["loader"], int(parts["gib"]), read / 2**30)


def _accuracy(name: str, reports: Reports) -> Accuracy:
    parts, logged = _parts(_ACCURACY, name), _logged(name, reports)
    num_epochs = sum(len(report.epochs) for report in logged)
    top5 = [report.best_top5 for report in logged if report.best_top5 is not None]
    reached = _top1(name, logged)
    return Accuracy(
        parts["data"], parts["model"], parts["variant"], parts["disk"], num_epochs, reached, max(top5, default=None)
    )


def _budget(name: str, reports: Reports) -> tuple[Budget, tuple[Epoch, ...]]:
    parts, logged = _parts(_BUDGET, name), _logged(name, reports)
    epochs, top1 = logged[0].epochs, _top1(name, logged)
    hours = float(parts["hours"]) if "." in parts["hours"] else int(parts["hours"])
    kind = parts["data"], parts["model"], parts["variant"], parts["disk"]
    return Budget(*kind, hours, len(epochs), top1), epochs


def _timed(run: Budget, epochs: Sequence[Epoch], times: Sequence[EpochTime]) -> Budget:
    """Return the run with its accuracy over time, with epoch times from Table III or its own."""
    kind = run.data, run.model, run.variant, run.disk
    own = [epoch.seconds for epoch in epochs if epoch.seconds is not None and epoch.number > 0]
    seconds = [time.seconds for time in times if (time.data, time.model, time.variant, time.disk) == kind] or own
    hours = fmean(seconds) / 3600 if seconds else run.hours / max(1, len(epochs))
    curve = tuple(((epoch.number + 1) * hours, epoch.top1) for epoch in epochs if epoch.top1 is not None)
    return replace(run, curve=curve)


def _subset(name: str, reports: Reports) -> tuple[dict[str, str], float]:
    return _parts(_SUBSET, name), _top1(name, _logged(name, reports))


def _storage(subsets: Sequence[tuple[dict[str, str], float]], accuracies: Sequence[Accuracy]) -> Iterator[Storage]:
    """Yield each subsampled run next to the highest quality of the same size: 50 % of the images, QF 85, and so on."""
    ladder = ("jpeg85", "jpeg75", "jpeg50", "jpeg25", "jpeg10", "jpeg5", "jpeg1")
    reached = {(run.data, run.model, _unpadded(run.variant), run.disk): run.top1 for run in accuracies}
    for parts, top1 in sorted(subsets, key=lambda item: -int(item[0]["percent"])):
        sizes = SIZES_GIB.get(parts["data"], {})
        limit = sizes.get("raw", 0.0) * int(parts["percent"]) / 100
        for variant in [variant for variant in ladder if sizes.get(variant, limit + 1) <= limit][:1]:
            beside = reached.get((parts["data"], parts["model"], variant, parts["disk"]))
            if beside is not None:
                yield Storage(parts["data"], parts["model"], int(parts["percent"]), variant, beside, top1)


def _cache(name: str, reports: Reports) -> Cache:
    parts = _parts(_CACHE, name)
    seconds = representative_seconds(_logged(name, reports)[0].epochs)
    num_images = TRAIN_IMAGES.get(parts["data"])
    rate = num_images / seconds if num_images else None
    return Cache(parts["data"], parts["model"], parts["disk"], parts["variant"], parts["loader"], rate, seconds)


def _regimen(name: str, reports: Reports) -> Regimen:
    parts = _parts(_REGIMEN, name)
    stages = [stage.split(":") for stage in parts["stages"].split("_")]
    named = [(f"jpeg{variant}" if variant.isdecimal() else variant, int(count)) for variant, count in stages]
    known = SIZES_GIB.get(parts["data"], {})
    sizes = [(count, known[_unpadded(variant)]) for variant, count in named if _unpadded(variant) in known]
    text = ", ".join(f"{variant} {count}" for variant, count in named)
    mean_gib = mean_size(sizes) if len(sizes) == len(named) else None
    return Regimen(parts["data"], parts["model"], text, _top1(name, _logged(name, reports)), mean_gib)


def _unpadded(variant: str) -> str:
    """Format a variant as in Table II.

    >>> _unpadded("jpeg05"), _unpadded("webp10"), _unpadded("raw")
    ('jpeg5', 'webp10', 'raw')
    """
    return re.sub(r"^(\D+)0+(?=\d)", r"\1", variant)


_READERS: Mapping[re.Pattern[str], Callable[[str, Reports], Any]] = {
    _BUDGET: _budget,
    _ACCURACY: _accuracy,
    _SUBSET: _subset,
    _REGIMEN: _regimen,
    _CACHE: _cache,
    _EPOCH_TIME: _epoch_time,
    _LOADER: _loader_rate,
    _RATE: _rate,
    _SYNTHETIC: _rate,
    _DISK: _thrashing,
    _CODING: _coding,
}
