"""Does a dataset load as fast as its plan said before?

The plan is told the disk's rate: a setting that the disk limits tests what is predicted of bytes and caches, no more.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from bench.campaign.data import Data
from bench.campaign.log import Log
from bench.campaign.refresh import Refresher
from bench.campaign.rounds import Entry, Rate, measure_rounds
from bench.campaign.settings import Setting
from bench.campaign.windows import Windows, throttled
from penstock.plan import Goals, Plan, make_plan
from penstock.plan.document import rates_as_dict
from penstock.plan.make import predict

QUESTION = "Does a planned dataset load as fast as predicted?"
MOST_ERROR, MOST_MEDIAN_ERROR = 0.10, 0.05


def goals_of(setting: Setting, data: Data) -> Goals:
    """Return the setting as goals, like `penstock plan --disk … --memory …`."""
    return Goals(
        memory_bytes=round(setting.cached * data.source_bytes), disk_bytes_per_second=setting.disk_bytes_per_second
    )


def planned_view(data: Data, plan: Plan, name: str) -> Path:
    """Return the dataset that `build --plan` would write, as a view."""
    pixels, source_bytes = data.features()
    formats = list(plan.rule.formats)
    numbers = plan.rule.choose(np.arange(len(pixels)), pixels, source_bytes)
    return data.view(name, [formats[number] for number in numbers])


def run(settings: Sequence[Setting], data: Mapping[str, Data], log: Log, *, seconds: float, repeats: int) -> bool:
    """Predict, write the predictions down, measure; whether all are near enough.

    Plans, and so the datasets, are those of the profiles. Before every round the machine is measured again and the
    plans' rates are predicted from that, because a host that is shared is not the one that it was minutes ago.
    """
    settings = sorted(settings, key=lambda one: (one.corpus.name, -one.disk_megabytes))  # those that compute come first
    plans = {}
    for setting in settings:
        mine = data[setting.corpus.name]
        plan = plans[setting.name] = make_plan(mine.profile(), goals_of(setting, mine))
        log.record(
            QUESTION, {"setting": setting.name, "mix": dict(plan.mix), "predicted": rates_as_dict(plan.chosen.rates)}
        )
    predicted, rates = _measure(settings, data, plans, log, seconds=seconds, repeats=repeats)
    errors = []
    print(f"{'setting':<20} {'predicted':>9} {'measured (range)':>24} {'error':>7} {'old':>7}  mix")
    for setting in settings:
        plan, rate = plans[setting.name], rates[setting.name]
        said, first = statistics.median(predicted[setting.name]), plan.chosen.rates.end_to_end
        errors.append(said / rate.median - 1)
        chosen = " + ".join(f"{share:.0%} {name}" for name, share in plan.mix.items())
        off = f"{errors[-1]:+7.1%} {first / rate.median - 1:+7.1%}"
        print(f"{setting.name:<20} {said:9.0f} {rate!s:>24} {off}  {chosen}, {plan.chosen.rates.bottleneck}")
        line = {
            "setting": setting.name,
            "predicted_images_per_second": said,
            "measured": rate.as_dict(),
            "error": errors[-1],
            "error_of_first_profile": first / rate.median - 1,
            "rounds": {"predicted": predicted[setting.name], "measured": list(rate.rounds)},
            "seconds": seconds,
        }
        log.record(QUESTION, line)
    worst, middle = max(map(abs, errors)), statistics.median(map(abs, errors))
    limits = Counter(plans[setting.name].chosen.rates.bottleneck for setting in settings)
    print(f"limited by: {dict(limits)}; where it is the disk, the plan was told its rate")
    is_met = worst <= MOST_ERROR and middle <= MOST_MEDIAN_ERROR
    print(
        f"largest error {worst:.1%} (at most {MOST_ERROR:.0%}), median {middle:.1%} (at most {MOST_MEDIAN_ERROR:.0%})"
    )
    told = {"largest_error": worst, "median_error": middle, "is_met": is_met, "settings": len(settings)}
    log.record(QUESTION, told | {"limited_by": dict(limits)})
    return is_met


def _measure(
    settings: Sequence[Setting],
    data: Mapping[str, Data],
    plans: Mapping[str, Plan],
    log: Log,
    *,
    seconds: float,
    repeats: int,
) -> tuple[dict[str, list[float]], dict[str, Rate]]:
    """Return predictions and measurements of each setting, one pair per round."""
    by_name = {setting.name: setting for setting in settings}
    refreshers = {name: Refresher(mine) for name, mine in data.items()}
    predicted: dict[str, list[float]] = {setting.name: [] for setting in settings}

    def predict_round(name: str, repeat: int) -> None:
        setting = by_name[name]
        mine = data[setting.corpus.name]
        profile = refreshers[setting.corpus.name].profile(log, f"prediction/{setting.corpus.name}/{seconds}/{repeat}")
        # A view has no window: it is read record by record.
        found = predict(plans[name].rule, profile, goals_of(setting, mine), window=None)
        log.record(QUESTION, {"setting": name, "round": repeat, "predicted": rates_as_dict(found)})
        predicted[name].append(found.end_to_end)

    with Windows() as windows, ExitStack() as stack:
        groups = {
            setting.disk_megabytes: stack.enter_context(throttled(setting.limits, data[setting.corpus.name].folder))
            for setting in {one.disk_megabytes: one for one in settings}.values()
        }
        entries = {}
        for setting in settings:
            mine = data[setting.corpus.name]
            view = planned_view(mine, plans[setting.name], f"plan-{setting.name}")
            cache_bytes = goals_of(setting, mine).memory_bytes or 0
            windows.open(setting.name, view, setting.corpus.transform, cache_bytes)
            entries[setting.name] = Entry(setting.name, groups[setting.disk_megabytes])
        rates = measure_rounds(
            windows, log, "prediction", entries, seconds=seconds, repeats=repeats, before=predict_round
        )
    return predicted, rates
