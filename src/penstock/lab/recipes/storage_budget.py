"""`storage-budget`: compress everything, or keep fewer samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from penstock.lab.advice import TOLERABLE, Situation, flow_chart
from penstock.lab.draw import by_seed, table_of
from penstock.lab.lines import Line, measured
from penstock.lab.recipes.accuracy import VALIDATED_ON
from penstock.lab.recipes.contract import Cell, DataFacts, Findings
from penstock.lab.recipes.dropin import sizes_of
from penstock.lab.recipes.holding import TrainingRecipe
from penstock.lab.statistics import Estimate, estimate, paired_difference
from penstock.lab.training_epochs import fits_storage
from penstock.lab.verdict import judge_above, judge_all, points_text, verdict_sentence
from penstock.lab.work_folder import SOURCE
from penstock.report import Figure, Section
from penstock.report.charts import bars


@dataclass(frozen=True, kw_only=True)
class StorageBudget(TrainingRecipe):
    """Varies how data is made to fit (lower quality, fewer samples) and into how much; holds model and epochs."""

    name: ClassVar[str] = "storage-budget"
    question: ClassVar[str] = "compress or subsample?"
    published: ClassVar[str] = (
        "(DL)² Fig 8. ResNet50 on ImageNet: to half the bytes, compressing wins by 6.0 points, to a tenth by 29.1. "
        "Only this model and data have logs."
    )

    shares: tuple[float, ...] = (0.5, 0.25, 0.1)
    """Shares of the source's bytes."""
    ladder: tuple[str, ...] = ("jpeg:q=95", "jpeg:q=85", "jpeg:q=75", "jpeg:q=50", "jpeg:q=25", "jpeg:q=10")

    def cells(self, data: DataFacts, done: Sequence[Line]) -> list[Cell]:
        """Return sizes first; then, for each share, the highest quality and the number of samples that fit."""
        cells = [Cell("size", {"variant": variant}) for variant in (SOURCE, *self.ladder)]
        sizes = sizes_of(done)
        if len(sizes) == len(cells):
            for share in self.shares:
                variant = self._variant(sizes, share)
                for seed in range(self.seeds):
                    cells.append(self.train_cell(data, seed, variant=SOURCE, share=share, budget=share))
                    if variant:
                        cells.append(self.train_cell(data, seed, variant=variant, share=1.0, budget=share))
        return cells

    def findings(self, lines: Sequence[Line]) -> Findings:
        """Name the better choice for each share."""
        gaps: dict[float, Estimate] = {}
        groups, intervals, rows = [], {}, []
        for share in self.shares:
            here = measured(lines, "train", budget=share)
            ways = {
                "compressed": [line for line in here if line.setting("share") == 1.0],
                "subsampled": [line for line in here if line.setting("share") != 1.0],
            }
            reached = {way: by_seed(group, "accuracy") for way, group in ways.items() if group}
            groups.append(
                (f"{share:.0%}", [(way, estimate(list(values.values())).mean) for way, values in reached.items()])
            )
            for way, values in reached.items():
                value = estimate(list(values.values()))
                intervals[f"{share:.0%}", way] = (max(0.0, value.low), value.high)
            gap = paired_difference(reached.get("compressed", {}), reached.get("subsampled", {}))
            if gap is not None:
                gaps[share] = gap
                variant = ways["compressed"][0].setting("variant")
                rows.append(
                    (
                        f"{share:.0%}",
                        variant,
                        f"{gap.mean * 100:+.1f}",
                        f"{gap.low * 100:+.1f} to {gap.high * 100:+.1f}",
                    )
                )
        sure = {share: gap for share, gap in gaps.items() if gap.count == 1 or gap.is_above_zero or gap.is_below_zero}
        wins = sum(gap.mean > TOLERABLE for gap in sure.values())
        defeats = sum(gap.mean < -TOLERABLE for gap in sure.values())
        verdict = "Compress" if wins > defeats else "Subsample" if defeats > wins else "Either will do"
        told = ", ".join(
            f"{gap.mean * 100:+.1f} points at {share:.0%} of the bytes" + ("" if share in sure else " (within noise)")
            for share, gap in gaps.items()
        )
        section = Section(
            "Compressed or fewer",
            (
                VALIDATED_ON,
                "Subsampling keeps the first samples of every class, as (DL)² did.",
                *_agreement(gaps),
            ),
            (Figure(bars(groups, "best accuracy", intervals), "Accuracy of both ways to the same size."),),
            table_of(("share of bytes", "quality", "compressed − subsampled, points", "95 % interval"), rows),
        )
        sizes = sizes_of(lines)
        limit = round(sizes[SOURCE] * self.shares[0])
        situation = Situation(sizes=sizes, storage_limit_bytes=limit)
        advice = (
            flow_chart(situation)
            if verdict != "Subsample"
            else ("Here fewer samples of full quality are worth more than all of lower quality.",)
        )
        if not gaps:
            verdict, told = "Nothing to compare", "no quality of the ladder is as small as any of the shares"
        return Findings(
            f"{verdict}: {told}.",
            (section,),
            advice,
            {"verdict": verdict, "gaps": {str(s): g.mean for s, g in gaps.items()}},
        )

    def _variant(self, sizes: dict[str, int], share: float) -> str:
        ladder = {name: float(size) for name, size in sizes.items() if name != SOURCE}
        return fits_storage(ladder, sizes[SOURCE] * share) or ""


def _agreement(gaps: Mapping[float, Estimate]) -> tuple[str, ...]:
    """Judge whether compressing keeps more accuracy at every size."""
    if not gaps:
        return ()
    verdict = judge_all(judge_above(gap) for gap in gaps.values())
    told = "; ".join(f"{share:.0%} of the bytes: {points_text(gap)}" for share, gap in gaps.items())
    return (verdict_sentence(verdict, "to the same bytes, compressing keeps more accuracy", told),)
