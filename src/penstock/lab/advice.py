"""Flow chart of (DL)² as sentences with their evidence: what to do about a slow loader. Pure functions.

Take the highest quality that fits in memory, then look at the bottleneck again; limits of time or storage change this.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.lab.statistics import Estimate
from penstock.rates import LITTLE_STALL
from penstock.units import bytes_text

LITTLE_GAIN = 0.05
TOLERABLE = 0.01
"""Accuracy that a smaller variant may cost: one point."""


@dataclass(frozen=True, slots=True)
class Situation:
    """Known facts about a training run and its data; unknown ones are left out."""

    stall_share: float | None = None
    """Share of a step that waits for data."""
    bottleneck: str = ""
    """One of `penstock.rates.BOTTLENECKS`; empty if it is not known."""
    memory_bytes: int | None = None
    """Memory that a cache may take."""
    sizes: Mapping[str, int] = field(default_factory=dict)
    """Bytes of the data in each variant; `source` is as it is."""
    losses: Mapping[str, Estimate] = field(default_factory=dict)
    """Accuracy of each variant minus the source's, as a share."""
    cpu_gains: Mapping[str, float] = field(default_factory=dict)
    """Speed of each variant relative to the source, measured where only the cores limit."""
    storage_limit_bytes: int | None = None
    best_in_time: str = ""
    """The variant that reached most within a budget of time, if one was measured."""
    budget_seconds: float | None = None


def flow_chart(situation: Situation) -> tuple[str, ...]:
    """Return advice as sentences, in order.

    >>> flow_chart(Situation(stall_share=0.01, bottleneck="compute"))[0]
    'Keep the data as it is: 1 % of a step waits for data, so neither smaller files nor a cache buys time.'
    >>> flow_chart(Situation(0.6, "storage", 8_000_000, {"source": 10_000_000, "jpeg:q=85": 7_000_000}))[0]
    'Use jpeg:q=85: it is the highest quality that fits in memory (6.7 MiB of 7.6 MiB; the source takes 9.5 MiB).'
    """
    if situation.stall_share is not None and situation.stall_share < LITTLE_STALL:
        said = [
            f"Keep the data as it is: {_percent(situation.stall_share)} of a step waits for data, so neither smaller "
            "files nor a cache buys time."
        ]
    elif situation.bottleneck == "decode":
        said = [
            "The cores limit: use a format that decodes faster, decode less (regions, a lower JPEG quality), or add "
            f"cores; then look at the bottleneck again.{_faster(situation)}"
        ]
    else:
        said = [*_memory(situation), "Then look at the bottleneck again (`penstock doctor`): it may have moved."]
    return (*said, *_storage(situation), *_time(situation))


def _faster(situation: Situation) -> str:
    """Name the variants that measured faster on the cores, the fastest first."""
    gains = sorted(situation.cpu_gains.items(), key=lambda item: -item[1])
    told = ", ".join(
        f"{name} is {gain:.2f} times as fast as the source" for name, gain in gains if gain > 1 + LITTLE_GAIN
    )
    return f" From memory {told}; `penstock lab run dropin` says what it costs in accuracy." if told else ""


def _memory(situation: Situation) -> list[str]:
    """Name the highest quality that fits in memory."""
    memory, sizes = situation.memory_bytes, situation.sizes
    if memory is None and situation.losses and sizes:
        return [_choices(situation)]
    if memory is None or not sizes:
        return ["Find the highest quality that fits in memory (`penstock lab run dropin` says what each costs)."]
    source = sizes.get("source")
    if source is not None and source <= memory:
        return [
            f"Cache the data as it is: {bytes_text(source)} fit in {bytes_text(memory)} of memory, so only the first "
            "epoch reads the disk. Compressing it would buy nothing after that."
        ]
    usable = {name: size for name, size in sizes.items() if size <= memory and _is_tolerable(situation, name)}
    if usable:
        name = max(usable, key=lambda key: usable[key])
        whole = f"; the source takes {bytes_text(source)}" if source is not None else ""
        why = f"{bytes_text(usable[name])} of {bytes_text(memory)}{whole}"
        return [f"Use {name}: it is the highest quality that fits in memory ({why}){_cost(situation, name)}."]
    costly = any(size <= memory for size in sizes.values())
    reason = "costs too much accuracy" if costly else "fits in memory"
    start = f"{'What fits in memory ' + reason if costly else 'No variant ' + reason}: "
    share = min(1.0, memory / source) if source else 0.0
    return [
        f"{start}keep the quality, and let `cache='rolling'` or `'pinned'` hold {_percent(share)} of the data, which "
        "spares that share of the reads."
    ]


def _choices(situation: Situation) -> str:
    """List the possible choices if nothing is known about memory."""
    sizes = situation.sizes
    ordered = sorted(sizes, key=lambda name: -sizes[name])
    good = [f"{name} ({bytes_text(sizes[name])})" for name in ordered if _is_tolerable(situation, name)]
    bad = [
        f"{name} ({situation.losses[name].mean * 100:+.1f} points)"
        for name in ordered
        if not _is_tolerable(situation, name)
    ]
    told = f"Take the highest quality that fits in memory: {', '.join(good)}"
    return told + (f". Not {', '.join(bad)}." if bad else ".")


def _storage(situation: Situation) -> list[str]:
    limit = situation.storage_limit_bytes
    if limit is None:
        return []
    fitting = {name: size for name, size in situation.sizes.items() if size <= limit}
    if not fitting:
        return [f"Nothing measured fits in {bytes_text(limit)} of storage: subsample, or try lower qualities."]
    name = max(fitting, key=lambda key: fitting[key])
    return [
        f"With {bytes_text(limit)} of storage, compress to {name} rather than drop samples{_cost(situation, name)}."
    ]


def _time(situation: Situation) -> list[str]:
    if not situation.best_in_time or situation.budget_seconds is None:
        return []
    return [f"Within {situation.budget_seconds:,.1f} s of training, {situation.best_in_time} reached most."]


def _is_tolerable(situation: Situation, name: str) -> bool:
    loss = situation.losses.get(name)
    return loss is None or loss.mean > -TOLERABLE or not loss.is_below_zero


def _cost(situation: Situation, name: str) -> str:
    loss = situation.losses.get(name)
    if loss is None:
        return ""
    return f"; it changes accuracy by {loss.mean * 100:+.1f} points ({loss.low * 100:+.1f} to {loss.high * 100:+.1f})"


def _percent(share: float) -> str:
    return f"{share * 100:.0f} %"
