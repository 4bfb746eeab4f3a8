"""`lossless`: which format of the same pixels trains fastest to the same accuracy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import ClassVar

from penstock.lab.advice import Situation, flow_chart
from penstock.lab.draw import by_seed, estimates, of_setting, table_of
from penstock.lab.lines import Line, measured
from penstock.lab.recipe import Cell, DataFacts, Findings
from penstock.lab.recipes.accuracy import agrees, curves, losses
from penstock.lab.recipes.dropin import sizes_of
from penstock.lab.recipes.holding import TrainingRecipe, disk_limits
from penstock.lab.statistics import Estimate, paired_ratio
from penstock.report import Figure, Section
from penstock.report.charts import bars
from penstock.units import bytes_text

LITTLE = 1.05
COLUMNS = ("format", "bytes", "images/s", "waiting", "seconds to equal accuracy", "accuracy difference, points")


@dataclass(frozen=True, kw_only=True)
class Lossless(TrainingRecipe):
    """Varies the format; holds pixels (JPEG aside), model, order, weights and disk. Measures time to equal accuracy."""

    name: ClassVar[str] = "lossless"
    question: ClassVar[str] = "PNG, L3, Weir, JPEG, WebP end to end at equal metric"
    published: ClassVar[str] = (
        "L3 (ECCV'22): data preparation up to 9.29 times as fast as PNG on an A100, training 1.77 times as JPEG. "
        "A later port found 0.93 to 1.04 of JPEG with warm caches: the gain needs starved cores or large images."
    )

    formats: tuple[str, ...] = ("png", "l3", "weir:fast", "webp:lossless", "jpeg")
    model: str = "alexnet"
    crop: str = "resized"
    disk: str = "50MB/s"

    def cells(self, data: DataFacts, done: Sequence[Line]) -> list[Cell]:
        """Every format with every seed, on the limited disk, past the page cache."""
        model = "unet" if self.target_of(data) == "mask" else self.model
        cells = [Cell("size", {"variant": variant}) for variant in self.formats]
        return cells + [
            self.train_cell(data, seed, disk_limits(self.disk), variant=variant, cache="none", model=model)
            for variant in self.formats
            for seed in range(self.seeds)
        ]

    def findings(self, lines: Sequence[Line]) -> Findings:
        """The fastest to the accuracy that all reached."""
        found, sizes = measured(lines, "train"), sizes_of(lines)
        rates = estimates(found, "variant", "images_per_second")
        target = min(value.mean for value in estimates(found, "variant", "accuracy").values()) * 0.98
        reached = {
            name: fmean(_seconds_to(line, target) for line in group)
            for name, group in of_setting(found, "variant").items()
        }
        fastest = min(reached, key=lambda name: reached[name])
        first = self.formats[0]
        groups = of_setting(found, "variant")
        ratio = paired_ratio(by_seed(groups[fastest], "images_per_second"), by_seed(groups[first], "images_per_second"))
        changes = losses(found, baseline=first)
        rows = [
            (
                name,
                bytes_text(sizes[name]),
                f"{value.mean:,.0f}",
                f"{fmean(line.number('stall_share') for line in groups[name]):.0%}",
                f"{reached[name]:.1f}",
                f"{changes[name].mean * 100:+.2f}" if name in changes else "",
            )
            for name, value in rates.items()
        ]
        seconds = {n: fmean(line.number("epoch_seconds") for line in group) for n, group in groups.items()}
        drawn = bars(
            [(name, [("images/s", value.mean)]) for name, value in rates.items()],
            "images per second, end to end",
            {(name, "images/s"): (max(0.0, value.low), value.high) for name, value in rates.items()},
        )
        section = Section(
            "End to end",
            (f"Equal metric: an accuracy of {target:.1%}, which every format reached.", *_agreement(rates)),
            (
                Figure(drawn, f"Training on a disk of {self.disk}."),
                Figure(curves(found, "variant", seconds),
                       "Accuracy over time; lossless formats learn the same from the same pixels."),
            ),
            table_of(COLUMNS, rows),
        )  # fmt: skip
        times = f"{ratio.mean:.2f} times the rate of {first}" if ratio else ""
        stall = fmean(line.number("stall_share") for line in groups[fastest])
        return Findings(
            f"{fastest} reaches the common accuracy first, in {reached[fastest]:.1f} s; {times}.",
            (section,),
            flow_chart(Situation(stall_share=stall, sizes=sizes, losses=changes)),
            {"fastest": fastest, "ratio": ratio.mean if ratio else None},
        )


def _agreement(rates: Mapping[str, Estimate]) -> tuple[str, ...]:
    if not {"l3", "png"} <= rates.keys():
        return ()
    times = rates["l3"].mean / rates["png"].mean
    claim = f"training from L3 is faster than from PNG (here {times:.2f} times its rate)"
    return (agrees(is_so=times > LITTLE, claim=claim),)


def _seconds_to(line: Line, accuracy: float) -> float:
    """When a run first reached an accuracy; its whole time if it never did."""
    passed = 0.0
    for epoch in line.epochs:
        passed += epoch["seconds"]
        if epoch["accuracy"] >= accuracy:
            break
    return passed
