"""Fidelity in a plan: the rates of `pjpeg` and of `sluice:layers=2` at each fidelity, and whether one is worth using.

Each fidelity has costs like a format. But it is chosen at read time, by quality, and not mixed image by image. So the
plan gives it as advice next to the mix: the smallest fidelity of sufficient quality, if the disk is the bottleneck.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from penstock.documents import Json
from penstock.plan.cache_run import cached_rates
from penstock.plan.mix_problem import Goals, Problem
from penstock.profile import FormatCosts, Profile, choose_fidelity
from penstock.profile.fidelity_costs import DEFAULT_THRESHOLD
from penstock.rates import Rates

WORTH_READING_LESS = 1.10
"""Gain over the chosen mix that a fidelity must have."""
BLOCK_RECORDS = 64
"""Images that share a read."""


@dataclass(frozen=True, slots=True)
class FidelityRow:
    """Rates with all images in one format at one fidelity."""

    format: str
    scans: int
    """Number of scans or layers."""
    ms_ssim: float
    rates: Rates


@dataclass(frozen=True, slots=True)
class FidelityAdvice:
    """Fidelity that the static tuner chose, and whether it is worth a build."""

    threshold: float
    format: str
    """The format that is faster at the fidelity chosen for it."""
    scans: int
    """The smallest whose mean MS-SSIM reaches the threshold."""
    is_recommended: bool
    reason: str
    rows: tuple[FidelityRow, ...]

    def as_dict(self) -> dict[str, Json]:
        """Return the advice as a plan writes it."""
        return {
            "format": self.format,
            "threshold": self.threshold,
            "scans": self.scans,
            "is_recommended": self.is_recommended,
            "reason": self.reason,
            "rows": [
                {
                    "format": row.format,
                    "scans": row.scans,
                    "ms_ssim": row.ms_ssim,
                    "bytes_per_image": row.rates.bytes_per_image,
                    "load_images_per_second": _finite(row.rates.load),
                    "decode_images_per_second": _finite(row.rates.decode),
                    "images_per_second": _finite(row.rates.end_to_end),
                    "bottleneck": row.rates.bottleneck,
                }
                for row in self.rows
            ],
        }


def _finite(rate: float) -> float | None:
    return rate if math.isfinite(rate) else None


def advise(profile: Profile, problem: Problem, goals: Goals, packed: Rates, chosen: Rates) -> FidelityAdvice | None:
    """Return advice next to a chosen mix, or None without measurements. `packed` are the source's own rates."""
    measured = {"pjpeg": profile.fidelities, "sluice:layers=2": profile.layers}
    threshold = goals.min_ms_ssim if goals.min_ms_ssim is not None else DEFAULT_THRESHOLD
    rows: list[FidelityRow] = []
    chosen_rows: list[FidelityRow] = []
    for format, fidelities in measured.items():
        if not fidelities:
            continue
        own = choose_fidelity(fidelities, threshold)
        for number, costs in sorted(fidelities.items()):
            row = FidelityRow(format, number, float(np.mean(costs.ms_ssim)), _rates(profile, problem, costs))
            rows.append(row)
            if number == own:
                chosen_rows.append(row)
    if not chosen_rows:
        return None
    best = max(chosen_rows, key=lambda row: row.rates.end_to_end)
    is_recommended, reason = _judged(best, packed, chosen, max(measured[best.format]))
    return FidelityAdvice(threshold, best.format, best.scans, is_recommended, reason, tuple(rows))


def _rates(profile: Profile, problem: Problem, costs: FormatCosts) -> Rates:
    """Compute rates relative to the source's format on the same images, because only some were measured."""
    count = len(costs.bytes)
    source_bytes = np.array([image.source_bytes for image in profile.images[:count]], float)
    source_seconds = profile.formats[profile.dataset.source_format].decode_seconds[:count]
    size = problem.bytes[:, [problem.source]] * (costs.bytes.mean() / source_bytes.mean())
    seconds = problem.cpu_seconds[:, [problem.source]] * (costs.decode_seconds.mean() / source_seconds.mean())
    everything = replace(
        problem,
        formats=("fidelity",),
        source=0,
        bytes=size,
        cpu_seconds=seconds,
        page_bytes=problem.page_bytes // BLOCK_RECORDS,
        seconds_per_read=problem.seconds_per_read / BLOCK_RECORDS,
    )
    return cached_rates(everything, np.ones_like(size))


def _judged(own: FidelityRow, packed: Rates, chosen: Rates, highest: int) -> tuple[bool, str]:
    gain = own.rates.end_to_end / chosen.end_to_end
    share = own.rates.bytes_per_image / packed.bytes_per_image
    quality = f"fidelity {own.scans} of {highest} (MS-SSIM {own.ms_ssim:.3f}, {share:.0%} of the bytes)"
    if chosen.bottleneck == "compute":
        return False, "Fewer bytes would not help: data arrives faster than the model uses it."
    if gain > WORTH_READING_LESS:
        reached = f"{own.rates.end_to_end:,.0f} images/s, {gain:.2f} times the chosen mix"
        return (
            True,
            f"Everything in {own.format}, read at {quality}, would reach {reached}; all of it can still be read later.",
        )
    if own.rates.bottleneck == "decode":
        slower = packed.decode / own.rates.decode
        return False, (
            f"{own.format} is not recommended: decoding would be the bottleneck. Read at {quality} it decodes "
            f"{own.rates.decode:,.0f} images/s, {slower:.1f} times the work of the source's own format."
        )
    return False, f"{own.format} is not recommended: read at {quality} it would give {gain:.2f} times the chosen mix."
