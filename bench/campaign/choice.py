"""Is the planned mix as good as the best that a sweep finds?

All pairs of four formats in tenths are 58 mixes, those of five (JPEG sources have `sluice` too) 95. The throttle lets
no more bytes through than it was told: a mix whose bytes forbid the rate that another one was measured at is ruled out.
Then successive halving: every mix that is left gets a short window, the best few a longer one, and the last ones, the
best single formats and the plan interleaved repeats. A mix that loses a round by more than the noise of its window
could only be the best by less than that noise.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from itertools import combinations
from pathlib import Path

from bench.campaign.data import Data
from bench.campaign.log import Log
from bench.campaign.prediction import goals_of, planned_view
from bench.campaign.refresh import Refresher
from bench.campaign.rounds import Entry, measure_rounds
from bench.campaign.settings import Setting
from bench.campaign.windows import Windows, throttled
from penstock.plan import Plan, make_plan
from penstock.records import Dataset

QUESTION = "Does the plan choose as well as a sweep of all pairs in tenths?"
LEAST_OF_BEST, LEAST_OF_SINGLE = 0.97, 0.98
PLANNED = "planned"
WITHIN_REACH = 0.95
"""Share of the fastest rate so far; a mix whose bytes forbid it cannot be the best."""


def sweep(data: Data) -> dict[str, Path]:
    """Make every mix of the sweep as a view, by name: `jpeg 0.7 + raw 0.3`."""
    found = dict(data.builds)
    for first, second in combinations(data.corpus.formats, 2):
        for tenth in range(1, 10):
            share = tenth / 10
            found[f"{first} {1 - share:.1f} + {second} {share:.1f}"] = data.mixed(first, second, share)
    return found


def run(settings: Sequence[Setting], data: Mapping[str, Data], log: Log, *, seconds: float, repeats: int) -> bool:
    """Sweep and compare; return whether the plan is good enough everywhere."""
    is_met = True
    groups: dict[tuple[str, float], list[Setting]] = {}
    for setting in settings:
        groups.setdefault((setting.corpus.name, setting.cached), []).append(setting)
    refreshers = {name: Refresher(mine) for name, mine in data.items()}
    for (corpus, _), alike in groups.items():
        views = sweep(data[corpus])
        first = _first_round(alike, data[corpus], views, log, seconds / 3)
        for setting in alike:
            profile = refreshers[corpus].profile(log, f"choice/{setting.name}")
            plan = make_plan(profile, goals_of(setting, data[corpus]))
            found = first[setting.name]
            is_met &= _finish(setting, data[corpus], plan, views, found, log, seconds=seconds, repeats=repeats)
    return is_met


def most_images_per_second(path: Path, setting: Setting, cache_bytes: int) -> float:
    """Return the largest rate that the throttle allows, with every uncached record read."""
    lengths = Dataset(path).locations().length
    read = float(lengths.mean()) - cache_bytes / len(lengths)
    return setting.disk_bytes_per_second / read if read > 0 else math.inf


def _first_round(
    settings: Sequence[Setting], data: Data, views: Mapping[str, Path], log: Log, seconds: float
) -> dict[str, dict[str, float]]:
    """Measure one short window each, the smallest mixes first; a loader is opened once for all disks."""
    found: dict[str, dict[str, float]] = {setting.name: {} for setting in settings}
    cache_bytes = goals_of(settings[0], data).memory_bytes or 0
    most = {name: most_images_per_second(path, settings[0], cache_bytes) for name, path in views.items()}
    with Windows() as windows, ExitStack() as stack:
        groups = {setting.name: stack.enter_context(throttled(setting.limits, data.folder)) for setting in settings}
        relative = {one.name: one.disk_megabytes / settings[0].disk_megabytes for one in settings}
        for name in sorted(views, key=lambda name: -most[name]):
            able = [
                one
                for one in settings
                if name in data.corpus.formats or _may_win(most[name] * relative[one.name], found[one.name])
            ]
            keys = {setting.name: f"choice/{setting.name}/first/{seconds}/{name}" for setting in able}
            if any(log.get(key) is None for key in keys.values()):
                windows.open(name, views[name], data.corpus.transform, cache_bytes)
                for setting in able:
                    log.put(keys[setting.name], asdict(windows.measure(name, seconds, groups[setting.name])))
                windows.close(name)
            for setting in able:
                # A short window still has some of the throttle's first credit: no mix is faster than its bytes permit.
                rate = log.get(keys[setting.name])["images_per_second"]
                found[setting.name][name] = min(rate, most[name] * relative[setting.name])
    return found


def _may_win(most: float, measured: Mapping[str, float]) -> bool:
    return most >= WITHIN_REACH * max(measured.values(), default=0.0)


def _finish(
    setting: Setting,
    data: Data,
    plan: Plan,
    views: Mapping[str, Path],
    first: Mapping[str, float],
    log: Log,
    *,
    seconds: float,
    repeats: int,
) -> bool:
    """Measure the best of the first round, the singles and the plan for longer, then the last ones interleaved."""
    cache_bytes = goals_of(setting, data).memory_bytes or 0
    planned = next(iter(plan.rule.formats)) if len(plan.rule.formats) == 1 else PLANNED  # the same files: one entry
    paths = {**views, PLANNED: planned_view(data, plan, f"plan-{setting.name}")}
    best = sorted(first, key=lambda name: -first[name])[:6]
    singles = sorted(data.corpus.formats, key=lambda name: -first[name])[:2]
    key = f"choice/{setting.name}"
    with Windows() as windows, throttled(setting.limits, data.folder) as group:
        names = list(dict.fromkeys([*best, *singles, planned]))
        for name in names:
            windows.open(name, paths[name], data.corpus.transform, cache_bytes)
        entries = {name: Entry(name, group) for name in names}
        second = measure_rounds(windows, log, f"{key}/second", entries, seconds=seconds, repeats=1)
        leading = sorted(best, key=lambda name: -second[name].median)[:3]
        entries = {name: entries[name] for name in dict.fromkeys([*leading, *singles, planned])}
        last = measure_rounds(windows, log, f"{key}/last", entries, seconds=seconds, repeats=repeats)
    top = max(leading, key=lambda name: last[name].median)
    single = max(singles, key=lambda name: last[name].median)
    of_best, of_single = (last[planned].over(last[name]) for name in (top, single))
    is_met = of_best >= LEAST_OF_BEST and of_single >= LEAST_OF_SINGLE
    mix = " + ".join(f"{share:.0%} {name}" for name, share in plan.mix.items())
    ruled_out = len(views) - len(first)
    print(f"{setting.name}: planned ({mix}) {last[planned]}, predicted {plan.chosen.rates.end_to_end:.0f}")
    print(f"  best of {len(views)} mixes ({ruled_out} by bytes): {top} {last[top]}: the plan has {of_best:.1%} of it")
    print(f"  best single: {single} {last[single]}: the plan has {of_single:.1%} of it", flush=True)
    line = {
        "setting": setting.name,
        "mix": dict(plan.mix),
        "predicted_images_per_second": plan.chosen.rates.end_to_end,
        "rates": {(PLANNED if name == planned else name): rate.as_dict() for name, rate in last.items()},
        "first_round": dict(first),
        "ruled_out_by_bytes": ruled_out,
        "best_of_sweep": top,
        "share_of_best": of_best,
        "best_single": single,
        "share_of_single": of_single,
        "is_met": is_met,
        "method": "successive halving: all that the throttle permits once, six and two singles once for longer, "
        "the last ones in turns; shares are medians of the rounds' ratios",
    }
    log.record(QUESTION, line)
    return is_met
