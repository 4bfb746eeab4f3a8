"""Interleaved repeats of windows, kept in the log; and what they say together."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
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
    """Largest CPU use of other programs."""
    rounds: tuple[float, ...] = ()
    """Images per second of each repeat."""

    @staticmethod
    def of(windows: list[Window]) -> Rate:
        """Return the median and the whole range."""
        rates = [window.images_per_second for window in windows]
        foreign = max(window.foreign_cores for window in windows)
        return Rate(statistics.median(rates), min(rates), max(rates), round(foreign, 2), tuple(rates))

    def over(self, other: Rate) -> float:
        """Return the median ratio to another rate that was measured in the same rounds.

        What slows the whole machine for a while slows both of a round, and leaves their ratio.

        >>> Rate(2.0, 1.0, 4.0, 0.0, (1.0, 2.0, 4.0)).over(Rate(2.0, 1.0, 2.0, 0.0, (1.0, 2.0, 2.0)))
        1.0
        """
        return statistics.median(mine / theirs for mine, theirs in zip(self.rounds, other.rounds, strict=True))

    def as_dict(self) -> dict[str, object]:
        """Convert the rate for a line of the results."""
        return {
            "images_per_second": self.median,
            "low": self.low,
            "high": self.high,
            "foreign_cores": self.foreign_cores,
        }

    def __str__(self) -> str:
        return f"{self.median:7.0f} ({self.low:.0f}..{self.high:.0f})"


def measure_rounds(
    windows: Windows,
    log: Log,
    key: str,
    entries: Mapping[str, Entry],
    *,
    seconds: float,
    repeats: int,
    before: Callable[[str, int], object] | None = None,
) -> dict[str, Rate]:
    """Measure every entry once, then every entry again. What the log has is not measured again.

    `before` is called with each entry's name and round before it is measured.
    """
    found: dict[str, list[Window]] = {name: [] for name in entries}
    for repeat in range(repeats):
        for name, entry in entries.items():
            if before is not None:
                before(name, repeat)
            place = f"{key}/{name}/{seconds}/{repeat}"
            known = log.get(place)
            if known is None:
                known = asdict(windows.measure(entry.loader, seconds, entry.group))
                log.put(place, known)
            found[name].append(Window(**known))
    return {name: Rate.of(values) for name, values in found.items()}
