"""What does it buy to let the plan choose `sluice`?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from bench.campaign.data import Data
from bench.campaign.log import Log
from bench.campaign.prediction import goals_of, planned_view
from bench.campaign.rounds import Entry, measure_rounds
from bench.campaign.settings import Setting
from bench.campaign.windows import Windows, throttled
from penstock.plan import make_plan

QUESTION = "How fast is the plan with sluice, next to the plan without it?"
WITH, WITHOUT = "with sluice", "without sluice"


def run(settings: Sequence[Setting], data: Mapping[str, Data], log: Log, *, seconds: float, repeats: int) -> bool:
    """Measure both plans of every setting whose sources are JPEGs; whatever comes out is the answer."""
    for setting in settings:
        mine = data[setting.corpus.name]
        if "sluice" not in mine.corpus.formats:
            continue
        profile = mine.profile()
        goals = goals_of(setting, mine)
        fewer = {name: costs for name, costs in profile.formats.items() if name != "sluice"}
        plans = {WITH: make_plan(profile, goals), WITHOUT: make_plan(replace(profile, formats=fewer), goals)}
        views = {
            name: planned_view(mine, plan, f"{name.replace(' ', '-')}-{setting.name}") for name, plan in plans.items()
        }
        with Windows() as windows, throttled(setting.limits, mine.folder) as group:
            for name, path in views.items():
                windows.open(name, path, mine.corpus.transform, goals.memory_bytes or 0)
            entries = {name: Entry(name, group) for name in views}
            rates = measure_rounds(windows, log, f"sluice/{setting.name}", entries, seconds=seconds, repeats=repeats)
        gain = rates[WITH].over(rates[WITHOUT])
        print(f"{setting.name}: with sluice {rates[WITH]}, without {rates[WITHOUT]}: {gain:.2f} times", flush=True)
        log.record(
            QUESTION,
            {
                "setting": setting.name,
                "mixes": {name: dict(plan.mix) for name, plan in plans.items()},
                "predicted": {name: plan.chosen.rates.end_to_end for name, plan in plans.items()},
                "rates": {name: rate.as_dict() for name, rate in rates.items()},
                "gain": gain,
            },
        )
    return True
