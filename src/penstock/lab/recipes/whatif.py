"""`whatif`: predicted against measured rates when cores, memory or disk change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import ClassVar

from penstock.documents import Json
from penstock.lab.draw import of_setting, table_of
from penstock.lab.lines import Line, measured
from penstock.lab.recipes.contract import Cell, DataFacts, Findings, Recipe
from penstock.lab.recipes.holding import disk_limits
from penstock.lab.statistics import estimate
from penstock.lab.work_folder import SOURCE
from penstock.limits import Limits
from penstock.rates import loading_rate
from penstock.report import Figure, Section
from penstock.report.charts import bars

STORAGE, DECODE = "storage", "decode"
LIMITS = {STORAGE: "storage limits", DECODE: "decoding limits"}
ALL = 1.1
"""Share of the data's bytes for a cache that holds everything."""
GOOD = 0.15
"""An error below which a prediction is one to plan with."""


@dataclass(frozen=True, kw_only=True)
class WhatIf(Recipe):
    """Measures each stage once, predicts other machines from that, and measures those too."""

    name: ClassVar[str] = "whatif"
    question: ClassVar[str] = "predicted against measured when cores, memory, disk change"
    published: ClassVar[str] = (
        "DS-Analyzer (VLDB'21) Fig 11: the rate is the slowest of fetching (cached share x at memory speed, the rest "
        "at the disk's), preparing and computing; errors of a few per cent. Its program assumed a disk of 525 MB/s; "
        "here it is measured."
    )

    variant: str = SOURCE
    disk: str = "20MB/s"
    faster: float = 4.0
    """Speed of the faster disk, relative to this one."""
    cached_shares: tuple[float, ...] = (0.5,)
    seconds: float = 1.0
    size: int = 64
    batch_size: int = 16
    thread_count: int = 2

    def cells(self, data: DataFacts, done: Sequence[Line]) -> list[Cell]:
        """Return the machine itself, then those to predict."""
        cells = [Cell("size", {"variant": self.variant})]
        for seed in range(self.seeds):
            for name, limits, share, threads in self._machines():
                settings: dict[str, Json] = {
                    "machine": name,
                    "variant": self.variant,
                    "cached_share": share,
                    "threads": threads,
                }
                settings |= {
                    "cache": "pinned",
                    "cache_bytes": round(share * data.source_bytes),
                    "seconds": self.seconds,
                }
                settings |= {"size": self.size, "crop": "stretch", "batch_size": self.batch_size}
                cells.append(Cell("stages", settings, seed, limits, is_alone=True))
        return cells

    def findings(self, lines: Sequence[Line]) -> Findings:
        """Report the errors of the predictions."""
        groups = of_setting(measured(lines, "stages"), "machine")
        base = groups["as it is"]
        load, decode = _mean(base, "load_rate"), _mean(base, "decode_rate")
        base_rate = self._machines()[0][1].disk_bytes_per_second or 1.0
        rows, bars_of, intervals, errors, limited = [], [], {}, {}, {}
        for name, limits, share, threads in self._machines():
            if name not in groups:
                continue
            fetch = load * (limits.disk_bytes_per_second or 1.0) / base_rate
            prepare = decode * threads / self.thread_count
            held = fmean(float(line.measures.get("held_share", share)) for line in groups[name])
            predicted = loading_rate(fetch, prepare, held)
            limited[name] = DECODE if predicted == prepare else STORAGE
            value = estimate([line.number("both_rate") for line in groups[name]])
            errors[name] = predicted / value.mean - 1
            rows.append((name, limited[name], f"{predicted:,.0f}", f"{value.mean:,.0f}", f"{errors[name]:+.0%}"))
            bars_of.append((name, [("predicted", predicted), ("measured", value.mean)]))
            intervals[name, "measured"] = (max(0.0, value.low), value.high)
        asked = {name: error for name, error in errors.items() if name != "as it is"}
        worst = max(asked, key=lambda name: abs(asked[name]))
        told = (
            "Predictions can be planned with"
            if abs(asked[worst]) <= GOOD
            else "Predictions are not good enough to plan with"
        )
        kinds = {limited[name] for name in asked}
        only = f" where {LIMITS[next(iter(kinds))]}" if len(kinds) == 1 else ""
        note = [
            f"On none of these machines {what}: such predictions are not tested."
            for stage, what in LIMITS.items()
            if stage not in kinds
        ]
        section = Section(
            "Predicted and measured",
            (f"Everything is predicted from one machine: reads {load:,.0f} and decodes {decode:,.0f} images/s.", *note),
            (Figure(bars(bars_of, "images per second", intervals), "Loading rate on each machine."),),
            table_of(("machine", "limited by", "predicted/s", "measured/s", "error"), rows),
        )
        return Findings(
            f"{told}{only}: the worst is {asked[worst]:+.0%} ({worst}).",
            (section,),
            values={"errors": dict(errors), "worst": asked[worst], "limited_by": dict(limited)},
        )

    def _machines(self) -> list[tuple[str, Limits, float, int]]:
        """Return (name, limits, cached share, threads) of each machine."""
        base = disk_limits(self.disk)
        if base.disk_bytes_per_second is None:
            base = Limits(disk_bytes_per_second=20e6)
        assert base.disk_bytes_per_second is not None  # just seen to
        quick = replace(base, disk_bytes_per_second=base.disk_bytes_per_second * self.faster)
        machines = [
            ("as it is", base, 0.0, self.thread_count),
            (f"disk × {self.faster:g}", quick, 0.0, self.thread_count),
        ]
        machines += [(f"memory for {share:.0%}", base, share, self.thread_count) for share in self.cached_shares]
        return [
            *machines,
            ("one core, quick disk", replace(quick, cores=1), 0.0, 1),
            ("one core, all in memory", replace(base, cores=1), ALL, 1),
        ]


def _mean(group: Sequence[Line], name: str) -> float:
    return fmean(line.number(name) for line in group)
