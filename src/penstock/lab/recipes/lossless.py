"""`lossless`: which format of the same pixels trains fastest to the same accuracy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import ClassVar

from penstock.lab.advice import Situation, flow_chart
from penstock.lab.draw import by_seed, estimates, of_setting, table_of
from penstock.lab.lines import Line, measured
from penstock.lab.recipes.accuracy import curves, losses
from penstock.lab.recipes.contract import Cell, DataFacts, Findings
from penstock.lab.recipes.dropin import sizes_of
from penstock.lab.recipes.holding import TrainingRecipe, disk_limits
from penstock.lab.statistics import Estimate, paired_ratio
from penstock.lab.verdict import judge_above, times_text, verdict_sentence
from penstock.report import Figure, Section
from penstock.report.charts import bars
from penstock.units import bytes_text

NEARLY = 0.98
"""Share of the lowest mean accuracy of a format that counts as the accuracy common to all."""
COLUMNS = ("format", "bytes", "images/s", "waiting", "seconds to equal accuracy", "accuracy difference, points")


@dataclass(frozen=True, kw_only=True)
class Lossless(TrainingRecipe):
    """Varies the format; holds pixels (JPEG aside), model, order, weights and disk. Measures time to equal accuracy."""

    name: ClassVar[str] = "lossless"
    question: ClassVar[str] = "PNG, L3, Weir, JPEG, WebP end to end at equal metric"
    published: ClassVar[str] = (
        "L3 (ECCV'22): on an A100 data preparation up to 9.29 times and training 1.71 times as fast as from PNG "
        "(Cityscapes, 2048×1024); training up to 1.77 times as fast as from JPEG at equal metric (ImageNet). "
        "A later port found 0.93 to 1.04 of JPEG with warm caches: the gain needs starved cores or large images."
    )

    formats: tuple[str, ...] = ("png", "l3", "weir:fast", "webp:lossless", "jpeg")
    model: str = "alexnet"
    crop: str = "resized"
    disk: str = "50MB/s"

    def cells(self, data: DataFacts, done: Sequence[Line]) -> list[Cell]:
        """Return every format with every seed, on the limited disk, past the page cache."""
        model = "unet" if self.target_of(data) == "mask" else self.model
        cells = [Cell("size", {"variant": variant}) for variant in self.formats]
        return cells + [
            self.train_cell(data, seed, disk_limits(self.disk), variant=variant, cache="none", model=model)
            for variant in self.formats
            for seed in range(self.seeds)
        ]

    def findings(self, lines: Sequence[Line]) -> Findings:
        """Find the fastest format to the common accuracy, among formats whose runs all reached it."""
        found, sizes = measured(lines, "train"), sizes_of(lines)
        groups = of_setting(found, "variant")
        rates = {name: by_seed(group, "images_per_second") for name, group in groups.items()}
        target = min(value.mean for value in estimates(found, "variant", "accuracy").values()) * NEARLY
        times = {name: [_seconds_to(line, target) for line in group] for name, group in groups.items()}
        reached = {name: fmean(filter(None, runs)) for name, runs in times.items() if None not in runs}
        fastest = min(reached, key=lambda name: reached[name], default="")
        first = self.formats[0]
        changes = losses(found, baseline=first)
        shown = estimates(found, "variant", "images_per_second")
        rows = [
            (
                name,
                bytes_text(sizes[name]),
                f"{value.mean:,.0f}",
                f"{fmean(line.number('stall_share') for line in groups[name]):.0%}",
                f"{reached[name]:.1f}" if name in reached else _censored(times[name]),
                f"{changes[name].mean * 100:+.2f}" if name in changes else "",
            )
            for name, value in shown.items()
        ]
        seconds = {n: fmean(line.number("epoch_seconds") for line in group) for n, group in groups.items()}
        drawn = bars(
            [(name, [("images/s", value.mean)]) for name, value in shown.items()],
            "images per second, end to end",
            {(name, "images/s"): (max(0.0, value.low), value.high) for name, value in shown.items()},
        )
        section = Section(
            "End to end",
            (_metric(found, target, times), *_agreements(rates)),
            (
                Figure(drawn, f"Training on a disk of {self.disk}."),
                Figure(curves(found, "variant", seconds), "Mean accuracy over time."),
            ),
            table_of(COLUMNS, rows),
        )
        ratio = paired_ratio(rates[fastest], rates[first]) if fastest else None
        stall = fmean(line.number("stall_share") for line in groups[fastest or first])
        return Findings(
            _answer(fastest, first, target, reached, ratio),
            (section,),
            flow_chart(Situation(stall_share=stall, sizes=sizes, losses=changes)),
            {"fastest": fastest, "ratio": ratio.mean if ratio else None},
        )


def _answer(fastest: str, first: str, target: float, reached: Mapping[str, float], ratio: Estimate | None) -> str:
    if not fastest:
        return f"No format reached the common accuracy ({target:.1%}) in every run, so their times cannot be compared."
    told = f"{fastest} reaches the common accuracy first, in {reached[fastest]:.1f} s"
    if ratio is not None and fastest != first:
        told += f"; its rate is {ratio.mean:.2f} times that of {first} ({ratio.low:.2f} to {ratio.high:.2f})"
    return told + ("." if len(reached) > 1 else "; no other format reached it in every run.")


def _metric(found: Sequence[Line], target: float, times: Mapping[str, Sequence[float | None]]) -> str:
    """Describe equal accuracy, and the runs that did not reach it."""
    said = f"Common accuracy: {target:.1%}, {NEARLY:.0%} of the lowest mean of a format"
    num_classes = found[0].setting("num_classes")
    said += f"; guessing one of {num_classes} classes gives {1 / int(num_classes):.0%}." if num_classes else "."
    missed = {name: runs.count(None) for name, runs in times.items() if None in runs}
    if not missed:
        return f"{said} Every run reached it."
    told = ", ".join(f"{name} in {count} of {len(times[name])} runs" for name, count in missed.items())
    return f"{said} It was not reached by {told}: no time is given for these formats."


def _censored(runs: Sequence[float | None]) -> str:
    return f"not reached in {list(runs).count(None)} of {len(runs)} runs"


def _agreements(rates: Mapping[str, Mapping[int, float]]) -> tuple[str, ...]:
    """Judge whether L3 trains faster than the formats that its paper compares it with."""
    said = []
    for other in ("png", "jpeg"):
        ratio = paired_ratio(rates["l3"], rates[other]) if {"l3", other} <= rates.keys() else None
        if ratio is not None:
            claim = f"training from L3 is faster than from {other.upper()}"
            said.append(verdict_sentence(judge_above(ratio, 1.0), claim, times_text(ratio)))
    return tuple(said)


def _seconds_to(line: Line, accuracy: float) -> float | None:
    """Return the time when a run first reached an accuracy, or None."""
    passed = 0.0
    for epoch in line.epochs:
        passed += epoch["seconds"]
        if epoch["accuracy"] >= accuracy:
            return passed
    return None
