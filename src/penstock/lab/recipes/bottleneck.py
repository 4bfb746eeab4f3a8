"""`bottleneck`: who limits, over storage × threads × file size × model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import ClassVar

from penstock.lab.advice import Situation, flow_chart
from penstock.lab.draw import table_of
from penstock.lab.lines import Line, measured
from penstock.lab.model import CLOSE, who_limits
from penstock.lab.recipe import Cell, DataFacts, Findings
from penstock.lab.recipes.accuracy import agrees
from penstock.lab.recipes.dropin import sizes_of
from penstock.lab.recipes.holding import TrainingRecipe, disk_limits
from penstock.lab.statistics import Estimate, estimate
from penstock.lab.work import SOURCE
from penstock.limits import NO_LIMITS, Limits
from penstock.report import Figure, Section
from penstock.report.charts import bars

DISK, MEMORY, SYNTHETIC = "disk", "memory", "synthetic"


@dataclass(frozen=True, kw_only=True)
class Bottleneck(TrainingRecipe):
    """Varies storage × threads × format × model, one at a time; differences say who limits (DS-Analyzer's method)."""

    name: ClassVar[str] = "bottleneck"
    question: ClassVar[str] = "storage × threads × file size × model: who limits?"
    published: ClassVar[str] = (
        "(DL)² Fig 3 and DS-Analyzer. ResNet50: hard disk 201 images/s, SSD 1059, synthetic 1175: the model limits "
        "unless the disk is slow. AlexNet: 202, 2580, 4682 from memory, synthetic 8508: preparation limits even then."
    )

    models: tuple[str, ...] = ("alexnet", "resnet8")
    formats: tuple[str, ...] = ("jpeg:q=50",)
    """Beside the source."""
    thread_counts: tuple[int, ...] = (1, 2)
    disk: str = "10MB/s"
    epochs: int = 3
    crop: str = "resized"
    seeds: int = 3

    def cells(self, data: DataFacts, done: Sequence[Line]) -> list[Cell]:
        """A model that never waits, then every storage, thread count and format."""
        models = ("unet",) if self.target_of(data) == "mask" else self.models
        cells = [Cell("size", {"variant": variant}) for variant in (SOURCE, *self.formats)]
        for seed in range(self.seeds):
            for model in models:
                cells.append(self._cell(data, seed, NO_LIMITS, model, SYNTHETIC, SOURCE, self.thread_counts[-1]))
                for variant in (SOURCE, *self.formats):
                    for threads in self.thread_counts:
                        cells.append(self._cell(data, seed, disk_limits(self.disk), model, DISK, variant, threads))
                        cells.append(self._cell(data, seed, NO_LIMITS, model, MEMORY, variant, threads))
        return cells

    def findings(self, lines: Sequence[Line]) -> Findings:
        """Who limits each combination, and by how much."""
        found = measured(lines, "train")
        rates = _rates(found)
        limits: dict[str, str] = {}
        rows = []
        for model, storage, variant, threads in rates:
            if storage != DISK:
                continue
            read, cached = rates[model, DISK, variant, threads].mean, rates[model, MEMORY, variant, threads].mean
            free = _synthetic(rates, model)
            who = who_limits(read, cached, free)
            limits[f"{model}, {variant}, {threads} threads"] = who
            stall = fmean(
                line.number("stall_share")
                for line in measured(found, storage=DISK, model=model, variant=variant, threads=threads)
            )
            rows.append(
                (model, variant, threads, f"{read:,.0f}", f"{cached:,.0f}", f"{free:,.0f}", f"{stall:.0%}", who)
            )
        columns = (
            "model",
            "format",
            "threads",
            "from disk/s",
            "from memory/s",
            "synthetic/s",
            "waiting on disk",
            "who limits",
        )
        sections = [self._figure(model, rates) for model in dict.fromkeys(place[0] for place in rates)]
        first = next(iter(limits))
        counts = {who: list(limits.values()).count(who) for who in dict.fromkeys(limits.values())}
        answer = (
            f"{limits[first].capitalize()} limits {first}; over all, "
            + ", ".join(f"{who} in {n} of {len(limits)}" for who, n in counts.items())
            + "."
        )
        note = (
            "Differences of whole runs, because timers in a loop cannot tell fetching from preparing: from synthetic "
            "to memory is preparation, from memory to disk is fetching."
        )
        table = Section("Who limits", (note, *_of_models(rates)), (), table_of(columns, rows))
        named = {"disk": "disk", "preparation": "cpu", "model": "compute"}[limits[first]]
        return Findings(answer, (table, *sections), flow_chart(Situation(bottleneck=named, sizes=sizes_of(lines),
                        stall_share=0.0 if named == "compute" else None)), {"limits": dict(limits)})  # fmt: skip

    def _cell(
        self, data: DataFacts, seed: int, limits: Limits, model: str, storage: str, variant: str, threads: int
    ) -> Cell:
        made = self.train_cell(
            data, seed, limits, validates=False, model=model, storage=storage, variant=variant, threads=threads,
            loader="synthetic" if storage == SYNTHETIC else "penstock", cache="none" if storage == DISK else "system",
        )  # fmt: skip
        return Cell(made.job, made.settings, made.seed, made.limits, is_alone=True)

    def _figure(self, model: str, rates: dict[tuple[str, str, str, int], Estimate]) -> Section:
        groups: dict[str, list[tuple[str, float]]] = {}
        intervals = {}
        for (whose, storage, variant, threads), value in rates.items():
            if whose == model and storage != SYNTHETIC:
                group = f"{variant}, {threads} thr."
                groups.setdefault(group, []).append((storage, value.mean))
                intervals[group, storage] = (max(0.0, value.low), value.high)
        for (whose, storage, _, _), value in rates.items():
            if whose == model and storage == SYNTHETIC:
                groups["no loading"] = [(SYNTHETIC, value.mean)]
        drawing = bars(list(groups.items()), "images per second", intervals)
        return Section(f"Rates of {model}", (), (Figure(drawing, f"Disk: {self.disk}, past the page cache."),))


def _synthetic(rates: Mapping[tuple[str, str, str, int], Estimate], model: str) -> float:
    return next(value.mean for place, value in rates.items() if place[0] == model and place[1] == SYNTHETIC)


def _of_models(rates: Mapping[tuple[str, str, str, int], Estimate]) -> tuple[str, ...]:
    """Whether the model decides who limits when nothing waits for the disk; nothing of one model alone."""
    models = sorted({place[0] for place in rates}, key=lambda model: _synthetic(rates, model))
    if len(models) < 2:
        return ()
    heavy, light = models[0], models[-1]
    reached = {
        model: max(value.mean for place, value in rates.items() if place[:2] == (model, MEMORY))
        / _synthetic(rates, model)
        for model in (heavy, light)
    }
    claim = "with all data in memory a light model waits for preparation, and a heavy one does not"
    told = (
        f"From memory {light} reaches {reached[light]:.0%} of its rate without loading, {heavy} {reached[heavy]:.0%}."
    )
    return (agrees(is_so=reached[light] < CLOSE <= reached[heavy], claim=claim), told)


def _rates(found: Sequence[Line]) -> dict[tuple[str, str, str, int], Estimate]:
    groups: dict[tuple[str, str, str, int], list[float]] = {}
    for line in found:
        place = tuple(line.setting(name) for name in ("model", "storage", "variant", "threads"))
        groups.setdefault(place, []).append(line.number("images_per_second"))
    return {place: estimate(values) for place, values in groups.items()}
