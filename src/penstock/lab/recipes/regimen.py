"""`regimen`: low quality first and high quality later, against one quality all along."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from penstock.documents import Json
from penstock.lab.advice import TOLERABLE, Situation, flow_chart
from penstock.lab.draw import estimates, table_of
from penstock.lab.lines import Line, measured
from penstock.lab.recipes.accuracy import VALIDATED_ON, accuracy_bars, curves, losses
from penstock.lab.recipes.contract import Cell, DataFacts, Findings
from penstock.lab.recipes.dropin import sizes_of
from penstock.lab.recipes.holding import TrainingRecipe
from penstock.lab.training_epochs import mean_size
from penstock.lab.verdict import Verdict, judge_below, points_text, verdict_sentence
from penstock.lab.work_folder import SOURCE
from penstock.report import Figure, Section
from penstock.units import bytes_text

LAST_SHARE = {"SR": 1 / 2, "TLR": 1 / 9}
"""Share of the epochs, at the end, that read the source: the simple and the transfer learning regimen of (DL)²."""


@dataclass(frozen=True, kw_only=True)
class Regimen(TrainingRecipe):
    """Varies which quality is read when; holds model, epochs and learning rate, which falls over all of them."""

    name: ClassVar[str] = "regimen"
    question: ClassVar[str] = "SR and TLR schedules against a single quality"
    published: ClassVar[str] = (
        "(DL)² Fig 9: the simple regimen (SR) and the transfer learning regimen (TLR). "
        "ResNet50 on ImageNet: SR 10/25/50/75 reach 75.94 to 76.34 %, TLR 74.19 to 76.24 %: no regimen "
        "beats the right single quality."
    )

    formats: tuple[str, ...] = ("jpeg:q=50", "jpeg:q=10")
    epochs: int = 9

    def cells(self, data: DataFacts, done: Sequence[Line]) -> list[Cell]:
        """Return every quality alone, and every low quality in both regimens."""
        cells = [Cell("size", {"variant": variant}) for variant in (SOURCE, *self.formats)]
        plans: dict[str, list[Json]] = {variant: [[variant, self.epochs]] for variant in (SOURCE, *self.formats)}
        for variant in self.formats:
            for kind, share in LAST_SHARE.items():
                last = max(1, round(self.epochs * share))
                plans[f"{kind} {variant}"] = [[variant, self.epochs - last], [SOURCE, last]]
        return cells + [
            self.train_cell(data, seed, regimen=name, stages=list(stages))
            for name, stages in plans.items()
            for seed in range(self.seeds)
        ]

    def findings(self, lines: Sequence[Line]) -> Findings:
        """Judge whether a regimen reached more than the best single quality."""
        found, sizes = measured(lines, "train"), sizes_of(lines)
        reached = estimates(found, "regimen", "accuracy")
        read = {str(line.setting("regimen")): _mean_bytes(line, sizes) for line in found}
        single = max((name for name in reached if name in sizes), key=lambda name: reached[name].mean)
        mixed = max((name for name in reached if name not in sizes), key=lambda name: reached[name].mean)
        gap = losses(found, "regimen", single)[mixed]
        verdict = judge_below(gap, TOLERABLE)
        rows = [
            (
                name,
                f"{value.mean * 100:.1f}",
                bytes_text(round(read[name])),
                f"{(value.high - value.low) / 2 * 100:.1f}",
            )
            for name, value in reached.items()
        ]
        section = Section(
            "Regimens",
            (
                VALIDATED_ON,
                f"SR, the simple regimen: {LAST_SHARE['SR']:.0%} of the epochs at the end read the source. TLR, the "
                f"transfer learning regimen: {LAST_SHARE['TLR']:.0%}.",
                verdict_sentence(
                    verdict,
                    f"no regimen beats the best single quality by {TOLERABLE * 100:.0f} point or more",
                    points_text(gap),
                ),
            ),
            (
                Figure(accuracy_bars(found, "regimen"), "Best accuracy; a name alone is one quality all along."),
                Figure(curves(found, "regimen"), "Accuracy after each epoch."),
            ),
            table_of(("schedule", "accuracy %", "bytes read per epoch, mean", "± points"), rows),
        )
        answer = f"The best regimen ({mixed}) {_VERBS[verdict]} the best single quality ({single}): {points_text(gap)}."
        situation = Situation(sizes=sizes, losses={n: v for n, v in losses(found, "regimen").items() if n in sizes})
        return Findings(
            answer, (section,), flow_chart(situation), {"gap": gap.mean, "wins": gap.is_above_zero, "single": single}
        )


_VERBS = {
    Verdict.SHOWN: "does not beat",
    Verdict.CONTRADICTED: "beats",
    Verdict.NOT_SHOWN: "cannot be told apart from",
}


def _mean_bytes(line: Line, sizes: dict[str, int]) -> float:
    return mean_size([(int(count), float(sizes[variant])) for variant, count in line.setting("stages")])
