"""Analyses a folder of published (DL)² runs: what its tables and figures say, from the logs alone.

Runs are known by their folders' names, as the authors named them; models, variants and budgets may be others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean

from penstock.documents import Json
from penstock.errors import ArgumentError
from penstock.lab.dllogger import Report, read_report
from penstock.lab.training import images_per_second, mean_size, representative_seconds, stall_share
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

_EPOCH_TIME = re.compile(
    r"(?P<data>[a-z0-9]+)-(?P<model>[a-z0-9]+)-(?P<variant>[a-z0-9]+)-(?P<disk>[a-z]+)-w(?P<workers>\d+)"
)
_BUDGET = re.compile(
    r"time-(?P<data>[a-z0-9]+)-(?P<model>[a-z0-9]+)-(?P<variant>[a-z0-9]+)-(?P<disk>[a-z]+)-(?P<hours>\d+)h"
)
_ACCURACY = re.compile(r"acc-(?P<data>[a-z0-9]+)-(?P<model>[a-z0-9]+)-(?P<variant>[a-z0-9]+)-(?P<disk>[a-z]+)")
_SUBSET = re.compile(r"space-(?P<data>[a-z0-9]+)-(?P<model>[a-z0-9]+)-raw(?P<percent>\d+)-(?P<disk>[a-z]+)")
_CACHE = re.compile(
    r"(?P<data>[a-z0-9]+)-(?P<model>[a-z0-9]+)-(?P<disk>hdd|ssd|mem)-(?P<variant>[a-z0-9]+)-(?P<loader>pytorch|minio)"
)
_REGIMEN = re.compile(
    r"(?P<data>[a-z0-9]+)-(?P<model>[a-z0-9]+)-(?P<first>\d+):(?P<epochs>\d+)"
    r"_(?P<last>[a-z0-9]+):(?P<rest>\d+)-(?P<disk>[a-z]+)"
)


@dataclass(frozen=True, slots=True)
class EpochTime:
    """Table III: what an epoch takes, and how much of a step waits."""

    data: str
    model: str
    variant: str
    disk: str
    workers: int
    seconds: float
    stall_share: float | None


@dataclass(frozen=True, slots=True)
class Budget:
    """Fig 7: the best accuracy that a time budget bought."""

    data: str
    model: str
    variant: str
    disk: str
    hours: int
    num_epochs: int
    top1: float
    curve: tuple[tuple[float, float], ...] = ()
    """Hours passed and accuracy after each epoch, by the epoch time of Table III; without it, by the run's own."""


@dataclass(frozen=True, slots=True)
class Storage:
    """Fig 8: compress or subsample to the same share of the original's size."""

    data: str
    model: str
    percent: int
    variant: str
    compressed_top1: float
    subsampled_top1: float


@dataclass(frozen=True, slots=True)
class Cache:
    """Fig 10: cache and compression, apart and together."""

    data: str
    model: str
    disk: str
    variant: str
    loader: str
    images_per_second: float


@dataclass(frozen=True, slots=True)
class Regimen:
    """Fig 9: a low quality first, the original later."""

    data: str
    model: str
    stages: str
    top1: float
    mean_gib: float


@dataclass(frozen=True, slots=True)
class Published:
    """All that a folder of runs says."""

    epoch_times: tuple[EpochTime, ...] = ()
    budgets: tuple[Budget, ...] = ()
    storage: tuple[Storage, ...] = ()
    caches: tuple[Cache, ...] = ()
    regimens: tuple[Regimen, ...] = ()
    unknown: tuple[str, ...] = ()
    """Runs whose names fit no experiment."""

    def as_dict(self) -> dict[str, Json]:
        """For `--json` and results."""
        return dict(asdict(self))


def analyse(folder: Path) -> Published:
    """Read every run below a folder. ArgumentError if there is none."""
    runs = dict(_runs(folder))
    if not runs:
        raise ArgumentError(
            "there is no DLLogger report here",
            where=str(folder),
            fix="give the folder of the experiments",
        )
    known = {name: kind for name in runs if (kind := _kind(name)) is not None}
    epoch_times = tuple(_epoch_time(name, runs[name]) for name in known if known[name] is _EPOCH_TIME)
    return Published(
        epoch_times=epoch_times,
        budgets=tuple(_budget(name, runs[name], epoch_times) for name in known if known[name] is _BUDGET),
        storage=tuple(_storage(runs)),
        caches=tuple(_cache(name, runs[name]) for name in known if known[name] is _CACHE),
        regimens=tuple(_regimen(name, runs[name]) for name in known if known[name] is _REGIMEN),
        unknown=tuple(name for name in runs if name not in known),
    )


def _runs(folder: Path) -> Iterator[tuple[str, list[Report]]]:
    """Runs by name, in order: a report each, or one per stage."""
    found: dict[str, list[Report]] = {}
    for path in list_tree(folder).paths():
        if re.fullmatch(r"experiment_report(_stage_\d+)?\.json", path.name):
            found.setdefault(path.parent.name, []).append(read_report(read_file(path), str(path)))
    yield from sorted(found.items())


def _kind(name: str) -> re.Pattern[str] | None:
    kinds = (_BUDGET, _ACCURACY, _SUBSET, _REGIMEN, _CACHE, _EPOCH_TIME)
    return next((kind for kind in kinds if kind.fullmatch(name)), None)


def _parts(kind: re.Pattern[str], name: str) -> dict[str, str]:
    match = kind.fullmatch(name)
    assert match is not None  # the caller asked `_kind`
    return match.groupdict()


def _top1(name: str, reports: list[Report]) -> float:
    reached = [report.best_top1 for report in reports if report.best_top1 is not None]
    reached += [epoch.top1 for report in reports for epoch in report.epochs if epoch.top1 is not None]
    if not reached:
        raise ArgumentError("this run validated nothing", where=name, fix="leave it out, or give its whole report")
    return max(reached)


def _epoch_time(name: str, reports: list[Report]) -> EpochTime:
    parts = _parts(_EPOCH_TIME, name)
    epochs = reports[0].epochs
    seconds, stall = representative_seconds(epochs), stall_share(epochs)
    return EpochTime(
        parts["data"], parts["model"], parts["variant"], parts["disk"], int(parts["workers"]), seconds, stall
    )


def _budget(name: str, reports: list[Report], times: Sequence[EpochTime]) -> Budget:
    parts = _parts(_BUDGET, name)
    epochs, top1 = reports[0].epochs, _top1(name, reports)
    kind = parts["data"], parts["model"], parts["variant"], parts["disk"]
    own = [epoch.seconds for epoch in epochs if epoch.seconds is not None and epoch.number > 0]
    seconds = [time.seconds for time in times if (time.data, time.model, time.variant, time.disk) == kind] or own
    hours = fmean(seconds) / 3600 if seconds else int(parts["hours"]) / max(1, len(epochs))
    curve = tuple(((epoch.number + 1) * hours, epoch.top1) for epoch in epochs if epoch.top1 is not None)
    return Budget(*kind, int(parts["hours"]), len(epochs), top1, curve)


def _storage(runs: Mapping[str, list[Report]]) -> Iterator[Storage]:
    """Each subsampled run beside the highest quality of the same size: 50 % of the images, QF 85 and so on down."""
    ladder = ("jpeg85", "jpeg75", "jpeg50", "jpeg25", "jpeg10")
    subsets = [(_parts(_SUBSET, name), name) for name in runs if _kind(name) is _SUBSET]
    for parts, name in sorted(subsets, key=lambda item: -int(item[0]["percent"])):
        limit = SIZES_GIB[parts["data"]]["raw"] * int(parts["percent"]) / 100
        fitting = [variant for variant in ladder if SIZES_GIB[parts["data"]].get(variant, limit + 1) <= limit]
        for variant in fitting[:1]:
            beside = f"acc-{parts['data']}-{parts['model']}-{variant}-{parts['disk']}"
            if beside in runs:
                compressed, subsampled = _top1(beside, runs[beside]), _top1(name, runs[name])
                percent = int(parts["percent"])
                yield Storage(parts["data"], parts["model"], percent, variant, compressed, subsampled)


def _cache(name: str, reports: list[Report]) -> Cache:
    parts = _parts(_CACHE, name)
    rate = images_per_second(reports[0].epochs, TRAIN_IMAGES[parts["data"]])
    return Cache(parts["data"], parts["model"], parts["disk"], parts["variant"], parts["loader"], rate)


def _regimen(name: str, reports: list[Report]) -> Regimen:
    parts = _parts(_REGIMEN, name)
    sizes = SIZES_GIB[parts["data"]]
    stages = [
        (int(parts["epochs"]), sizes[f"jpeg{parts['first']}"]),
        (int(parts["rest"]), sizes[parts["last"]]),
    ]
    text = f"jpeg{parts['first']} {parts['epochs']}, {parts['last']} {parts['rest']}"
    return Regimen(parts["data"], parts["model"], text, _top1(name, reports), mean_size(stages))
