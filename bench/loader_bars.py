"""Goals of the loader relative to its rivals, and whether they are met: the ratios of `loader.py`."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

CAP = "region decode alone, from memory"
EXACT = "penstock, JPEG folder, exact"
APPROXIMATE = "penstock, JPEG folder, approximate"
RAW = "penstock, raw"
WEIR = "penstock, weir:fast"
SLUICE = "penstock, sluice"
PNG = "penstock, PNG folder"
PILLOW = "torch DataLoader + Pillow"
SIMPLEJPEG = "torch DataLoader + simplejpeg"
TF_DEFAULT = "tf.data, default"
TF_ACCURATE = "tf.data, accurate + antialias"
DALI = "DALI, CPU"
FFCV = "FFCV, raw"

FIRST_BATCH_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Measured:
    """One contender's rounds; round i of all contenders ran side by side."""

    images_per_second: Sequence[float]
    images_per_cpu_second: float
    first_batch_seconds: float
    stored_bytes: int

    @property
    def median(self) -> float:
        """Images per second of the usual round."""
        return statistics.median(self.images_per_second)


@dataclass(frozen=True, slots=True)
class Bar:
    """Required speed of one of our loaders relative to the fastest of some rivals."""

    ours: str
    rivals: tuple[str, ...]
    least: float
    most_bytes: float = 0.0
    """Largest share of their bytes; 0 for any."""


BARS = {
    "train224": [
        Bar(EXACT, (SIMPLEJPEG, DALI, TF_ACCURATE), 1.5),
        Bar(EXACT, (PILLOW,), 2.2),
        Bar(APPROXIMATE, (TF_DEFAULT,), 1.25),
        Bar(SLUICE, (DALI,), 5),
        Bar(RAW, (FFCV,), 1.5),
        Bar(WEIR, (FFCV,), 1.3, most_bytes=0.5),
    ],
    "full": [Bar(WEIR, (PILLOW,), 15), Bar(PNG, (PILLOW,), 2)],
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """A bar, and what came out."""

    ours: str
    rival: str
    """The fastest of those that ran."""
    not_run: tuple[str, ...]
    asked: float
    ratio: float
    """Ratio of the medians, by wall time."""
    ratio_range: tuple[float, float]
    """Round by round."""
    cpu_ratio: float
    bytes_share: float
    bytes_share_asked: float

    @property
    def is_met(self) -> bool:
        """Fast enough, and small enough where that was asked."""
        return self.ratio >= self.asked and (not self.bytes_share_asked or self.bytes_share < self.bytes_share_asked)

    def __str__(self) -> str:
        low, high = self.ratio_range
        text = f"{self.ours}: {self.ratio:.2f}x {self.rival} ({low:.2f}..{high:.2f} by round; "
        text += f"{self.cpu_ratio:.2f}x by CPU time), asked {self.asked}x"
        if self.bytes_share_asked:
            text += f"; {self.bytes_share:.0%} of its bytes, asked below {self.bytes_share_asked:.0%}"
        if self.not_run:
            text += f"; not run: {', '.join(self.not_run)}"
        return f"{text}: {'met' if self.is_met else 'MISSED'}"


def verdicts(job: str, found: Mapping[str, Measured]) -> list[Verdict]:
    """Return one verdict for every goal of which ours and a rival ran."""
    made = []
    for bar in BARS[job]:
        rivals = [name for name in bar.rivals if name in found]
        if bar.ours not in found or not rivals:
            continue
        fastest = max(rivals, key=lambda name: found[name].median)
        ours, theirs = found[bar.ours], found[fastest]
        pairs = [a / b for a, b in zip(ours.images_per_second, theirs.images_per_second, strict=True)]
        made.append(
            Verdict(
                bar.ours,
                fastest,
                tuple(name for name in bar.rivals if name not in found),
                asked=bar.least,
                ratio=ours.median / theirs.median,
                ratio_range=(min(pairs), max(pairs)),
                cpu_ratio=ours.images_per_cpu_second / theirs.images_per_cpu_second,
                bytes_share=ours.stored_bytes / theirs.stored_bytes,
                bytes_share_asked=bar.most_bytes,
            )
        )
    return made


def other_lines(found: Mapping[str, Measured]) -> list[str]:
    """Return how near the upper bound the folder loads, and our slowest first batch."""
    lines = []
    if CAP in found and EXACT in found:
        share = found[EXACT].median / found[CAP].median
        by_time = found[EXACT].images_per_cpu_second / found[CAP].images_per_cpu_second
        lines.append(f"{EXACT}: {share:.0%} of the cap, {by_time:.0%} by CPU time")
    first = {name: one.first_batch_seconds for name, one in found.items() if name.startswith("penstock")}
    if first:
        slowest = max(first, key=lambda name: first[name])
        met = "met" if first[slowest] <= FIRST_BATCH_SECONDS else "MISSED"
        lines.append(f"slowest first batch: {first[slowest]:.2f} s ({slowest}), asked {FIRST_BATCH_SECONDS} s: {met}")
    return lines
