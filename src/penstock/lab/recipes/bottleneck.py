"""`bottleneck`: who limits, over storage × threads × file size × model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from penstock.lab.advice import Situation, flow_chart
from penstock.lab.draw import table_of
from penstock.lab.lines import Line, measured
from penstock.lab.recipes.contract import Cell, DataFacts, Findings
from penstock.lab.recipes.dropin import sizes_of
from penstock.lab.recipes.holding import TrainingRecipe, disk_limits
from penstock.lab.statistics import Estimate, estimate, paired_ratio
from penstock.lab.verdict import judge_above, judge_all, judge_below, verdict_sentence
from penstock.lab.work_folder import SOURCE
from penstock.limits import NO_LIMITS
from penstock.rates import CLOSE, bottleneck_by_difference
from penstock.rates import Bottleneck as Limit
from penstock.report import Figure, Section
from penstock.report.charts import bars
from penstock.units import count_text

MEMORY, SYNTHETIC = "memory", "synthetic"
COLUMNS = ("model", "format", "threads", "disk", "from disk/s", "from memory/s", "synthetic/s", "waiting", "bottleneck")


class Place(NamedTuple):
    """Conditions of one rate."""

    model: str
    storage: str
    """The disk's rate, `memory` or `synthetic`."""
    variant: str
    threads: int


Rates = Mapping[Place, Estimate]


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
    """Formats to compare with the source."""
    thread_counts: tuple[int, ...] = (1, 2)
    disk: tuple[str, ...] = ("10MB/s", "100MB/s")
    """One or more, besides memory."""
    epochs: int = 3
    crop: str = "resized"
    seeds: int = 3

    def cells(self, data: DataFacts, done: Sequence[Line]) -> list[Cell]:
        """Return cells for a model that never waits, then for every storage, thread count and format."""
        models = ("unet",) if self.target_of(data) == "mask" else self.models
        cells = [Cell("size", {"variant": variant}) for variant in (SOURCE, *self.formats)]
        for seed in range(self.seeds):
            for model in models:
                cells.append(self._cell(data, seed, Place(model, SYNTHETIC, SOURCE, self.thread_counts[-1])))
                cells += [
                    self._cell(data, seed, Place(model, storage, variant, threads))
                    for variant in (SOURCE, *self.formats)
                    for threads in self.thread_counts
                    for storage in (*self.disk, MEMORY)
                ]
        return cells

    def findings(self, lines: Sequence[Line]) -> Findings:
        """Name the bottleneck of each combination, and by how much it limits."""
        found = measured(lines, "train")
        rates, stalls = _by_place(found, "images_per_second"), _by_place(found, "stall_share")
        limits: dict[str, Limit] = {}
        places: dict[str, Place] = {}
        rows = []
        for place, read in rates.items():
            if place.storage in (MEMORY, SYNTHETIC):
                continue
            cached, free = rates[place._replace(storage=MEMORY)].mean, _synthetic(rates, place.model)
            who = bottleneck_by_difference(read.mean, cached, free)
            name = f"{place.model}, {place.variant}, {count_text(place.threads, 'thread')}, {place.storage}"
            limits[name], places[name] = who, place
            told = (f"{rate:,.0f}" for rate in (read.mean, cached, free))
            rows.append(
                (place.model, place.variant, place.threads, place.storage, *told, f"{stalls[place].mean:.0%}", who)
            )
        first = next(iter(limits))
        counts = {who: list(limits.values()).count(who) for who in dict.fromkeys(limits.values())}
        answer = (
            f"The bottleneck of {first} is {limits[first]}; over all, "
            + ", ".join(f"{who} in {n} of {len(limits)}" for who, n in counts.items())
            + "."
        )
        note = (
            "Differences of whole runs, because timers in a loop cannot tell fetching from preparing: from synthetic "
            "to memory is decode, from memory to disk is storage. Where the model runs on the processor, what it "
            "loses to decoding on the same cores counts as decode."
        )
        table = Section("Bottlenecks", (note, *_of_models(found, rates)), (), table_of(COLUMNS, rows))
        sections = [_figure(model, rates) for model in dict.fromkeys(place.model for place in rates)]
        named = limits[first]
        situation = Situation(
            bottleneck=named,
            sizes=sizes_of(lines),
            stall_share=0.0 if named == "compute" else None,
            cpu_gains=_gains_from_memory(rates, places[first]),
        )
        return Findings(answer, (table, *sections), flow_chart(situation), {"limits": dict(limits)})

    def _cell(self, data: DataFacts, seed: int, place: Place) -> Cell:
        is_disk = place.storage not in (MEMORY, SYNTHETIC)
        made = self.train_cell(
            data, seed, disk_limits(place.storage) if is_disk else NO_LIMITS, validates=False, **place._asdict(),
            loader="synthetic" if place.storage == SYNTHETIC else "penstock", cache="none" if is_disk else "system",
        )  # fmt: skip
        return Cell(made.job, made.settings, made.seed, made.limits, is_alone=True)


def _figure(model: str, rates: Rates) -> Section:
    groups: dict[str, list[tuple[str, float]]] = {}
    intervals = {}
    for place, value in rates.items():
        if place.model == model and place.storage != SYNTHETIC:
            group = f"{place.variant}, {place.threads} thr."
            groups.setdefault(group, []).append((place.storage, value.mean))
            intervals[group, place.storage] = (max(0.0, value.low), value.high)
    groups["no loading"] = [(SYNTHETIC, _synthetic(rates, model))]
    drawing = bars(list(groups.items()), "images per second", intervals)
    return Section(f"Rates of {model}", (), (Figure(drawing, "From disks past the page cache, and from memory."),))


def _synthetic(rates: Rates, model: str) -> float:
    return next(value.mean for place, value in rates.items() if place[:2] == (model, SYNTHETIC))


def _of_models(found: Sequence[Line], rates: Rates) -> tuple[str, ...]:
    """Judge whether the model decides the bottleneck when nothing waits for the disk; empty for one model."""
    models = sorted({place.model for place in rates}, key=lambda model: _synthetic(rates, model))
    if len(models) < 2:
        return ()
    heavy, light = models[0], models[-1]
    reached = {model: _from_memory(found, rates, model) for model in (light, heavy)}
    claim = (
        f"with all data in memory a light model waits for preparation (below {CLOSE:.0%} of its rate without loading), "
        "and a heavy one does not"
    )
    told = ", ".join(
        f"{model} {value.mean:.0%}, {value.low:.0%} to {value.high:.0%}" for model, value in reached.items()
    )
    verdict = judge_all((judge_below(reached[light], CLOSE), judge_above(reached[heavy], CLOSE)))
    return (verdict_sentence(verdict, claim, f"from memory {told}"),)


def _from_memory(found: Sequence[Line], rates: Rates, model: str) -> Estimate:
    """Estimate the best rate from memory as a share of the rate without loading, per seed."""
    best = max((place for place in rates if place[:2] == (model, MEMORY)), key=lambda place: rates[place].mean)
    free = next(place for place in rates if place[:2] == (model, SYNTHETIC))
    seeds = [
        {line.seed: line.number("images_per_second") for line in found if _place(line) == place}
        for place in (best, free)
    ]
    share = paired_ratio(*seeds)
    assert share is not None  # the seeds are the same
    return share


def _gains_from_memory(rates: Rates, place: Place) -> dict[str, float]:
    """Return how many times as fast each other variant trains from memory, without the disk."""
    source = rates[place._replace(storage=MEMORY, variant=SOURCE)].mean
    return {
        other.variant: value.mean / source
        for other, value in rates.items()
        if other == place._replace(storage=MEMORY, variant=other.variant) and other.variant != SOURCE
    }


def _place(line: Line) -> Place:
    told = {name: line.setting(name) for name in Place._fields}
    return Place(str(told["model"]), str(told["storage"]), str(told["variant"]), int(str(told["threads"])))


def _by_place(found: Sequence[Line], measure: str) -> dict[Place, Estimate]:
    groups: dict[Place, list[float]] = {}
    for line in found:
        groups.setdefault(_place(line), []).append(line.number(measure))
    return {place: estimate(values) for place, values in groups.items()}
