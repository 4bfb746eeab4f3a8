"""Steps of `penstock auto`. Deciding writes nothing; finishing builds and measures both sides."""

from __future__ import annotations

import math
import os
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

from penstock.bench import EmulatedBench, LoaderBenchOptions, bench_under
from penstock.build import Built, prepare
from penstock.build.rules import rules_of_plan
from penstock.errors import ArgumentError
from penstock.limits import NO_LIMITS, Limits
from penstock.load import plan_loader
from penstock.plan import Goals, Plan, Row, make_plan
from penstock.profile import Profile
from penstock.profile.measure import ProfileOptions, measure
from penstock.sources import index_of, open_source
from penstock.sources.listed_once import ListedOnce
from penstock.sources.source import Source
from penstock.storage import is_folder
from penstock.transforms.named import named
from penstock.types import OnProgress, no_progress

WORTH_BUILDING = 1.10
"""Predicted speed-up that makes a build worthwhile."""
MUCH_SECONDS, MUCH_BYTES = 600.0, 20 * 10**9
"""A build above either is asked about."""
BENCH_SECONDS = 20.0
"""Time limit of an epoch, and about the time of all epochs together; small datasets take many."""
CACHE = "rolling"
"""The cache that a plan counts on."""
FILL_SECONDS = 25.0
"""Time limit for filling a cache; beyond it, both sides are benchmarked without one."""


@dataclass(frozen=True, slots=True)
class AutoOptions:
    """Options of a run: what to measure, the goals, and the machine to emulate."""

    transform: str = "train224"
    batch_size: int = 64
    sample: int = 100
    compute_rate: float | None = None
    limits: Limits = NO_LIMITS
    formats: str = ""
    cache_bytes: int | None = None
    """Size of the loader's cache on both sides. None: no cache, or what half of an emulated memory leaves."""
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Decision:
    """Measurements and the chosen plan; nothing is written yet."""

    source: Source
    options: AutoOptions
    profile: Profile
    goals: Goals
    plan: Plan
    free_bytes: int

    @property
    def is_worth_it(self) -> bool:
        """True if the plan gains enough to build."""
        return self.plan.gain >= WORTH_BUILDING

    @property
    def cache_bytes(self) -> int:
        """Bytes that the plan gives the loader's cache."""
        return self.goals.memory_bytes or 0

    @property
    def benches_cache(self) -> bool:
        """True if both sides can fill the planned cache in the time of a benchmark."""
        count = self.profile.dataset.num_samples
        cold = [
            count / min(row.rates.decode, row.rates.load * (1 - row.rates.cached_share) or row.rates.decode)
            for row in (self.plan.rows.folder, self.plan.chosen)
        ]
        return self.cache_bytes > 0 and max(cold) <= FILL_SECONDS

    @property
    def is_much(self) -> bool:
        """True if the user should be asked first."""
        return self.plan.chosen.build_seconds > MUCH_SECONDS or self.plan.chosen.total_bytes > MUCH_BYTES


@dataclass(frozen=True, slots=True)
class AutoResult:
    """Result of a run."""

    decision: Decision
    built: Built
    before: EmulatedBench
    after: EmulatedBench

    @property
    def speed_up(self) -> float:
        """Measured speed-up, not the predicted one."""
        return self.after.images_per_second / self.before.images_per_second


def decide(
    source: str | os.PathLike[str],
    out: str | os.PathLike[str],
    options: AutoOptions | None = None,
    *,
    on_progress: OnProgress = no_progress,
) -> Decision:
    """Profile and plan, as if the machine had the limits."""
    options = options or AutoOptions()
    beside = _existing(Path(out))
    wanted = ProfileOptions(
        on=beside,
        sample=options.sample,
        transform=options.transform,
        compute_rate=options.compute_rate,
        formats=options.formats,
        budget_seconds=45.0,
    )
    opened = ListedOnce(open_source(source))
    profile = measure(opened, wanted, on_progress=on_progress)
    goals = goals_of(options, profile, opened)
    plan = make_plan(profile, goals, seed=options.seed)
    return Decision(opened, options, profile, goals, plan, shutil.disk_usage(beside).free)


def goals_of(options: AutoOptions, profile: Profile, source: Source) -> Goals:
    """Return the goals of the machine, with the limits applied."""
    limits = options.limits
    disk = limits.disk_bytes_per_second
    return Goals(
        memory_bytes=_cache_bytes(options, source),
        compute_rate=options.compute_rate,
        cores=float(min(limits.cores, profile.cores)) if limits.cores is not None else None,
        disk_bytes_per_second=min(disk, profile.disk.bytes_per_second.median) if disk is not None else None,
    )


def finish(decision: Decision, out: str | os.PathLike[str], *, on_progress: OnProgress = no_progress) -> AutoResult:
    """Build the dataset, and benchmark the source and the dataset, each in its own process."""
    built = prepare(decision.source, out, mix=rules_of_plan(decision.plan)).run(on_progress=on_progress)
    on_progress("bench before", 0, 2)
    limits, rows = decision.options.limits, decision.plan.rows
    before = bench_under(str(decision.source.path), _bench_options(decision, rows.folder), limits)
    on_progress("bench after", 1, 2)
    after = bench_under(out, _bench_options(decision, rows.chosen), limits)
    return AutoResult(decision, built, before, after)


def _cache_bytes(options: AutoOptions, source: Source) -> int:
    """Return the size of the loader's cache; 0 if not requested, because rare disk reads would show nothing."""
    if options.cache_bytes is not None:
        return options.cache_bytes
    if options.limits.memory_bytes is None:
        return 0
    try:
        plan = plan_loader(
            index_of(source),
            batch_size=options.batch_size,
            transform=named(options.transform),
            threads=options.limits.cores or 0,
            cache=CACHE,
            memory=options.limits.memory_bytes // 2,
        )
    except ArgumentError:  # too little memory to load with, or a source that cannot be loaded: the bench will say which
        return 0
    return plan.memory.cache_bytes


def _bench_options(decision: Decision, row: Row) -> LoaderBenchOptions:
    epoch_seconds = decision.profile.dataset.num_samples / row.rates.end_to_end
    options = LoaderBenchOptions(
        transform=decision.options.transform,
        batch_size=decision.options.batch_size,
        cache="none",
        epochs=max(2, min(20, math.ceil(BENCH_SECONDS / 2 / epoch_seconds))),
        max_seconds=BENCH_SECONDS,
    )
    if not decision.benches_cache:
        return options
    # Whole epochs: what a cache keeps is wanted in the next one. The first fills it, and is not counted.
    return replace(options, cache=decision.plan.cache, cache_bytes=decision.cache_bytes, max_seconds=None)


def _existing(path: Path) -> Path:
    """Return the nearest existing folder above a path, where its disk can be measured."""
    for folder in path.absolute().parents:
        if is_folder(folder):
            return folder
    return Path("/")
