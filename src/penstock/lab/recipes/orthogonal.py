"""`orthogonal`: a cache, compression, or both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from penstock.documents import Json
from penstock.lab.advice import Situation, flow_chart
from penstock.lab.draw import by_seed, estimates, of_setting, table_of
from penstock.lab.lines import Line, measured
from penstock.lab.recipes.contract import Cell, DataFacts, Findings, Recipe
from penstock.lab.recipes.dropin import sizes_of
from penstock.lab.recipes.holding import disk_limits
from penstock.lab.statistics import Estimate, paired_ratio
from penstock.lab.verdict import Verdict, judge_above, times_text, verdict_sentence
from penstock.lab.work_folder import SOURCE
from penstock.report import Figure, Section
from penstock.report.charts import bars
from penstock.units import bytes_text

NEITHER, CACHE, SMALLER, BOTH = "neither", "cache", "compressed", "both"
LITTLE = 1.05
NOTHING = 0.005
"""A share of the source's bytes that is as good as none."""


@dataclass(frozen=True, kw_only=True)
class Orthogonal(Recipe):
    """Varies cache (none, one that never evicts) × format; holds disk, memory, order. Measures the loading rate."""

    name: ClassVar[str] = "orthogonal"
    question: ClassVar[str] = "cache × compression"
    published: ClassVar[str] = (
        "(DL)² Fig 10. From a hard disk both together are 1.4 (ResNet50) to 3 times (AlexNet) as fast as the better "
        "one alone; from an SSD there is no gain (2623, 2608, 3124, 3193 images/s)."
    )

    format: str = "jpeg:q=85"
    cached_share: float = 0.3
    """Memory for a cache, as a share of the source's bytes."""
    cache: str = "pinned"
    disk: str = "20MB/s"
    epochs: int = 3
    size: int = 64
    batch_size: int = 16

    def cells(self, data: DataFacts, done: Sequence[Line]) -> list[Cell]:
        """Return two formats, with and without the cache."""
        cells = [Cell("size", {"variant": variant}) for variant in (SOURCE, self.format)]
        cached = round(self.cached_share * data.source_bytes)
        ways: dict[str, dict[str, Json]] = {
            NEITHER: {"variant": SOURCE, "cache": "none", "cache_bytes": 0},
            CACHE: {"variant": SOURCE, "cache": self.cache, "cache_bytes": cached},
            SMALLER: {"variant": self.format, "cache": "none", "cache_bytes": 0},
            BOTH: {"variant": self.format, "cache": self.cache, "cache_bytes": cached},
        }
        held: dict[str, Json] = {
            "size": self.size,
            "crop": "stretch",
            "threads": self.threads,
            "batch_size": self.batch_size,
            "epochs": self.epochs,
        }
        return cells + [
            Cell("load", {"way": way, **settings, **held}, seed, disk_limits(self.disk), is_alone=True)
            for way, settings in ways.items()
            for seed in range(self.seeds)
        ]

    def findings(self, lines: Sequence[Line]) -> Findings:
        """Estimate the gain of both together over the better one alone."""
        found, sizes = measured(lines, "load"), sizes_of(lines)
        rates = estimates(found, "way", "images_per_second")
        groups = of_setting(found, "way")
        second = max((CACHE, SMALLER), key=lambda way: rates[way].mean)
        gain = paired_ratio(by_seed(groups[BOTH], "images_per_second"), by_seed(groups[second], "images_per_second"))
        assert gain is not None  # the seeds are the same
        spared = (_read(groups[second]) - _read(groups[BOTH])) / sizes[SOURCE]
        adds_up = spared > NOTHING and gain.mean > LITTLE and (gain.low > 1 or gain.count == 1)
        fits = _read(groups[BOTH]) <= NOTHING * sizes[SOURCE]
        drawing = bars(
            [(way, [("images/s", value.mean)]) for way, value in rates.items()],
            "images per second",
            {(way, "images/s"): (max(0.0, value.low), value.high) for way, value in rates.items()},
        )
        rows = [
            (
                way,
                f"{value.mean:,.0f}",
                f"{value.mean / rates[NEITHER].mean:.2f}",
                bytes_text(round(_read(groups[way]))),
            )
            for way, value in rates.items()
        ]
        section = Section(
            "Apart and together",
            (f"Memory for a cache: {self.cached_share:.0%} of the source's {bytes_text(sizes[SOURCE])}; "
             f"{self.format} takes {bytes_text(sizes[self.format])}.", *self._agreement(gain, fits=fits)),
            (Figure(drawing, f"Loading from a disk of {self.disk}; whiskers: 95 % interval over seeds."),),
            table_of(("way", "images/s", "times neither", "read per epoch"), rows),
        )  # fmt: skip
        memory = round(self.cached_share * sizes[SOURCE])
        bottleneck = "storage" if rates[second].mean > LITTLE * rates[NEITHER].mean else "decode"
        return Findings(
            self._answer(gain, second, adds_up=adds_up, fits=fits),
            (section,),
            flow_chart(Situation(bottleneck=bottleneck, memory_bytes=memory, sizes=sizes)),
            {
                "gain": gain.mean,
                "gain_low": gain.low,
                "second": second,
                "fits": fits,
                "rates": {way: value.mean for way, value in rates.items()},
            },
        )

    def _answer(self, gain: Estimate, second: str, *, adds_up: bool, fits: bool) -> str:
        """Phrase the answer. Both together explain a faster rate only if they read less than one alone."""
        if adds_up:
            both = f"cache and {self.format} together load {gain.mean:.2f} times as fast"
            why = f", because {self.format} then fits in the cache whole" if fits else ""
            return f"Use both: {both} as the better one alone ({second}){why}."
        return f"One is enough: together they load {gain.mean:.2f} times as fast as the better one alone ({second})."

    def _agreement(self, gain: Estimate, *, fits: bool) -> tuple[str, ...]:
        """Judge whether the gains add up; data that fits in the cache cannot show it."""
        claim = "from a hard disk, cache and compression together are faster than the better one alone"
        if not fits:
            return (verdict_sentence(judge_above(gain, 1.0), claim, times_text(gain)),)
        note = (
            f"With {self.format} the data fits in the cache whole and nothing is read: that is what makes both "
            "together fast here. A cache that holds a part of it too would test the claim (a lower cached_share)."
        )
        return (verdict_sentence(Verdict.NOT_SHOWN, claim, times_text(gain)), note)


def _read(lines: Sequence[Line]) -> float:
    return sum(line.number("disk_bytes_per_epoch") for line in lines) / len(lines)
