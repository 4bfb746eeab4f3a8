"""`fidelity`: accuracy and time when training reads only the first scans of progressive JPEGs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import ClassVar

from penstock.documents import Json
from penstock.lab.advice import TOLERABLE, Situation, flow_chart
from penstock.lab.draw import by_seed, estimates, of_setting, table_of
from penstock.lab.lines import Line, measured
from penstock.lab.recipes.accuracy import VALIDATED_ON, accuracy_bars, curves, losses
from penstock.lab.recipes.contract import Cell, DataFacts, Findings, wrong_setting
from penstock.lab.recipes.holding import TrainingRecipe, bottleneck_of, disk_limits
from penstock.lab.statistics import Estimate, paired_ratio
from penstock.lab.verdict import Verdict, judge_above, judge_all, judge_any, points_text, verdict_sentence
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
    """Numbers of scans to compare with all of them."""
    format: str = "pjpeg:groups=1+2+5+10"
    disk: str = "5MB/s"
    epochs: int = 8

    def check(self) -> None:
        """Check the settings, including the numbers of scans."""
        super().check()
        if not self.scans or min(self.scans) < 1:
            raise wrong_setting(self, "scans", "give numbers of scans such as 1,2,5")

    def cells(self, data: DataFacts, done: Sequence[Line]) -> list[Cell]:
        """Return cells for every number of scans, for few scans first and all at the end, and for the tuner."""
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
        """Find the fewest scans without a relevant loss of accuracy, and what they save."""
        found = measured(lines, "train")
        groups = of_setting(found, "way")
        reached, changes = estimates(found, "way", "accuracy"), losses(found, "way", FULL)
        seconds = {way: fmean(line.number("epoch_seconds") for line in group) for way, group in groups.items()}
        read = {way: fmean(line.number("disk_bytes_per_epoch") for line in group) for way, group in groups.items()}
        fixed = [way for way in changes if way not in (RISING, TUNED)]
        harmless = [way for way in fixed if changes[way].mean > -TOLERABLE]
        best = min(harmless, key=lambda way: read[way], default=FULL)
        rows = [
            (way, bytes_text(round(read[way])), f"{seconds[way]:.2f}", f"{value.mean * 100:.1f}",
             points_text(changes[way]) if way in changes else "")
            for way, value in reached.items()
        ]  # fmt: skip
        section = Section(
            "Scans",
            (
                VALIDATED_ON,
                f"Rising: {_name(self.scans[0])} for three quarters of the epochs, then all. Tuned: after each epoch "
                "the fewest scans whose gradient points as that of all scans does (cosine of at least 0.8); the time "
                "of these looks is not counted.",
                *_agreements(groups, fixed, changes),
            ),
            (
                Figure(accuracy_bars(found, "way"), "Best accuracy; whiskers: 95 % interval over seeds."),
                Figure(curves(found, "way", seconds), f"Accuracy over time on a disk of {self.disk}."),
            ),
            table_of(("read", "bytes per epoch", "epoch seconds", "accuracy %", "difference to all scans"), rows),
        )
        if best == FULL:
            answer = "All scans are needed: fewer cost more than a point of accuracy."
        else:
            faster = seconds[FULL] / seconds[best]
            sure = judge_above(changes[best], -TOLERABLE) is Verdict.SHOWN
            answer = f"{'Enough' if sure else 'Perhaps enough'}: {best} ({points_text(changes[best])}), and epochs "
            answer += f"{faster:.2f} times as fast."
            if not sure:
                answer += " These repeats cannot exclude a loss of more than a point."
        sizes = {way: round(value) for way, value in read.items() if way not in (RISING, TUNED)}
        situation = Situation(sizes=sizes, losses=changes, bottleneck=bottleneck_of(groups[FULL], self.disk))
        return Findings(answer, (section,), flow_chart(situation), {"best": best, "seconds": dict(seconds)})


def _name(count: int) -> str:
    return f"{count} scan{'s' * (count != 1)}"


def _agreements(
    groups: Mapping[str, Sequence[Line]], fixed: Sequence[str], changes: Mapping[str, Estimate]
) -> tuple[str, ...]:
    """Judge whether few scans are fast and harmless, and whether the tuner's choice is harmless."""
    full = by_seed(groups[FULL], "epoch_seconds")
    gains = {way: paired_ratio(full, by_seed(groups[way], "epoch_seconds")) for way in fixed}
    few = judge_any(
        judge_all((judge_above(changes[way], -TOLERABLE), judge_above(gains[way], FASTER))) for way in fixed
    )
    points = f"{TOLERABLE * 100:.0f} point"
    said = [
        verdict_sentence(
            few,
            f"some fixed number of scans costs at most {points} and trains at least {FASTER:g} times as fast",
            "; ".join(f"{way}: {points_text(changes[way])}" for way in fixed),
        )
    ]
    if TUNED in changes:
        claim = f"the scans that gradients choose cost at most {points} of accuracy"
        said.append(verdict_sentence(judge_above(changes[TUNED], -TOLERABLE), claim, points_text(changes[TUNED])))
    return tuple(said)
