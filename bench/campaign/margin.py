"""What does it buy to choose the format image by image, and not at random at the same shares?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from bench.campaign.data import Data
from bench.campaign.liquid import best_pair
from bench.campaign.log import Log
from bench.campaign.refresh import Refresher
from bench.campaign.rounds import Entry, measure_rounds
from bench.campaign.settings import Setting
from bench.campaign.windows import Windows, throttled
from penstock.build.assignment import assign_formats
from penstock.plan import Goals, make_plan

QUESTION = "What does choosing image by image gain over a random choice of the same mix?"


def run(data: Sequence[Data], log: Log, *, seconds: float, repeats: int) -> bool:
    """Measure both on each dataset, where two formats are mixed; whatever comes out is the answer."""
    for mine in data:
        profile = Refresher(mine).profile(log, f"margin/{mine.corpus.name}")
        pair = best_pair(mine, profile)
        setting = Setting(mine.corpus, pair.disk_megabytes, 0.0)
        formats = {name: profile.formats[name] for name in (pair.first, pair.second)}
        goals = Goals(memory_bytes=0, disk_bytes_per_second=setting.disk_bytes_per_second)
        plan = make_plan(replace(profile, formats=formats), goals)
        names = list(plan.rule.formats)
        pixels, source_bytes = mine.features()
        numbers = plan.rule.choose(np.arange(len(pixels)), pixels, source_bytes)
        counts = np.bincount(numbers, minlength=len(names))
        at_random = assign_formats(np.arange(len(pixels)), (counts / counts.sum()).tolist(), seed=1)
        paths = {
            "by image": mine.view(f"by-image-{setting.name}", [names[number] for number in numbers]),
            "at random": mine.view(f"at-random-{setting.name}", [names[number] for number in at_random]),
        }
        with Windows() as windows, throttled(setting.limits, mine.folder) as group:
            for name, path in paths.items():
                windows.open(name, path, mine.corpus.transform)
            entries = {name: Entry(name, group) for name in paths}
            rates = measure_rounds(windows, log, f"margin/{setting.name}", entries, seconds=seconds, repeats=repeats)
        gain = rates["by image"].over(rates["at random"]) - 1
        mix = dict(zip(names, (counts / counts.sum()).tolist(), strict=True))
        print(f"{setting.name}: by image {rates['by image']}, at random {rates['at random']}: {gain:+.1%}", flush=True)
        log.record(
            QUESTION,
            {
                "setting": setting.name,
                "mix": mix,
                "gain": gain,
                "rates": {name: rate.as_dict() for name, rate in rates.items()},
            },
        )
    return True
