"""Rule that gives every image its cheapest format, from prices, estimated costs, and a small random term.

If images differ, prices decide. If they are alike (one size, one camera), all tie, and prices alone would send them
all to one format. A small seeded random term then spreads them, and an offset per format sets the shares of the
optimum.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from penstock.counter_rng import draw_uniform
from penstock.documents import MAX_UNSIGNED, Document, Json
from penstock.plan.solve import CostWeights
from penstock.profile.regression import Estimate
from penstock.types import Floats, Integers

FIRST_STREAM = 16
"""First stream of `counter_rng.draw`: format number f draws from stream 16 + f. Lower ones choose order and mixes."""


@dataclass(frozen=True, slots=True)
class FormatEstimate:
    """Estimated costs of a format in a rule."""

    bytes: Estimate
    cpu_seconds: Estimate
    offset: float = 0.0


@dataclass(frozen=True, slots=True)
class CostRule:
    """Rule that chooses the format with the lowest score.

    score = per_byte · bytes + per_cpu_second · seconds + conversion (unless it is the source's) + offset + width · draw
    """

    prices: CostWeights
    source_format: str
    formats: Mapping[str, FormatEstimate]
    width: float
    seed: int = 0

    def scores(self, pixels: Floats, source_bytes: Floats) -> Floats:
        """Compute the scores without the random term, one row per image."""
        estimates = self.formats.values()
        size = np.stack([estimate.bytes.of(pixels, source_bytes) for estimate in estimates], axis=1)
        cpu = np.stack([estimate.cpu_seconds.of(pixels, source_bytes) for estimate in estimates], axis=1)
        names = list(self.formats)
        scores = self.prices.per_byte * size + self.prices.per_cpu_second * cpu
        scores += [0.0 if name == self.source_format else self.prices.conversion for name in names]
        scores += [estimate.offset for estimate in estimates]
        return scores

    def choose(self, ids: npt.ArrayLike, pixels: Floats, source_bytes: Floats) -> Integers:
        """Return the number, in the order of `formats`, of each image's format."""
        draws = [draw_uniform(self.seed, FIRST_STREAM + number, ids) for number in range(len(self.formats))]
        scores = self.scores(pixels, source_bytes) + self.width * np.stack(draws, axis=1)
        chosen: Integers = np.argmin(scores, axis=1).astype(np.int64)
        return chosen

    def as_dict(self) -> dict[str, Json]:
        """Return the rule as a plan writes it."""
        return {
            "prices": {
                "per_byte": self.prices.per_byte,
                "per_cpu_second": self.prices.per_cpu_second,
                "conversion": self.prices.conversion,
            },
            "source_format": self.source_format,
            "width": self.width,
            "seed": self.seed,
            "formats": {
                name: {
                    "bytes": estimate.bytes.as_dict(),
                    "cpu_seconds": estimate.cpu_seconds.as_dict(),
                    "offset": estimate.offset,
                }
                for name, estimate in self.formats.items()
            },
        }


def read_cost_rule(document: Document) -> CostRule:
    """Read the rule of a plan."""
    prices = document.child("prices")
    formats = {
        name: FormatEstimate(
            _read_estimate(item.child("bytes")), _read_estimate(item.child("cpu_seconds")), item.number("offset")
        )
        for name, item in document.children("formats")
    }
    if not formats:
        raise document.refusal("formats is empty: the rule has nothing to choose from", "formats")
    return CostRule(
        CostWeights(prices.number("per_byte"), prices.number("per_cpu_second"), prices.number("conversion")),
        document.text("source_format"),
        formats,
        document.number("width", minimum=0),
        document.integer("seed", 0, maximum=MAX_UNSIGNED),
    )


def calibrate(rule: CostRule, shares: Mapping[str, float], pixels: Floats, source_bytes: Floats) -> CostRule:
    """Return the rule with offsets at which such images get the formats at these shares.

    Formats without a share leave the rule. Offsets are found by bisection, one format at a time with the others fixed,
    until they converge. The random terms use many made-up ids per image, so that the shares hold for any number of
    images.
    """
    kept = {name: rule.formats[name] for name, share in shares.items() if share > 1e-4}
    rule = CostRule(rule.prices, rule.source_format, kept, rule.width, rule.seed)
    if len(kept) == 1:
        return rule
    repeats = max(1, 4096 // len(pixels))
    base = np.repeat(rule.scores(pixels, source_bytes), repeats, axis=0)
    draws = [draw_uniform(rule.seed, FIRST_STREAM + number, np.arange(len(base))) for number in range(len(kept))]
    scores = base + rule.width * np.stack(draws, axis=1)
    wanted = np.array([shares[name] for name in kept])
    offsets = _offsets(scores, wanted / wanted.sum())
    placed = {
        name: FormatEstimate(estimate.bytes, estimate.cpu_seconds, float(offset))
        for (name, estimate), offset in zip(kept.items(), offsets, strict=True)
    }
    return CostRule(rule.prices, rule.source_format, placed, rule.width, rule.seed)


def _offsets(scores: Floats, wanted: Floats) -> Floats:
    offsets = np.zeros(len(wanted))
    for _ in range(30):
        before = offsets.copy()
        for number in range(1, len(wanted)):
            others = np.delete(scores + offsets, number, axis=1).min(axis=1)
            # Chosen where its score plus offset is below the best of the others: the share's quantile of the gap.
            offsets[number] = np.quantile(others - scores[:, number], 1 - wanted[number])
        if np.allclose(offsets, before, rtol=0, atol=1e-3 * np.ptp(scores)):
            break
    return offsets


def _read_estimate(document: Document) -> Estimate:
    return Estimate(*(document.number(name) for name in ("constant", "per_pixel", "per_source_byte", "relative_error")))
