"""Interleaved repeats of windows, kept in the log; and what they say together."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.campaign.log import Log
from bench.campaign.windows import Window, Windows


@dataclass(frozen=True, slots=True)
class Entry:
    """Something to measure: a loader that is open, and the control group it runs in."""

    loader: str
    group: Path | None


@dataclass(frozen=True, slots=True)
class Rate:
    """Images per second over repeats."""

    median: float
    low: float
    high: float
    foreign_cores: float
    """What others used meanwhile, at most."""

    @staticmethod
    def of(windows: list[Window]) -> Rate:
        """The median and the whole range."""
        rates = [window.images_per_second for window in windows]
        foreign = max(window.foreign_cores for window in windows)
        return Rate(statistics.median(rates), min(rates), max(rates), round(foreign, 2))

    def as_dict(self) -> dict[str, object]:
        """For a line of the results."""
        return {
            "images_per_second": self.median,
            "low": self.low,
            "high": self.high,
            "foreign_cores": self.foreign_cores,
        }

    def __str__(self) -> str:
        return f"{self.median:7.0f} ({self.low:.0f}..{self.high:.0f})"


def measure_rounds(
    windows: Windows, log: Log, key: str, entries: Mapping[str, Entry], *, seconds: float, repeats: int
) -> dict[str, Rate]:
    """Every entry once, then every entry again. What the log has is not measured again."""
    found: dict[str, list[Window]] = {name: [] for name in entries}
    for repeat in range(repeats):
        for name, entry in entries.items():
            place = f"{key}/{name}/{seconds}/{repeat}"
            known = log.get(place)
            if known is None:
                known = asdict(windows.measure(entry.loader, seconds, entry.group))
                log.put(place, known)
            found[name].append(Window(**known))
    return {name: Rate.of(values) for name, values in found.items()}
