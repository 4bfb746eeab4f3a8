"""Is the planned mix as good as the best that a sweep finds?

All pairs of four formats in tenths are 58 mixes. Successive halving: every one gets a short window, the best few a
longer one, and the last ones, the four single formats and the plan interleaved repeats. A mix that loses a round by
more than the noise of its window could only be the best by less than that noise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from itertools import combinations
from pathlib import Path

from bench.campaign.data import Data
from bench.campaign.log import Log
from bench.campaign.prediction import goals_of, planned_view
from bench.campaign.rounds import Entry, measure_rounds
from bench.campaign.settings import Setting
from bench.campaign.windows import Windows, throttled
from penstock.plan import make_plan

QUESTION = "Does the plan choose as well as a sweep of all pairs in tenths?"
LEAST_OF_BEST, LEAST_OF_SINGLE = 0.97, 0.98
PLANNED = "planned"


def sweep(data: Data) -> dict[str, Path]:
    """Every mix of the sweep, as a view, by name: `jpeg 0.7 + raw 0.3`."""
    found = dict(data.builds)
    for first, second in combinations(data.corpus.formats, 2):
        for tenth in range(1, 10):
            share = tenth / 10
            found[f"{first} {1 - share:.1f} + {second} {share:.1f}"] = data.mixed(first, second, share)
    return found


def run(settings: Sequence[Setting], data: Mapping[str, Data], log: Log, *, seconds: float, repeats: int) -> bool:
    """Sweep and compare; whether the plan is good enough everywhere."""
    is_met = True
    groups: dict[tuple[str, float], list[Setting]] = {}
    for setting in settings:
        groups.setdefault((setting.corpus.name, setting.cached), []).append(setting)
    for (corpus, _), alike in groups.items():
        views = sweep(data[corpus])
        first = _first_round(alike, data[corpus], views, log, seconds / 4)
        for setting in alike:
            is_met &= _finish(setting, data[corpus], views, first[setting.name], log, seconds, repeats)
    return is_met


def _first_round(
    settings: Sequence[Setting], data: Data, views: Mapping[str, Path], log: Log, seconds: float
) -> dict[str, dict[str, float]]:
    """One short window each: a loader is opened (and its cache filled) once for all disks."""
    found: dict[str, dict[str, float]] = {setting.name: {} for setting in settings}
    with Windows() as windows, ExitStack() as stack:
        groups = {setting.name: stack.enter_context(throttled(setting.limits, data.folder)) for setting in settings}
        for name, path in views.items():
            keys = {setting.name: f"choice/{setting.name}/first/{seconds}/{name}" for setting in settings}
            if any(log.get(key) is None for key in keys.values()):
                cache_bytes = goals_of(settings[0], data).memory_bytes or 0
                windows.open(name, path, data.corpus.transform, cache_bytes)
                for setting in settings:
                    log.put(keys[setting.name], asdict(windows.measure(name, seconds, groups[setting.name])))
                windows.close(name)
            for setting in settings:
                found[setting.name][name] = log.get(keys[setting.name])["images_per_second"]
    return found


def _finish(
    setting: Setting,
    data: Data,
    views: Mapping[str, Path],
    first: Mapping[str, float],
    log: Log,
    seconds: float,
    repeats: int,
) -> bool:
    """The best of the first round, the singles and the plan: once for longer, then the last ones in turns."""
    goals = goals_of(setting, data)
    plan = make_plan(data.profile(), goals)
    singles = list(data.corpus.formats)
    paths = {**views, PLANNED: planned_view(data, plan, f"plan-{setting.name}")}
    best = sorted(first, key=lambda name: -first[name])[:8]
    key = f"choice/{setting.name}"
    with Windows() as windows, throttled(setting.limits, data.folder) as group:
        names = list(dict.fromkeys([*best, *singles, PLANNED]))
        for name in names:
            windows.open(name, paths[name], data.corpus.transform, goals.memory_bytes or 0)
        entries = {name: Entry(name, group) for name in names}
        second = measure_rounds(windows, log, f"{key}/second", entries, seconds=seconds / 2, repeats=1)
        leading = sorted(best, key=lambda name: -second[name].median)[:3]
        best_single = sorted(singles, key=lambda name: -second[name].median)[:2]
        entries = {name: entries[name] for name in dict.fromkeys([*leading, *best_single, PLANNED])}
        last = measure_rounds(windows, log, f"{key}/last", entries, seconds=seconds, repeats=repeats)
    top = max(leading, key=lambda name: last[name].median)
    single = max(best_single, key=lambda name: last[name].median)
    of_best, of_single = (last[PLANNED].median / last[name].median for name in (top, single))
    mix = " + ".join(f"{share:.0%} {name}" for name, share in plan.mix.items())
    print(f"{setting.name}: planned ({mix}) {last[PLANNED]}, predicted {plan.chosen.rates.end_to_end:.0f}")
    print(f"  best of {len(views)} mixes: {top} {last[top]}: the plan has {of_best:.1%} of it")
    print(f"  best single: {single} {last[single]}: the plan has {of_single:.1%} of it", flush=True)
    is_met = of_best >= LEAST_OF_BEST and of_single >= LEAST_OF_SINGLE
    line = {
        "setting": setting.name,
        "mix": dict(plan.mix),
        "predicted_images_per_second": plan.chosen.rates.end_to_end,
        "rates": {name: rate.as_dict() for name, rate in last.items()},
        "first_round": dict(first),
        "best_of_sweep": top,
        "share_of_best": of_best,
        "best_single": single,
        "share_of_single": of_single,
        "is_met": is_met,
        "method": "successive halving: all once, eight and the singles once for longer, the last ones in turns",
    }
    log.record(QUESTION, line)
    return is_met
