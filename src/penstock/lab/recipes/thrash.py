"""`thrash`: what an epoch reads from the disk when memory does not hold the data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from penstock.documents import Json
from penstock.lab.draw import by_seed, of_setting, series_of, table_of
from penstock.lab.lines import Line, measured
from penstock.lab.recipes.contract import Cell, DataFacts, Findings, Recipe
from penstock.lab.recipes.dropin import sizes_of
from penstock.lab.recipes.holding import disk_limits
from penstock.lab.statistics import Estimate, estimate, paired_ratio
from penstock.lab.verdict import Verdict, judge_above, judge_all, judge_below, verdict_sentence
from penstock.lab.work_folder import SOURCE
from penstock.order.caches.liquid import SPREAD
from penstock.report import Figure, Section
from penstock.report.charts import Series, lines

PAGE_CACHES = {"page cache": "penstock", "torch": "torch"}
"""Policies that leave it to the kernel, and the loader that reads."""
SLACK_BYTES = 24 * 2**20
"""Memory of a limited process besides its own and its cache: page tables, pipe buffers, shared batches."""
NEAR = 0.04
"""Shares that far apart are called the same."""
LITTLE = 1.05
"""Ratio of rates below which a gain is not worth acting on."""


@dataclass(frozen=True, kw_only=True)
class Thrash(Recipe):
    """Varies who caches and how much memory holds; holds data, order, disk. Measures bytes from the disk."""

    name: ClassVar[str] = "thrash"
    question: ClassVar[str] = (
        "bytes read per epoch over a memory limit: page cache, torch, and caches of Penstock's own"
    )
    published: ClassVar[str] = (
        "(DL)² Fig 2. On 145.6 GiB, DALI read everything in every epoch until all fitted (160 GiB); PyTorch read 95 % "
        "at 44 % of the size and 42 % at 99 %. A cache that never evicts (MinIO) reads 1 − x."
    )

    shares: tuple[float, ...] = (0.25, 0.5, 0.75, 1.1)
    """Shares of the data's bytes that memory can cache."""
    policies: tuple[str, ...] = ("page cache", "torch", "pinned", "rolling", "liquid")
    disk: str = "100MB/s"
    """Held by a control group; `none` leaves the disk as it is."""
    epochs: int = 3
    size: int = 64
    batch_size: int = 16

    def cells(self, data: DataFacts, done: Sequence[Line]) -> list[Cell]:
        """Return cells for the memory of each process, then for every policy at every share."""
        probes = [
            Cell("load", self._settings(name, 0.0) | {"epochs": 1}, 0, disk_limits(self.disk), is_alone=True)
            for name in self.policies
        ]
        needs = {line.setting("policy"): line for line in measured(done, "load", cached_share=0.0)}
        cells = [Cell("size", {"variant": SOURCE}), *probes]
        for name in self.policies:
            if name in needs:
                cells += [
                    self._cell(name, share, seed, data, needs[name])
                    for share in self.shares
                    for seed in range(self.seeds)
                ]
        return cells

    def findings(self, lines: Sequence[Line]) -> Findings:
        """Report the bytes that each policy read, and whether the loader's own cache is faster on this disk."""
        found = [line for line in measured(lines, "load") if line.setting("cached_share") > 0]
        read = _shares(found, sizes_of(lines)[SOURCE])
        uneven = _unevenness(lines)
        middle = min(self.shares, key=lambda share: abs(share - 0.5))
        here = of_setting([line for line in found if line.setting("cached_share") == middle], "policy")
        rates = {name: by_seed(group, "images_per_second") for name, group in here.items()}
        own = [name for name in rates if name not in PAGE_CACHES]
        best = max(own, key=lambda name: sum(rates[name].values()), default="")
        gain = paired_ratio(rates[best], rates["page cache"]) if best and "page cache" in rates else None
        spared = read["page cache", middle].mean - read[best, middle].mean if gain else 0.0
        return Findings(
            _answer(best, gain, middle, spared),
            (_reads(read, uneven), _rates(found)),
            values={"best": best, "gain": gain.mean if gain else None, "gain_low": gain.low if gain else None,
                    "read_share": {f"{name} {share}": value.mean for (name, share), value in read.items()}},
        )  # fmt: skip

    def _settings(self, policy: str, share: float) -> dict[str, Json]:
        return {
            "policy": policy,
            "cached_share": share,
            "loader": PAGE_CACHES.get(policy, "penstock"),
            "cache": "system" if policy in PAGE_CACHES else policy,
            "variant": SOURCE,
            "size": self.size,
            "crop": "stretch",
            "threads": self.threads,
            "batch_size": self.batch_size,
            "epochs": self.epochs,
        }

    def _cell(self, policy: str, share: float, seed: int, data: DataFacts, need: Line) -> Cell:
        """Make a cell. Kernel caches are limited by the process, ours by the loader's memory."""
        cached = round(share * data.source_bytes)
        settings, limits = self._settings(policy, share), disk_limits(self.disk)
        if policy in PAGE_CACHES:
            limits = replace(limits, memory_bytes=round(need.number("anonymous_bytes")) + SLACK_BYTES + cached)
        else:
            settings["cache_bytes"] = cached
        return Cell("load", settings, seed, limits, is_alone=True)


def _shares(found: Sequence[Line], data_bytes: int) -> dict[tuple[str, float], Estimate]:
    """Return the share of the data's bytes that an epoch read, by policy and share of memory."""
    groups: dict[tuple[str, float], list[float]] = {}
    for line in found:
        place = str(line.setting("policy")), float(line.setting("cached_share"))
        groups.setdefault(place, []).append(line.number("disk_bytes_per_epoch") / data_bytes)
    return {place: estimate(values) for place, values in groups.items()}


def _unevenness(lines: Sequence[Line]) -> float:
    """Return the deviation of the bytes of a random part of the samples, as a share of all bytes; 0 if unknown.

    For a part x, multiply by the root of x (1 − x).
    """
    size = next(iter(measured(lines, "size")))
    deviation = size.measures.get("deviation_bytes", 0.0)
    return float(deviation) * math.sqrt(size.number("num_images")) / size.number("encoded_bytes")


def _reads(read: dict[tuple[str, float], Estimate], uneven: float) -> Section:
    places = sorted({share for _, share in read})
    names = list(dict.fromkeys(name for name, _ in read))
    series = [
        series_of(name, {share: read[name, share] for share in places if (name, share) in read}) for name in names
    ]
    ideal = tuple((share, _missed(share)) for share in (0.0, *places))
    series.append(Series("1 − x", ideal, is_dashed=True, colour=7))
    rows = [
        (name, f"{share:.0%}", f"{value.mean:.1%}", f"{_missed(share):.1%}") for (name, share), value in read.items()
    ]
    drawing = lines(series, "memory that can cache, as a share of the data", "share read from the disk per epoch")
    return Section(
        "What an epoch reads",
        (
            "Epochs after the first, as the kernel counted what came from the disk for the loader and its workers.",
            *_agreement(read, uneven),
        ),
        (Figure(drawing, "A cache that keeps what it has reads 1 − x; more than 1 is read ahead and dropped unused."),),
        table_of(("policy", "memory", "read", "1 − x"), rows),
    )


def _agreement(read: dict[tuple[str, float], Estimate], uneven: float) -> list[str]:
    """Describe whether the published shapes appear."""
    said = []
    for name in dict.fromkeys(name for name, _ in read if name not in PAGE_CACHES):
        values = {share: value for (whose, share), value in read.items() if whose == name}
        gaps = {share: value.mean - _missed(share) for share, value in values.items()}
        apart = max(gaps.values(), key=abs) * 100
        verdict = judge_all(
            judge
            for share, value in values.items()
            for judge in (judge_above(value, _missed(share) - NEAR), judge_below(value, _missed(share) + NEAR))
        )
        claim = f"{name} reads 1 − x, within {NEAR * 100:.0f} points"
        said.append(verdict_sentence(verdict, claim, f"at most {apart:+.1f} points off"))
        if name == "liquid" and uneven:
            said.append(_room(gaps, uneven))
    kernel = {place: value for place, value in read.items() if place[0] in PAGE_CACHES and place[1] < 1}
    if kernel:
        judged = {place: judge_above(value, _missed(place[1])) for place, value in kernel.items()}
        claim = "with the page cache, an epoch in random order reads more than 1 − x"
        apart_from = ", ".join(
            f"{name} at {share:.0%}" for (name, share), so in judged.items() if so is not Verdict.SHOWN
        )
        said.append(verdict_sentence(judge_all(judged.values()), claim, f"not by {apart_from}" if apart_from else ""))
        if Verdict.CONTRADICTED in judged.values():
            said.append("The limit is drawn around the whole process, and what the process did not use was cache too.")
    return said


def _room(gaps: dict[float, float], uneven: float) -> str:
    """Explain why Liquid's cache reads more: it keeps samples by number, in a memory of bytes."""
    rooms = {share: SPREAD * uneven * (share * (1 - share)) ** 0.5 for share in gaps if share < 1}
    told = ", ".join(f"{room * 100:.1f} points at {share:.0%}" for share, room in rooms.items())
    left = max((gaps[share] - room for share, room in rooms.items()), key=abs, default=0.0) * 100
    return (
        "Liquid keeps as many samples as ever, but others in every epoch, whose bytes differ: so that they always fit, "
        f"it leaves {SPREAD:g} standard deviations of their sum free. With so few samples of these sizes that is "
        f"{told} of memory; what is left of the difference is at most {left:+.1f}. It shrinks with the root "
        "of the number of samples."
    )


def _missed(share: float) -> float:
    """Return the share that a cache without eviction has to read."""
    return max(0.0, 1 - share)


def _rates(found: Sequence[Line]) -> Section:
    series = []
    for name, group in of_setting(found, "policy").items():
        by_share = {
            float(share): estimate([line.number("images_per_second") for line in part])
            for share, part in of_setting(group, "cached_share").items()
        }
        series.append(series_of(name, by_share))
    drawing = lines(series, "memory that can cache, as a share of the data", "images per second")
    return Section("What that does to the rate", (), (Figure(drawing, "Images per second on the limited disk."),))


def _answer(best: str, gain: Estimate | None, share: float, spared: float) -> str:
    """Phrase the answer. A cache that reads no less than the page cache does not explain a faster loader."""
    if gain is None:
        return "Too little could be measured here to say; the last section says why."
    pays = gain.mean > LITTLE and (gain.low > 1 or gain.count == 1) and spared > NEAR
    verdict = "A cache of one's own pays" if pays else "No cache of one's own pays here"
    compared = f"{best} reads {_points(spared)} and loads {gain.mean:.2f} times as fast as the page cache"
    return f"{verdict}: with memory for {share:.0%} of the data, {compared}."


def _points(spared: float) -> str:
    """Describe how much less of the data is read."""
    if abs(spared) <= NEAR:
        return "as much"
    return f"{abs(spared) * 100:.0f} points of the data {'less' if spared > 0 else 'more'}"
