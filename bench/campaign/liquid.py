"""Liquid's claim: a mix against what people use today, and, the engine held equal, against the better single format."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench.campaign.data import RIVAL_FILES, Data
from bench.campaign.log import Log
from bench.campaign.prediction import planned_view
from bench.campaign.refresh import Refresher
from bench.campaign.rounds import Entry, Rate, measure_rounds
from bench.campaign.settings import Setting
from bench.campaign.windows import BATCH_SIZE, Windows, throttled
from bench.loader import Contender, start
from penstock.plan import Goals, make_plan
from penstock.plan.liquid_search import closed_form
from penstock.plan.mix_problem import make_problem
from penstock.plan.mix_rates import rates_of, single_format, two_formats
from penstock.profile import Profile

AGAINST_RIVALS = "Is data preparation as much faster as Liquid's was, losslessly?"
ENGINE_EQUAL = "Does a mix beat the better single format by what the closed form says?"
CLAIMS = {"cityscapes": 3.05, "imagenet": 1.54}
PAIRS = {"cityscapes": ("png", "raw"), "imagenet": ("jpeg", "weir:fast")}
RIVAL_DISK = 800
"""Megabytes per second that our side is held to; rivals read from the page cache, without any limit."""
MOST_ERROR, LEAST_GAIN = 0.10, 1.3


@dataclass(frozen=True, slots=True)
class Pair:
    """Two formats at the disk rate where mixing them should gain most."""

    first: str
    second: str
    disk_megabytes: int
    share_of_second: float
    rate: float
    single_rate: float

    @property
    def gain(self) -> float:
        """Predicted gain of the mix over the better single format."""
        return self.rate / self.single_rate


def best_pair(data: Data, profile: Profile) -> Pair:
    """Return the disk, in steps of 50 MB/s, at which Liquid's closed form promises most for its pair."""
    first, second = PAIRS[data.corpus.name]
    found = []
    for megabytes in range(50, 1550, 50):
        problem = make_problem(profile, Goals(memory_bytes=0, disk_bytes_per_second=megabytes * 1e6))
        columns = problem.formats.index(first), problem.formats.index(second)
        share = closed_form(problem, *columns)
        rate = rates_of(problem, two_formats(problem, *columns, share)).prep
        single = max(rates_of(problem, single_format(problem, column)).prep for column in columns)
        found.append(Pair(first, second, megabytes, share, rate, single))
    return max(found, key=lambda pair: pair.gain)


def run(data: Sequence[Data], log: Log, rivals: Path, *, seconds: float, repeats: int) -> bool:
    """Run both comparisons for each dataset."""
    against = [_against_rivals(mine, log, rivals, seconds=seconds, repeats=repeats) for mine in data]
    gains = [_engine_equal(mine, log, seconds=seconds, repeats=repeats) for mine in data]
    errors = [abs(error) for _, error in gains]
    print(f"largest gain {max(gain for gain, _ in gains):.2f} (at least {LEAST_GAIN}), error {max(errors):.1%}")
    return all(against) and max(errors) <= MOST_ERROR and max(gain for gain, _ in gains) >= LEAST_GAIN


def _engine_equal(data: Data, log: Log, *, seconds: float, repeats: int) -> tuple[float, float]:
    pair = best_pair(data, Refresher(data).profile(log, f"liquid/{data.corpus.name}"))
    setting = Setting(data.corpus, pair.disk_megabytes, 0.0)
    name = f"{pair.first} + {pair.share_of_second:.2f} {pair.second}"
    about: dict[str, object] = {
        "setting": setting.name,
        "mix": {pair.first: 1 - pair.share_of_second, pair.second: pair.share_of_second},
    }
    log.record(ENGINE_EQUAL, {**about, "predicted_gain": pair.gain, "predicted_images_per_second": pair.rate})
    paths = {
        pair.first: data.build_path(pair.first),
        pair.second: data.build_path(pair.second),
        name: data.mixed(pair.first, pair.second, pair.share_of_second),
    }
    with Windows() as windows, throttled(setting.limits, data.folder) as group:
        for key, path in paths.items():
            windows.open(key, path, data.corpus.transform)
        entries = {key: Entry(key, group) for key in paths}
        rates = measure_rounds(windows, log, f"liquid/{setting.name}", entries, seconds=seconds, repeats=repeats)
    gain = min(rates[name].over(rates[single]) for single in (pair.first, pair.second))
    error = gain / pair.gain - 1
    print(f"{setting.name}, engine equal: " + ", ".join(f"{key} {rate}" for key, rate in rates.items()))
    print(f"  the mix gains {gain:.2f}, the closed form said {pair.gain:.2f} ({error:+.1%})", flush=True)
    log.record(
        ENGINE_EQUAL,
        {**about, "gain": gain, "error": error, "rates": {key: rate.as_dict() for key, rate in rates.items()}},
    )
    return gain, error


def _against_rivals(data: Data, log: Log, rivals: Path, *, seconds: float, repeats: int) -> bool:
    setting = Setting(data.corpus, RIVAL_DISK, 0.0)
    goals = Goals(memory_bytes=0, disk_bytes_per_second=setting.disk_bytes_per_second)
    plan = make_plan(data.profile(), goals)
    with Windows() as windows, throttled(setting.limits, data.folder) as group:
        windows.open("ours", planned_view(data, plan, f"plan-{setting.name}"), data.corpus.transform)
        entries = {"ours": Entry("ours", group)}
        ours = measure_rounds(windows, log, f"liquid/{setting.name}", entries, seconds=seconds, repeats=repeats)["ours"]
    few = Data(data.corpus, data.folder.parent, min(RIVAL_FILES, data.num_files))
    few.copy_files()
    theirs = {
        "torch DataLoader + Pillow": _rival_rate(
            few, log, rivals, Contender("torch", "torch_dataloader", "pillow"), repeats
        ),
        "DALI, CPU": _rival_rate(few, log, rivals, Contender("dali", "dali", environment="dali"), repeats),
    }
    present = {name: rate for name, rate in theirs.items() if rate is not None}
    gains = {name: ours.median / rate.median for name, rate in present.items()}
    claim = CLAIMS[data.corpus.name]
    print(f"{setting.name}: ours {ours}; " + ", ".join(f"{name} {rate}" for name, rate in present.items()))
    print(
        "  " + ", ".join(f"{gain:.2f} times {name}" for name, gain in gains.items()) + f"; claimed {claim}", flush=True
    )
    log.record(
        AGAINST_RIVALS,
        {
            "setting": setting.name,
            "mix": dict(plan.mix),
            "ours": ours.as_dict(),
            "rivals": {name: rate.as_dict() for name, rate in present.items()},
            "gains": gains,
            "claim": claim,
            "rivals_read": "from the page cache, no limit on the disk",
        },
    )
    return bool(gains) and min(gains.values()) >= claim


def _rival_rate(data: Data, log: Log, rivals: Path, one: Contender, repeats: int) -> Rate | None:
    """Measure whole epochs of a rival with files in the page cache; None if it is not installed."""
    key = f"liquid/{data.corpus.name}/{one.name}/{data.num_files}/{repeats}"
    found: list[dict[str, Any]] | None = log.get(key)
    if found is None:
        common = ["--job", data.corpus.job, "--threads", "2", "--batch-size", str(BATCH_SIZE)]
        process = start(replace(one), data.images, data.folder, common, rivals)
        if process is None:
            return None
        found = []
        with process:
            assert process.stdin is not None
            assert process.stdout is not None
            for _ in range(min(repeats, 3)):
                process.stdin.write("epoch\n")
                process.stdin.flush()
                found.append(json.loads(process.stdout.readline()))
            process.stdin.close()
        log.put(key, found)
    rates = [epoch["num_images"] / epoch["wall_seconds"] for epoch in found]
    return Rate(statistics.median(rates), min(rates), max(rates), 0.0)
