"""`fidelity`: accuracy and time when training reads only the first scans of progressive JPEGs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import ClassVar

from penstock.documents import Json
from penstock.lab.advice import TOLERABLE, Situation, flow_chart
from penstock.lab.draw import estimates, of_setting, table_of
from penstock.lab.lines import Line, measured
from penstock.lab.recipe import Cell, DataFacts, Findings, wrong_setting
from penstock.lab.recipes.accuracy import VALIDATED_ON, accuracy_bars, agrees, curves, losses
from penstock.lab.recipes.holding import TrainingRecipe, disk_limits
from penstock.lab.statistics import Estimate
from penstock.report import Figure, Section
from penstock.units import bytes_text

FULL, RISING, TUNED = "all scans", "rising", "tuned"
FASTER = 1.5
"""Times as fast that still are about twice."""


@dataclass(frozen=True, kw_only=True)
class Fidelity(TrainingRecipe):
    """Varies how many scans are read: fixed, rising, or tuned by gradients; holds data, disk, model, order, weights."""

    name: ClassVar[str] = "fidelity"
    question: ClassVar[str] = "accuracy and time per scan group, tuned and fixed"
    published: ClassVar[str] = (
        "PCR (VLDB'21): few scans of progressive JPEGs train about twice as fast to the same accuracy where the disk "
        "limits; tasks with fine detail (cars) need more scans than coarse ones."
    )

    scans: tuple[int, ...] = (1, 2, 5)
    """Besides all of them."""
    format: str = "pjpeg:groups=1+2+5+10"
    disk: str = "5MB/s"
    epochs: int = 8

    def check(self) -> None:
        """As every training, and a number of scans to begin with."""
        super().check()
        if not self.scans or min(self.scans) < 1:
            raise wrong_setting(self, "scans", "give numbers of scans such as 1,2,5")

    def cells(self, data: DataFacts, done: Sequence[Line]) -> list[Cell]:
        """Every number of scans; few first and all in the last quarter; as many as the gradients ask for."""
        turn = max(1, self.epochs * 3 // 4)
        ways: dict[str, Json] = {FULL: None, **{_name(count): count for count in self.scans}}
        ways[RISING] = [[0, self.scans[0]], [turn, None]]
        limits = disk_limits(self.disk)
        cells = [
            self.train_cell(data, seed, limits, variant=self.format, cache="none", way=way, fidelity=wish)
            for way, wish in ways.items()
            for seed in range(self.seeds)
        ]
        return cells + [
            self.train_cell(data, seed, limits, variant=self.format, cache="none", way=TUNED, tuned=True)
            for seed in range(self.seeds)
        ]

    def findings(self, lines: Sequence[Line]) -> Findings:
        """The fewest scans that cost no accuracy to speak of, and what they save."""
        found = measured(lines, "train")
        groups = of_setting(found, "way")
        reached, changes = estimates(found, "way", "accuracy"), losses(found, "way", FULL)
        seconds = {way: fmean(line.number("epoch_seconds") for line in group) for way, group in groups.items()}
        read = {way: fmean(line.number("disk_bytes_per_epoch") for line in group) for way, group in groups.items()}
        fixed = [way for way in changes if way not in (RISING, TUNED)]
        harmless = [way for way in fixed if changes[way].mean > -TOLERABLE]
        best = min(harmless, key=lambda way: read[way], default=FULL)
        rows = [
            (way, bytes_text(round(read[way])), f"{seconds[way]:.2f}", f"{value.mean * 100:.1f}", _points(changes, way))
            for way, value in reached.items()
        ]
        section = Section(
            "Scans",
            (
                VALIDATED_ON,
                f"Rising: {_name(self.scans[0])} for three quarters of the epochs, then all. Tuned: after each epoch "
                "the fewest scans whose gradient points as that of all scans does (cosine of at least 0.8); the time "
                "of these looks is not counted.",
                agrees(
                    is_so=best != FULL and seconds[FULL] / seconds[best] >= FASTER,
                    claim="few scans train to the same accuracy about twice as fast where the disk limits",
                ),
            ),
            (
                Figure(accuracy_bars(found, "way"), "Best accuracy; whiskers: 95 % interval over seeds."),
                Figure(curves(found, "way", seconds), f"Accuracy over time on a disk of {self.disk}."),
            ),
            table_of(("read", "bytes per epoch", "epoch seconds", "accuracy %", "difference, points"), rows),
        )
        if best == FULL:
            answer = "All scans are needed: fewer cost more than a point of accuracy."
        else:
            faster = seconds[FULL] / seconds[best]
            answer = f"Enough: {best}, {changes[best].mean * 100:+.1f} points, and epochs {faster:.2f} times as fast."
        sizes = {way: round(value) for way, value in read.items() if way not in (RISING, TUNED)}
        situation = Situation(sizes=sizes, losses=changes, bottleneck="disk")
        return Findings(answer, (section,), flow_chart(situation), {"best": best, "seconds": dict(seconds)})


def _name(count: int) -> str:
    return f"{count} scan{'s' * (count != 1)}"


def _points(changes: Mapping[str, Estimate], way: str) -> str:
    return f"{changes[way].mean * 100:+.1f}" if way in changes else ""
