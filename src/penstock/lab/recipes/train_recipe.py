"""`train`: how fast training runs with each loader, and what is busy meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import ClassVar

from penstock.lab.advice import Situation, flow_chart
from penstock.lab.draw import by_seed, estimates, of_setting, table_of
from penstock.lab.lines import Line, measured
from penstock.lab.loaders.table import LOADERS
from penstock.lab.recipes.contract import Cell, DataFacts, Findings, wrong_setting
from penstock.lab.recipes.holding import TrainingRecipe, bottleneck_of, disk_limits, utilisation
from penstock.lab.statistics import paired_ratio
from penstock.lab.verdict import judge_above, times_text, verdict_sentence
from penstock.lab.work_folder import SOURCE
from penstock.rates import CORNERS
from penstock.report import Figure, Section
from penstock.report.charts import bars, triangle

IDEAL = "synthetic"
"""The loader that keeps one batch in memory: its rate is the ideal one, which goodput is a share of."""


@dataclass(frozen=True, kw_only=True)
class Train(TrainingRecipe):
    """Varies loader × model; holds data, disk, batch size. Measures images per second, stall share, utilisation."""

    name: ClassVar[str] = "train"
    question: ClassVar[str] = "end-to-end training rate per loader and model, triangle of utilisation"
    published: ClassVar[str] = (
        "Liquid (APSys'23) Fig 2 and 7: loaders of one format leave either the disk or the processor idle; the "
        "balanced mix keeps both busy and feeds the model best."
    )

    loaders: tuple[str, ...] = (
        "synthetic",
        "torch",
        "dali",
        "ffcv",
        "penstock",
        "penstock@weir:fast",
        "penstock@source=0.5/weir:fast=0.5",
    )
    """`penstock@FORMAT` or `penstock@MIX` (shares, divided by /) reads that variant, the others what the source is."""
    models: tuple[str, ...] = ("alexnet", "resnet8")
    disk: str = "50MB/s"
    epochs: int = 3
    crop: str = "resized"

    def check(self) -> None:
        """Check the settings, including the names of loaders."""
        super().check()
        if not {way.partition("@")[0] for way in self.loaders} <= set(LOADERS):
            raise wrong_setting(self, "loaders", f"choose among {', '.join(LOADERS)}; penstock@FORMAT reads a variant")

    def cells(self, data: DataFacts, done: Sequence[Line]) -> list[Cell]:
        """Return every loader with every model."""
        models = ("unet",) if self.target_of(data) == "mask" else self.models
        return [
            self.train_cell(
                data, seed, disk_limits(self.disk), validates=False, model=model, way=way, cache="none", cold=True,
                loader=way.partition("@")[0], variant=_variant(way, data.codec),
            )
            for model in models
            for way in self.loaders
            for seed in range(self.seeds)
        ]  # fmt: skip

    def findings(self, lines: Sequence[Line]) -> Findings:
        """Find the fastest loader of each model, and its distance from one that never waits."""
        found = measured(lines, "train")
        sections, best = [], {}
        for model, group in of_setting(found, "model").items():
            rates = estimates(group, "way", "images_per_second")
            real = {way: value.mean for way, value in rates.items() if way != IDEAL}
            best[model] = max(real, key=lambda way: real[way])
            sections.append(self._section(model, group))
        told = "; ".join(f"with {model}, {way}" for model, way in best.items())
        first, way = next(iter(best.items()))
        chosen = [line for line in found if (line.setting("model"), line.setting("way")) == (first, way)]
        stall = fmean(line.number("stall_share") for line in chosen)
        limiting = bottleneck_of(chosen, self.disk)
        return Findings(
            f"Fastest: {told}. With {first} it waits {stall:.0%} of a step.",
            tuple(sections),
            flow_chart(Situation(stall_share=stall, bottleneck=limiting)),
            {"best": dict(best), "bottleneck": limiting},
        )

    def _section(self, model: str, group: Sequence[Line]) -> Section:
        rates = estimates(group, "way", "images_per_second")
        stalls = estimates(group, "way", "stall_share")
        top = rates[IDEAL].mean if IDEAL in rates else max(value.mean for value in rates.values())
        corners = CORNERS if IDEAL in rates else ("rate", *CORNERS[1:])
        meaning = "share of the rate without loading (goodput)" if IDEAL in rates else "share of the best rate"
        caption = (
            f"{corners[0].capitalize()}: {meaning}. Decode: share of all cores. Storage: share of the disk's limit."
        )
        shapes = [
            (way, (min(1.0, rates[way].mean / top), *utilisation(part, self.disk)))
            for way, part in of_setting(group, "way").items()
        ]
        drawing = bars(
            [(way, [("images/s", value.mean)]) for way, value in rates.items()],
            "images per second",
            {(way, "images/s"): (max(0.0, value.low), value.high) for way, value in rates.items()},
        )
        rows = [
            (way, f"{value.mean:,.0f}", f"{stalls[way].mean:.0%}",
             *(f"{share:.0%}" for share in dict(shapes)[way]))
            for way, value in rates.items()
        ]  # fmt: skip
        return Section(
            f"Training {model}",
            _of_mixes(group),
            (
                Figure(
                    drawing,
                    f"End to end, disk {self.disk}; the page cache forgets the data before each epoch. Synthetic: one "
                    "batch in memory, so nothing waits.",
                ),
                Figure(
                    triangle(shapes, corners),
                    caption,
                ),
            ),
            table_of(("loader", "images/s", "waiting", *corners), rows),
        )


def _variant(way: str, source_codec: str) -> str:
    """Return the variant that a loader reads: the source, a format, or a mix in which `source` is its codec."""
    wanted = way.partition("@")[2]
    mix = [
        f"{source_codec}{part.removeprefix(SOURCE)}" if part.startswith(SOURCE) else part for part in wanted.split("/")
    ]
    return ",".join(mix) if "/" in wanted else wanted or SOURCE


def _of_mixes(group: Sequence[Line]) -> tuple[str, ...]:
    """Judge whether a mix is faster than one format for this model; empty if no mix was measured."""
    ours = {way: part for way, part in of_setting(group, "way").items() if way.startswith("penstock")}
    rates = {way: fmean(line.number("images_per_second") for line in part) for way, part in ours.items()}
    mixes, singles = [way for way in rates if "/" in way], [way for way in rates if "/" not in way]
    if not mixes or not singles:
        return ()
    mix, single = (max(ways, key=lambda way: rates[way]) for ways in (mixes, singles))
    gain = paired_ratio(by_seed(ours[mix], "images_per_second"), by_seed(ours[single], "images_per_second"))
    assert gain is not None  # the seeds are the same
    claim = "a mix of formats feeds the model better than one format, where disk and cores are both short"
    return (verdict_sentence(judge_above(gain, 1.0), claim, f"{mix} against {single}: {times_text(gain)}"),)
