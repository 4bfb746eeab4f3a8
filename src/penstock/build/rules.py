"""Rules that choose the format of every sample: a mix, or the rules of a plan. Layout: spec/plan.md."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from penstock.build.assignment import assign_formats
from penstock.codecs import Format, parse_format, parse_mix
from penstock.documents import Document, Json, read_document
from penstock.errors import PenstockError
from penstock.plan.document import KIND, VERSION, Plan, plan_members
from penstock.plan.rule import CostRule, read_cost_rule

if TYPE_CHECKING:
    import pyarrow as pa

HEADER_FEATURES = ("pixels", "bytes_per_pixel", "channels", "bits", "codec")
TEXT_FEATURES = ("codec", "split")
FEATURES = ("source_bytes", *HEADER_FEATURES, "split", "label")

PLAN_MEMBERS = ("seed", "rules", "fields", "cache", "cached_share", "access", "window")
"""Members of a plan that a manifest repeats, without predictions and thread counts."""


@dataclass(frozen=True)
class Headers:
    """Headers of the source's images, one entry per sample."""

    width: npt.NDArray[np.int64]
    height: npt.NDArray[np.int64]
    channels: npt.NDArray[np.int64]
    bits: npt.NDArray[np.int64]
    codec: npt.NDArray[np.str_]


class Features:
    """Features of samples that rules may use. Headers are read only if a rule needs them."""

    def __init__(self, source_bytes: npt.NDArray[np.int64], columns: pa.Table, read: Callable[[], Headers]) -> None:
        self.source_bytes = source_bytes
        self._columns = columns
        self._read = read

    def __len__(self) -> int:
        return len(self.source_bytes)

    @cached_property
    def headers(self) -> Headers:
        """Headers of all images, read once."""
        return self._read()

    @property
    def pixels(self) -> npt.NDArray[np.int64]:
        """Number of pixels: width × height."""
        return self.headers.width * self.headers.height

    def values(self, name: str) -> npt.NDArray[Any]:
        """Return a feature of every sample; NaN or None if a sample lacks it."""
        if name == "source_bytes":
            return self.source_bytes
        if name == "pixels":
            return self.pixels
        if name == "bytes_per_pixel":
            return self.source_bytes / self.pixels
        if name in ("split", "label"):
            present = name in self._columns.column_names
            found: npt.NDArray[Any] = (
                self._columns.column(name).to_numpy() if present else np.full(len(self), None, object)
            )
            return found
        header: npt.NDArray[Any] = getattr(self.headers, name)
        return header


@dataclass(frozen=True)
class Condition:
    """Bound on a feature."""

    feature: str
    below: float | None = None
    at_least: float | None = None
    equal: Json = None

    def holds(self, features: Features) -> npt.NDArray[np.bool_]:
        """Return for which samples the condition holds."""
        values = features.values(self.feature)
        held = np.ones(len(features), bool)
        if self.equal is not None:
            held &= values == self.equal
        if self.below is not None:
            held &= values.astype(float) < self.below
        if self.at_least is not None:
            held &= values.astype(float) >= self.at_least
        return held


@dataclass(frozen=True)
class Rule:
    """Rule that gives samples that meet all conditions a format of the mix, or the cheapest format."""

    mix: Mapping[Format, float] = field(default_factory=dict)
    cheapest: CostRule | None = None
    conditions: tuple[Condition, ...] = ()

    @property
    def formats(self) -> tuple[Format, ...]:
        """Formats that the rule may choose."""
        if self.cheapest is not None:
            return tuple(parse_format(text) for text in self.cheapest.formats)
        return tuple(self.mix)

    def choose(self, ranks: npt.NDArray[np.int64], features: Features, seed: int) -> npt.NDArray[np.int32]:
        """Return the number, in `formats`, of the format of each of these samples."""
        if self.cheapest is None:
            return assign_formats(ranks, list(self.mix.values()), seed)
        pixels = features.pixels[ranks].astype(float)
        return self.cheapest.choose(ranks, pixels, features.source_bytes[ranks].astype(float)).astype(np.int32)


@dataclass(frozen=True)
class Rules:
    """Rules in the order in which they apply; the last takes all remaining samples."""

    rules: tuple[Rule, ...]
    recipe: Mapping[str, Json]
    """Rules as written in a manifest's recipe."""
    seed: int = 0
    field_formats: Mapping[str, Format] = field(default_factory=dict)

    @cached_property
    def formats(self) -> tuple[Format, ...]:
        """All formats, in the order in which the rules first name them."""
        return tuple(dict.fromkeys(format for rule in self.rules for format in rule.formats))

    @property
    def needs_headers(self) -> bool:
        """True if a rule needs image headers."""
        asked = {condition.feature for rule in self.rules for condition in rule.conditions}
        return bool(asked & set(HEADER_FEATURES)) or any(rule.cheapest is not None for rule in self.rules)

    def assign(self, features: Features) -> npt.NDArray[np.int32]:
        """Return the number, in `formats`, of every sample's format."""
        chosen = np.full(len(features), -1, np.int32)
        for rule in self.rules:
            open_samples = chosen < 0
            for condition in rule.conditions:
                open_samples &= condition.holds(features)
            ranks = np.flatnonzero(open_samples)
            numbers = np.array([self.formats.index(format) for format in rule.formats], np.int32)
            chosen[ranks] = numbers[rule.choose(ranks, features, self.seed)]
        return chosen


def rules_of_mix(mix: str | Mapping[Format, float], seed: int) -> Rules:
    """Convert a mix to a single rule."""
    shares = parse_mix(mix) if isinstance(mix, str) else dict(mix)
    return Rules((Rule(shares),), {"mix": {str(format): share for format, share in shares.items()}}, seed)


def rules_of_plan(plan: Plan) -> Rules:
    """Return the rules of a plan that was made in this process; the same as `read_rules` of its document."""
    members = plan_members(plan)
    return Rules((Rule(cheapest=plan.rule),), {"plan": _kept_members(members)}, plan.rule.seed)


def _kept_members(members: Mapping[str, Json]) -> dict[str, Json]:
    """Return the members of a plan that a manifest's recipe repeats."""
    return {name: members[name] for name in PLAN_MEMBERS if name in members}


def read_rules(data: bytes, where: str) -> Rules:
    """Read the rules of a plan's document."""
    document = read_document(data, kind=KIND, version=VERSION, where=where)
    rules = tuple(_read_rule(item) for item in document.items("rules"))
    if not rules or rules[-1].conditions or any(not rule.conditions for rule in rules[:-1]):
        raise document.refusal("the last rule, and only the last, has no conditions", "rules")
    fields = document.child("fields") if "fields" in document else Document({}, where)
    formats = {name: _read_format(fields, name) for name in fields.members}
    return Rules(rules, {"plan": _kept_members(document.members)}, document.integer("seed", 0), formats)


def _read_format(document: Document, name: str) -> Format:
    try:
        return parse_format(document.text(name))
    except PenstockError as error:
        raise document.refusal(error.what, name) from error


def _read_rule(document: Document) -> Rule:
    conditions = tuple(_read_condition(item) for item in document.items("where")) if "where" in document else ()
    if "cheapest" in document:
        return Rule(cheapest=read_cost_rule(document.child("cheapest")), conditions=conditions)
    shares = document.child("mix")
    text = ",".join(f"{name}={shares.number(name)!r}" for name in shares.members)
    try:
        return Rule(parse_mix(text), conditions=conditions)
    except PenstockError as error:
        raise document.refusal(error.what, "mix") from error


def _read_condition(document: Document) -> Condition:
    feature = document.text("feature")
    if feature not in FEATURES:
        raise document.refusal(f"there is no feature '{feature}'; known: {', '.join(FEATURES)}", "feature")
    is_text = feature in TEXT_FEATURES
    bounds = {"below": "below", "from": "at_least"}
    found = {own: document.number(name) for name, own in bounds.items() if name in document}
    equal: Json = None
    if "is" in document:
        equal = document.text("is") if is_text else document.number("is")
    if (not found and equal is None) or (found and is_text):
        raise document.refusal(f"a condition on {feature} needs {'is' if is_text else 'below, from or is'}")
    return Condition(feature, found.get("below"), found.get("at_least"), equal)
