"""Plan as a value, and as the document of spec/plan.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass

from penstock.documents import Json, write_document
from penstock.order import Window
from penstock.plan.cache_run import CacheForecast
from penstock.plan.fidelity_advice import FidelityAdvice
from penstock.plan.rule import CostRule
from penstock.rates import Rates

KIND = "penstock plan"
VERSION = 1


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the comparison that every plan shows."""

    name: str
    mix: Mapping[str, float]
    rates: Rates
    total_bytes: int
    build_seconds: float

    def as_dict(self) -> dict[str, Json]:
        """Return the row as a plan writes it."""
        return {
            "name": self.name,
            "mix": dict(self.mix),
            **rates_as_dict(self.rates),
            "total_bytes": self.total_bytes,
            "build_seconds": self.build_seconds,
        }


@dataclass(frozen=True, slots=True)
class Rows:
    """The four ways to store the data that every plan compares; iterates over them in this order."""

    folder: Row
    """The source as it is."""
    packed: Row
    """The same bytes in shards."""
    single: Row
    """The best single format."""
    chosen: Row
    """The chosen mix."""

    def __iter__(self) -> Iterator[Row]:
        return iter((self.folder, self.packed, self.single, self.chosen))


@dataclass(frozen=True, slots=True)
class WhatIf:
    """Gain from more of a resource, with the best mix chosen again."""

    resource: str
    images_per_second: float
    gain: float
    """Gain as a share of the present rate."""
    note: str = ""
    """Remark that says more than the gain: that the dataset would then fit in the cache."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Chosen mix, its predicted rates, and the reasons."""

    rule: CostRule
    mix: Mapping[str, float]
    method: str
    rows: Rows
    what_if: tuple[WhatIf, ...]
    smallest_cache_bytes: int
    """DS-Analyzer's: with this much memory the disk is not what limits. 0 if it already does not."""
    cached_share: float
    forecast: CacheForecast
    """Hits and reads per epoch, predicted by running the loader's cache."""
    cache: str
    threads: int
    window: Window | None
    """Window of the loader; None: record by record, in any order."""
    explanation: tuple[str, ...]
    liquid: Mapping[str, Json] | None = None
    fidelity: FidelityAdvice | None = None
    """Advice on progressive images; absent if the profile has not measured them."""

    @property
    def chosen(self) -> Row:
        """Row of the chosen mix."""
        return self.rows.chosen

    @property
    def gain(self) -> float:
        """Predicted rate divided by that of the unchanged folder."""
        return self.rows.chosen.rates.end_to_end / self.rows.folder.rates.end_to_end


def rates_as_dict(rates: Rates) -> dict[str, Json]:
    """Convert rates to members with units in their names; unknown (infinite) rates are null."""
    named = {
        "load_images_per_second": rates.load,
        "decode_images_per_second": rates.decode,
        "compute_images_per_second": rates.compute,
        "images_per_second": rates.end_to_end,
    }
    found: dict[str, Json] = {name: value if value < float("inf") else None for name, value in named.items()}
    return found | {
        "bottleneck": rates.bottleneck,
        "bytes_per_image": rates.bytes_per_image,
        "cached_share": rates.cached_share,
    }


def write_plan(plan: Plan) -> bytes:
    """Return the document of a plan (spec/plan.md)."""
    return write_document(plan_members(plan))


def plan_members(plan: Plan) -> dict[str, Json]:
    """Return the members of a plan's document."""
    members: dict[str, Json] = {
        "kind": KIND,
        "version": VERSION,
        "seed": plan.rule.seed,
        "rules": [{"cheapest": plan.rule.as_dict()}],
        "mix": dict(plan.mix),
        "method": plan.method,
        "cache": plan.cache,
        "cached_share": dict.fromkeys(plan.mix, plan.cached_share),
        "threads": plan.threads,
        "access": "random" if plan.window is None else "runs",
        "predicted": {**plan.chosen.as_dict(), **plan.forecast.as_dict()},
        "rows": [row.as_dict() for row in plan.rows],
        "what_if": [dict(asdict(item)) for item in plan.what_if],
        "smallest_cache_bytes": plan.smallest_cache_bytes,
        "explanation": list(plan.explanation),
    }
    if plan.window is not None:
        members["window"] = {"run": plan.window.run, "runs": plan.window.runs}
    if plan.liquid is not None:
        members["liquid"] = dict(plan.liquid)
    if plan.fidelity is not None:
        members["fidelity"] = plan.fidelity.as_dict()
    return members
