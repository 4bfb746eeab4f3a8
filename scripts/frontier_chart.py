"""Draws the bytes and the decode times of formats: docs/decisions/0012-sluice.svg, from bench/results/frontier.jsonl.

python -m scripts.frontier_chart

Uses the newest line of each contender. Both axes are logarithmic; further left is smaller, further down is faster.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LINES = ROOT / "bench" / "results" / "frontier.jsonl"
OUT = ROOT / "docs" / "decisions" / "0012-sluice.svg"

WIDTH, HEIGHT = 760, 440
LEFT, RIGHT, TOP, BOTTOM = 70, 30, 50, 60
TICKS_X = (0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0)
TICKS_Y = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
BELOW = ("jpeg:restart", "jpeg xl, of the jpeg", "raw")
"""Labels that would meet another one to the right of their point, and are written below it."""


@dataclass(frozen=True, slots=True)
class Point:
    """Size and decode time of one format."""

    name: str
    bytes_share: float
    """Bytes over those of the JPEGs."""
    milliseconds: float
    """CPU time of one decode."""
    is_lossy: bool


def points(text: str) -> list[Point]:
    """Read the newest line of each contender.

    >>> line = {"contender": "a", "best_seconds": 1.0, "count": 100, "bytes_shares": {"a": 0.5}, "ms_ssim": {}}
    >>> points(json.dumps(line))
    [Point(name='a', bytes_share=0.5, milliseconds=10.0, is_lossy=False)]
    """
    found: dict[str, Mapping[str, object]] = {}
    for line in text.splitlines():
        entry = json.loads(line)
        found[entry["contender"]] = entry
    return [_point(name, entry) for name, entry in found.items()]


def _point(name: str, entry: Mapping[str, object]) -> Point:
    shares, loss, seconds, count = (entry[key] for key in ("bytes_shares", "ms_ssim", "best_seconds", "count"))
    assert isinstance(shares, dict)
    assert isinstance(loss, dict)
    assert isinstance(seconds, float)
    assert isinstance(count, int)
    return Point(name, shares[name], 1e3 * seconds / count, name in loss)


def chart(found: list[Point]) -> str:
    """Draw the points.

    >>> chart([Point("a", 1.0, 1.0, False)]).count("<circle")
    1
    """
    x_low, x_high = 0.9 * min(one.bytes_share for one in found), 1.5 * max(one.bytes_share for one in found)
    y_low, y_high = 0.7 * min(one.milliseconds for one in found), 1.4 * max(one.milliseconds for one in found)

    def across(share: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * math.log(share / x_low) / math.log(x_high / x_low)

    def down(milliseconds: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * math.log(milliseconds / y_low) / math.log(y_high / y_low)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
        'font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{LEFT}" y="24" font-size="15">Size and decode time of formats made from ImageNet JPEGs</text>',
        f'<text x="{LEFT}" y="41" fill="#555">one core; left is smaller, down is faster; hollow: lossy again</text>',
    ]
    for tick in (one for one in TICKS_X if x_low <= one <= x_high):
        x = across(tick)
        parts.append(f'<path d="M{x:.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="#ddd"/>')
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{tick:g}</text>')
    for tick in (one for one in TICKS_Y if y_low <= one <= y_high):
        y = down(tick)
        parts.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="#ddd"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{tick:g}</text>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<text x="{middle}" y="{HEIGHT - 18}" text-anchor="middle">bytes, relative to the JPEGs</text>')
    parts.append(f'<text transform="translate(20 {HEIGHT / 2}) rotate(-90)" text-anchor="middle">ms per decode</text>')
    for one in found:
        x, y = across(one.bytes_share), down(one.milliseconds)
        colour = "#c0392b" if one.name == "sluice" else "#2c5d8a"
        fill = "white" if one.is_lossy else colour
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{fill}" stroke="{colour}" stroke-width="2"/>')
        at = (x - 4, y + 20) if one.name in BELOW else (x + 9, y + 4)
        weight = ' font-weight="bold"' if one.name == "sluice" else ""
        parts.append(f'<text x="{at[0]:.1f}" y="{at[1]:.1f}" fill="{colour}"{weight}>{escape(one.name)}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def main() -> None:
    """Draw the chart."""
    OUT.write_text(chart(points(LINES.read_text())))


if __name__ == "__main__":
    main()
