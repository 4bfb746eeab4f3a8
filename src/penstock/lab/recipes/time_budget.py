"""`time-budget`: the best accuracy within a time, when reading smaller files makes epochs shorter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import ClassVar

from penstock.lab.advice import Situation, flow_chart
from penstock.lab.draw import estimates, of_setting, table_of
from penstock.lab.lines import Line, measured
from penstock.lab.recipes.accuracy import VALIDATED_ON, accuracy_bars, curves, losses
from penstock.lab.recipes.contract import Cell, DataFacts, Findings
from penstock.lab.recipes.dropin import sizes_of
from penstock.lab.recipes.holding import TrainingRecipe, disk_limits
from penstock.lab.statistics import Estimate
from penstock.lab.training_epochs import epochs_within
from penstock.lab.verdict import Verdict, judge_above, judge_any, points_text, verdict_sentence
from penstock.lab.work_folder import SOURCE
from penstock.report import Figure, Section
from penstock.units import bytes_text

MUCH = 1.5
"""Times its bytes that a variant reads from which epoch times follow pages of the disk more than sizes of files."""


@dataclass(frozen=True, kw_only=True)
class TimeBudget(TrainingRecipe):
    """Varies the format; holds model and seconds. Epoch times are measured on the slow disk, accuracies elsewhere."""

    name: ClassVar[str] = "time-budget"
    question: ClassVar[str] = "best accuracy within T seconds per variant"
    published: ClassVar[str] = (
        "(DL)² Fig 7 and Table III. AlexNet on an SSD in 5 h: JPEG 50 54.18 %, originals 49.84 %: on a slow disk "
        "smaller files buy epochs, and epochs buy more than quality. Its 62 h are 62.4 h (180 epochs of 1248 s), and "
        "its epoch times of JPEG 85 on the hard disk vary by up to 941 s of 2406 s."
    )

    formats: tuple[str, ...] = ("jpeg:q=85", "jpeg:q=50", "jpeg:q=10")
    disk: str = "10MB/s"
    budget_seconds: float = 0.0
    """0: what `budget_epochs` epochs on the source take."""
    budget_epochs: int = 3
    max_epochs: int = 24
    """Largest number of epochs to train, even if the budget allows more."""
    timed_epochs: int = 3

    def cells(self, data: DataFacts, done: Sequence[Line]) -> list[Cell]:
        """Return epoch times first; then trainings of as many epochs as the budget allows."""
        variants = (SOURCE, *self.formats)
        cells = [Cell("size", {"variant": variant}) for variant in variants]
        cells += [self._timing(data, variant) for variant in variants]
        seconds = self._epoch_seconds(done)
        if set(variants) <= seconds.keys():
            budget = self._budget(seconds)
            for variant in variants:
                epochs = min(self.max_epochs, max(1, epochs_within(budget, seconds[variant])))
                cells += [
                    self.train_cell(data, seed, variant=variant, epochs=epochs, cache="system")
                    for seed in range(self.seeds)
                ]
        return cells

    def findings(self, lines: Sequence[Line]) -> Findings:
        """Find the variant with the best accuracy at the end of the budget."""
        found = [line for line in measured(lines, "train") if line.setting("validation")]
        seconds = self._epoch_seconds(lines)
        budget = self._budget(seconds)
        reached = estimates(found, "variant", "accuracy")
        best = max(reached, key=lambda name: reached[name].mean)
        changes = losses(found)
        rows = [
            (name, f"{seconds[name]:.2f}", len(group[0].epochs), f"{reached[name].mean * 100:.1f}")
            for name, group in of_setting(found, "variant").items()
        ]
        answer = f"Within {budget:.1f} s, {best} reaches most: {reached[best].mean:.1%}"
        answer += (
            f" against {reached[SOURCE].mean:.1%} of the source ({points_text(changes[best])})."
            if best != SOURCE
            else ": smaller files buy nothing here."
        )
        section = Section(
            "Accuracy within the time",
            (
                VALIDATED_ON,
                f"Epoch times: mean of epochs 2 to {self.timed_epochs} on a disk of {self.disk}.",
                *_agreement(changes, self._reads(lines)),
            ),
            (
                Figure(accuracy_bars(found, "variant"), f"Best accuracy within {budget:.1f} s."),
                Figure(curves(found, "variant", seconds), "Accuracy over the time that the epochs would have taken."),
            ),
            table_of(("variant", "epoch seconds", "epochs", "accuracy %"), rows),
        )
        situation = Situation(sizes=sizes_of(lines), losses=changes, best_in_time=best, budget_seconds=budget)
        return Findings(answer, (section,), flow_chart(situation), {"best": best, "epoch_seconds": dict(seconds)})

    def _timing(self, data: DataFacts, variant: str) -> Cell:
        limits = disk_limits(self.disk)
        return self.train_cell(
            data, 0, limits, validates=False, variant=variant, epochs=self.timed_epochs, cache="none"
        )

    def _epoch_seconds(self, lines: Sequence[Line]) -> dict[str, float]:
        timed = [line for line in measured(lines, "train") if not line.setting("validation")]
        groups = of_setting(timed, "variant")
        return {name: fmean(line.number("epoch_seconds") for line in group) for name, group in groups.items()}

    def _reads(self, lines: Sequence[Line]) -> dict[str, tuple[float, float]]:
        """Return the bytes per image that an epoch reads, and that its records hold, for each variant."""
        sizes = {
            str(line.setting("variant")): line.number("encoded_bytes") / line.number("num_images")
            for line in measured(lines, "size")
        }
        timed = [line for line in measured(lines, "train") if not line.setting("validation")]
        return {
            name: (
                fmean(line.number("disk_bytes_per_epoch") / line.number("num_images") for line in group),
                sizes[name],
            )
            for name, group in of_setting(timed, "variant").items()
        }

    def _budget(self, seconds: dict[str, float]) -> float:
        return self.budget_seconds or seconds[SOURCE] * self.budget_epochs * 1.001


def _agreement(changes: Mapping[str, Estimate], reads: Mapping[str, tuple[float, float]]) -> tuple[str, ...]:
    """Judge whether smaller files gain accuracy; not shown if file sizes do not determine the bytes read."""
    best = max(changes, key=lambda name: changes[name].mean, default="")
    if not best:
        return ()
    verdict = judge_any(judge_above(change) for change in changes.values())
    said = []
    wasteful = {name: read for name, read in reads.items() if read[0] > MUCH * read[1]}
    if wasteful:
        verdict = Verdict.NOT_SHOWN
        told = ", ".join(
            f"{name} {bytes_text(round(read))} an image for {bytes_text(round(size))}"
            for name, (read, size) in wasteful.items()
        )
        said.append(
            f"Epoch times follow pages of the disk here, not sizes of files: records smaller than a page are read page "
            f"by page ({told}). Larger images would test the claim."
        )
    claim = "on a slow disk smaller files buy more accuracy than quality does"
    return (verdict_sentence(verdict, claim, f"{best}: {points_text(changes[best])}"), *said)
