"""`dropin`: what a lossy variant costs in accuracy when nothing else changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from penstock.lab.advice import TOLERABLE, Situation, flow_chart
from penstock.lab.lines import Line, measured
from penstock.lab.recipes.accuracy import accuracy_section, losses
from penstock.lab.recipes.contract import Cell, DataFacts, Findings
from penstock.lab.recipes.holding import TrainingRecipe
from penstock.lab.statistics import Estimate
from penstock.lab.verdict import judge_above, judge_all, points_text, verdict_sentence
from penstock.lab.work_folder import SOURCE
from penstock.units import parse_bytes

MOST_PUBLISHED = 0.05
"""The largest loss that (DL)² reports."""


@dataclass(frozen=True, kw_only=True)
class DropIn(TrainingRecipe):
    """Varies the format that training reads; holds model, epochs, order and weights. Measures accuracy on originals."""

    name: ClassVar[str] = "dropin"
    question: ClassVar[str] = "accuracy per codec × quality"
    published: ClassVar[str] = (
        "(DL)² Fig 4 and 5. ResNet50 on ImageNet: JPEG 85 76.78 % against 76.72 % of the originals, JPEG 10 73.48 %: "
        "moderate compression costs nothing, strong compression a few points, never more than five. "
        "There the validation images were compressed too; here they are the originals."
    )

    formats: tuple[str, ...] = ("jpeg:q=85", "jpeg:q=50", "jpeg:q=10", "webp:q=50")
    memory: str = ""
    """Memory of a cache for the advice, such as 8GiB."""

    def check(self) -> None:
        """Check the settings, including the memory, which is only needed at the end."""
        super().check()
        _memory_bytes(self.memory)

    def cells(self, data: DataFacts, done: Sequence[Line]) -> list[Cell]:
        """Return every variant with every seed, and the size of each."""
        variants = (SOURCE, *self.formats)
        sizes = [Cell("size", {"variant": variant}) for variant in variants]
        return sizes + [
            self.train_cell(data, seed, variant=variant) for variant in variants for seed in range(self.seeds)
        ]

    def findings(self, lines: Sequence[Line]) -> Findings:
        """Find the smallest variant without a relevant loss of accuracy."""
        found = measured(lines, "train")
        sizes = sizes_of(lines)
        changes = losses(found)
        harmless = [name for name, loss in changes.items() if loss.mean > -TOLERABLE and name in sizes]
        smallest = min(harmless, key=lambda name: sizes[name], default="")
        worst = min(changes, key=lambda name: changes[name].mean, default="")
        if smallest:
            saved = 1 - sizes[smallest] / sizes[SOURCE]
            answer = f"{smallest} drops in: {saved:.0%} fewer bytes for {points_text(changes[smallest])}."
        else:
            answer = "None of these qualities drops in: each costs more than a point of accuracy."
        if worst:
            answer += f" {worst} costs most, {changes[worst].mean * 100:+.1f} points."
        memory = _memory_bytes(self.memory)
        return Findings(
            answer,
            (accuracy_section("Accuracy", found, sizes, _agreement(changes) if changes else ""),),
            flow_chart(Situation(memory_bytes=memory, sizes=sizes, losses=changes)),
            {"smallest_harmless": smallest, "losses": {name: loss.mean for name, loss in changes.items()}},
        )


def _memory_bytes(text: str) -> int | None:
    return parse_bytes(text) if text else None


def _agreement(changes: Mapping[str, Estimate]) -> str:
    name = min(changes, key=lambda name: changes[name].mean)
    claim = f"compression costs at most {MOST_PUBLISHED * 100:.0f} points of accuracy"
    verdict = judge_all(judge_above(change, -MOST_PUBLISHED) for change in changes.values())
    return verdict_sentence(verdict, claim, f"{name} costs most: {points_text(changes[name])}")


def sizes_of(lines: Sequence[Line]) -> dict[str, int]:
    """Return the bytes of each measured variant."""
    return {str(line.setting("variant")): int(line.number("encoded_bytes")) for line in measured(lines, "size")}
