"""Charts as SVG: scatter, lines, bars, and Liquid's triangle of utilisation. Hovering over a mark shows its values.

The code draws SVG itself, because a report must be self-contained and small; the script of a plotting library has
megabytes. Colours are CSS classes of the page, so that charts follow its light and dark mode.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import pairwise
from types import MappingProxyType

COLOURS = 8
WIDTH, HEIGHT = 560, 340
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 16, 48
LEGEND_ROW = 18
LABEL_ROW = 13
LETTER = 6.4
"""Width of a letter, about, at the size of small labels."""
DOT = 5
NEAR = 11
"""Distance within which a label could be taken for a point's own."""
AWAY = (8.0, 16.0, 28.0, 44.0)
"""Distances from a point to its label, tried in order."""
LEADER = 14.0
"""A label that far from its point gets a line to it."""

Legend = Sequence[tuple[str, int]]
"""Names with the numbers of their colours."""


@dataclass(frozen=True, slots=True)
class Series:
    """Named series of points."""

    name: str
    points: tuple[tuple[float, float], ...]
    ranges: tuple[tuple[float, float], ...] = ()
    """Interval of each point's value; empty without intervals."""
    is_dashed: bool = False
    """True for a prediction that was not measured."""
    colour: int | None = None
    """Colour among the page's eight; None takes the next one."""


@dataclass(frozen=True, slots=True)
class Mark:
    """Point with a label."""

    name: str
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Axis:
    """Axis from `low` to `high` on a line of pixels."""

    label: str
    low: float
    high: float
    is_log: bool = False

    def place(self, value: float) -> float:
        """Return the position of a value, from 0 to 1."""
        low, high, value = (math.log10(max(v, 1e-12)) if self.is_log else v for v in (self.low, self.high, value))
        return (value - low) / (high - low) if high > low else 0.5

    def ticks(self) -> list[float]:
        """Return about five round numbers; on a logarithmic axis, powers of ten, halved and doubled.

        >>> Axis("", 0, 10).ticks()
        [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
        """
        if self.is_log:
            powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
            return [k * 10.0**power for power in powers for k in (1, 2, 5) if self.low <= k * 10.0**power <= self.high]
        raw = (self.high - self.low) / 5 or 1.0
        power = 10.0 ** math.floor(math.log10(raw))
        step = min((k * power for k in (1, 2, 5, 10) if k * power >= raw * 0.999), default=raw)
        first = math.ceil(self.low / step)
        return [number * step for number in range(first, math.floor(self.high / step + 1e-9) + 1)]


def scatter(marks: Sequence[Mark], x_label: str, y_label: str) -> str:
    """Draw labelled points on logarithmic axes."""
    x_axis = _axis(x_label, [mark.x for mark in marks], is_log=True)
    y_axis = _axis(y_label, [mark.y for mark in marks], is_log=True)
    places = [(_x(x_axis, mark.x), _y(y_axis, mark.y)) for mark in marks]
    boxes = place_labels(places, [mark.name for mark in marks])
    body = [
        drawn
        for number, (mark, place, box) in enumerate(zip(marks, places, boxes, strict=True))
        for drawn in (_leader(place, box), _dot(mark, place, number), _text(box.left, box.top + 10, mark.name))
    ]
    return _figure(x_axis, y_axis, body, f"{y_label} over {x_label}")


def lines(
    series: Sequence[Series], x_label: str, y_label: str, marks: Sequence[Mark] = (), *, most: float = math.inf
) -> str:
    """Draw lines over a common axis from zero, with points, intervals and marks; cut off above `most`."""
    xs = [x for row in series for x, _ in row.points]
    ys = [y for row in series for _, y in row.points] + [mark.y for mark in marks]
    ys += [bound for row in series for interval in row.ranges for bound in interval]
    x_axis = Axis(x_label, min(xs), max(xs))
    y_axis = Axis(y_label, 0.0, min(most, max(ys)) * 1.08 or 1.0)
    colours = [number % COLOURS if row.colour is None else row.colour for number, row in enumerate(series)]
    body = [
        part
        for row, number in zip(series, colours, strict=True)
        for part in _line(_cut(row, y_axis.high), x_axis, y_axis, number)
    ]
    shown = [mark for mark in marks if mark.y <= y_axis.high]
    places = [(_x(x_axis, mark.x), _y(y_axis, mark.y)) for mark in shown]
    drawn = [box for row in series for box in _covered(_cut(row, y_axis.high), x_axis, y_axis)]
    boxes = place_labels(places, [mark.name for mark in shown], drawn)
    for mark, place, box in zip(shown, places, boxes, strict=True):
        body += [_leader(place, box), _dot(mark, place, 5), _text(box.left, box.top + 10, mark.name)]
    legend = [
        (f"╌ {row.name}" if row.is_dashed else f"■ {row.name}", number)
        for row, number in zip(series, colours, strict=True)
    ]
    return _figure(x_axis, y_axis, body, f"{y_label} over {x_label}", legend=legend)


def _cut(row: Series, most: float) -> Series:
    """Cut the series where it leaves the frame; it continues where it comes back."""
    if not row.points or max(y for _, y in row.points) <= most:
        return row
    points: list[tuple[float, float]] = []
    for (x, y), (next_x, next_y) in zip(row.points, (*row.points[1:], row.points[-1]), strict=True):
        if y <= most:
            points.append((x, y))
        if (y <= most) != (next_y <= most):
            points.append((x + (next_x - x) * (most - y) / (next_y - y), most))
    return replace(row, points=tuple(points), ranges=())


def _line(row: Series, x_axis: Axis, y_axis: Axis, number: int) -> list[str]:
    places = [(_x(x_axis, x), _y(y_axis, y)) for x, y in row.points]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    kind = f"line s{number}{' dashed' * row.is_dashed}"
    drawn = [f'<polyline class="{kind}" points="{path}"/>']
    for (x, _), (low, high) in zip(places, row.ranges, strict=False):
        drawn.append(_whisker(x, _y(y_axis, low), _y(y_axis, high)))
    for (x, y), (value_x, value_y) in zip(places, row.points, strict=True):
        if value_y >= y_axis.high:
            continue  # where the line leaves the frame: nobody measured that
        title = f"<title>{escape(row.name)}: {_number(value_x)}, {_number(value_y)}</title>"
        drawn.append(
            f'<circle class="dot s{number}" cx="{x:.1f}" cy="{y:.1f}" r="{2 if row.is_dashed else 4}">{title}</circle>'
        )
    return drawn


def _whisker(x: float, low: float, high: float) -> str:
    caps = "".join(
        f'<line class="whisker" x1="{x - 4:.1f}" x2="{x + 4:.1f}" y1="{y:.1f}" y2="{y:.1f}"/>' for y in (low, high)
    )
    return f'<line class="whisker" x1="{x:.1f}" x2="{x:.1f}" y1="{low:.1f}" y2="{high:.1f}"/>{caps}'


Intervals = Mapping[tuple[str, str], tuple[float, float]]
"""(group, name) of a bar: the interval that its value is believed to lie in."""


def bars(
    groups: Sequence[tuple[str, Sequence[tuple[str, float]]]],
    y_label: str,
    intervals: Intervals = MappingProxyType({}),
    *,
    lowest: float = 0.0,
) -> str:
    """Draw groups of named bars, from zero or from `lowest`, with intervals if given."""
    names = list(dict.fromkeys(name for _, values in groups for name, _ in values))
    tops = [value for _, values in groups for _, value in values] + [high for _, high in intervals.values()]
    y_axis = Axis(y_label, lowest, lowest + (max(tops) - lowest) * 1.15 or 1.0)
    x_axis = Axis("", 0.0, float(len(groups)))
    body = []
    width = 0.8 / len(names)
    room = (WIDTH - LEFT - RIGHT) / len(groups)
    labels = [_broken(group, int(room / LETTER)) for group, _ in groups]
    num_rows = max(map(len, labels))
    is_crowded = any(len(part) * LETTER > room for label in labels for part in label)  # then every second one is lower
    for place, (group, values) in enumerate(groups):
        for name, value in values:
            left = place + 0.1 + names.index(name) * width
            x, y = _x(x_axis, left), _y(y_axis, max(value, lowest))
            right = _x(x_axis, left + width * 0.92)
            size = f'width="{right - x:.1f}" height="{_y(y_axis, lowest) - y:.1f}"'
            title = f"<title>{escape(group)}, {escape(name)}: {_number(value)}</title>"
            number = names.index(name) % COLOURS
            body.append(f'<rect class="bar s{number}" x="{x:.1f}" y="{y:.1f}" {size}>{title}</rect>')
            interval = intervals.get((group, name))
            if interval is not None:
                body.append(_whisker((x + right) / 2, _y(y_axis, max(interval[0], lowest)), _y(y_axis, interval[1])))
            if right - x > 26:
                body.append(_text((x + right) / 2, HEIGHT - BOTTOM - 5, _number(value), "middle small onbar"))
        lower = num_rows * (place % 2) if is_crowded else 0
        body += [
            _text(_x(x_axis, place + 0.5), HEIGHT - BOTTOM + 16 + LABEL_ROW * (lower + row), part, "middle small")
            for row, part in enumerate(labels[place])
        ]
    legend = [(f"■ {name}", number % COLOURS) for number, name in enumerate(names)] if len(names) > 1 else ()
    num_rows *= 2 if is_crowded else 1
    return _figure(x_axis, y_axis, body, y_label, shows_x=False, legend=legend, more=LABEL_ROW * max(0, num_rows - 2))


def _broken(label: str, most: int) -> list[str]:
    """Break a label into rows of at most `most` letters, between its parts.

    >>> _broken("penstock@jpeg=0.4/weir:fast=0.6", 12), _broken("source, 2 thr.", 20)
    (['penstock@', 'jpeg=0.4/', 'weir:fast=', '0.6'], ['source, 2 thr.'])
    """
    rows = [""]
    for part in re.findall(r".+?(?:[@/,:= ]|$)", label):
        if rows[-1] and len(rows[-1]) + len(part.rstrip()) > most:
            rows.append("")
        rows[-1] += part
    return [row.strip() for row in rows]


def triangle(shapes: Sequence[tuple[str, tuple[float, float, float]]], corners: tuple[str, str, str]) -> str:
    """Draw shares from 0 to 1 on three axes from the middle; each shape is a triangle."""
    centre, radius = (WIDTH / 2, HEIGHT * 0.56), HEIGHT * 0.40
    angles = [math.radians(degrees) for degrees in (-90, 30, 150)]

    def corner(number: int, share: float) -> tuple[float, float]:
        angle = angles[number]
        return centre[0] + math.cos(angle) * radius * share, centre[1] + math.sin(angle) * radius * share

    body = []
    for ring in (0.25, 0.5, 0.75, 1.0):
        path = " ".join("{:.1f},{:.1f}".format(*corner(number, ring)) for number in range(3))
        body.append(f'<polygon class="grid" points="{path}"/>')
    for number, name in enumerate(corners):
        x, y = corner(number, 1.04)
        body.append(_text(x, y - 4 if number == 0 else y + 14, name, "middle"))
    for number, (name, shares) in enumerate(shapes):
        path = " ".join("{:.1f},{:.1f}".format(*corner(place, min(1.0, share))) for place, share in enumerate(shares))
        told = ", ".join(f"{label} {share:.0%}" for label, share in zip(corners, shares, strict=True))
        body.append(
            f'<polygon class="area s{number % COLOURS}" points="{path}"><title>{escape(name)}: {told}</title></polygon>'
        )
        body.append(_text(16, 24 + 18 * number, f"■ {name}", f"s{number % COLOURS}"))
    return _svg(body, "utilisation of " + ", ".join(corners))


def _axis(label: str, values: Sequence[float], *, is_log: bool) -> Axis:
    low, high = min(values), max(values)
    return Axis(label, low / 1.6, high * 1.6, is_log) if is_log else Axis(label, low, high)


def _x(axis: Axis, value: float) -> float:
    return LEFT + axis.place(value) * (WIDTH - LEFT - RIGHT)


def _y(axis: Axis, value: float) -> float:
    return HEIGHT - BOTTOM - axis.place(value) * (HEIGHT - TOP - BOTTOM)


@dataclass(frozen=True, slots=True)
class Box:
    """Rectangle of a label."""

    left: float
    top: float
    width: float
    height: float = 13.0

    def overlap(self, other: Box) -> float:
        """Return the area that both cover."""
        wide = min(self.left + self.width, other.left + other.width) - max(self.left, other.left)
        high = min(self.top + self.height, other.top + other.height) - max(self.top, other.top)
        return max(0.0, wide) * max(0.0, high)


def _covered(row: Series, x_axis: Axis, y_axis: Axis) -> list[Box]:
    """Return the boxes that a line covers, including its dots and whiskers."""
    places = [(_x(x_axis, x), _y(y_axis, y)) for x, y in row.points]
    boxes = [Box(x - DOT, y - DOT, 2 * DOT, 2 * DOT) for x, y in places]
    for (x, y), (next_x, next_y) in pairwise(places):
        steps = max(1, math.ceil(math.dist((x, y), (next_x, next_y)) / DOT))
        boxes += [
            Box(x + (next_x - x) * step / steps - 2, y + (next_y - y) * step / steps - 2, 4, 4) for step in range(steps)
        ]
    for (x, _), (low, high) in zip(places, row.ranges, strict=False):
        boxes.append(Box(x - DOT, _y(y_axis, high), 2 * DOT, _y(y_axis, low) - _y(y_axis, high)))
    return boxes


def place_labels(places: Sequence[tuple[float, float]], names: Sequence[str], drawn: Sequence[Box] = ()) -> list[Box]:
    """Place a box next to each point, without covering labels, points or drawings if possible.

    Tries right, left, the four corners, above, below, then the same further away. Takes the first free place, or the
    one that covers least.
    """
    dots = [Box(x - DOT, y - DOT, 2 * DOT, 2 * DOT) for x, y in places]
    wide = [Box(x - NEAR, y - NEAR, 2 * NEAR, 2 * NEAR) for x, y in places]
    taken = list(drawn)
    for number, ((x, y), name) in enumerate(zip(places, names, strict=True)):
        spots = [box for away in AWAY for box in _around(x, y, LETTER * 1.08 * len(name), away)]
        choices = [box for box in spots if _is_inside(box)] or spots
        around = (*taken, *wide[:number], dots[number], *wide[number + 1 :])
        covered = [sum(box.overlap(other) for other in around) for box in choices]
        taken.append(choices[covered.index(min(covered))])
    return taken[len(drawn) :]


def _around(x: float, y: float, width: float, away: float) -> list[Box]:
    right, left, middle = x + away, x - away - width, x - width / 2
    level, above, below = y - 6.5, y - away - 10, y + away - 3
    spots = [(right, level), (left, level), (right, above), (right, below), (left, above), (left, below)]
    return [Box(*spot, width) for spot in (*spots, (middle, above - 3), (middle, below + 3))]


def _is_inside(box: Box) -> bool:
    return box.left >= LEFT and box.left + box.width <= WIDTH and 0 <= box.top <= HEIGHT - BOTTOM - box.height


def _leader(place: tuple[float, float], box: Box) -> str:
    """Draw a thin line from a point to its label if they are apart."""
    x = min(max(place[0], box.left), box.left + box.width)
    y = min(max(place[1], box.top), box.top + box.height)
    if math.dist(place, (x, y)) < LEADER:
        return ""
    return f'<line class="grid" x1="{place[0]:.1f}" y1="{place[1]:.1f}" x2="{x:.1f}" y2="{y:.1f}"/>'


def _dot(mark: Mark, place: tuple[float, float], number: int) -> str:
    title = f"<title>{escape(mark.name)}: {_number(mark.x)}, {_number(mark.y)}</title>"
    return f'<circle class="dot s{number % COLOURS}" cx="{place[0]:.1f}" cy="{place[1]:.1f}" r="{DOT}">{title}</circle>'


def _figure(
    x_axis: Axis, y_axis: Axis, body: list[str], title: str, *, shows_x: bool = True, legend: Legend = (), more: int = 0
) -> str:
    frame = []
    for value in y_axis.ticks():
        y = _y(y_axis, value)
        frame.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        frame.append(_text(LEFT - 6, y + 4, _number(value), "end small"))
    for value in x_axis.ticks() if shows_x else ():
        frame.append(_text(_x(x_axis, value), HEIGHT - BOTTOM + 16, _number(value), "middle small"))
    frame.append(_text((LEFT + WIDTH) / 2, HEIGHT - 8, x_axis.label, "middle"))
    side = f'transform="rotate(-90 14 {HEIGHT / 2:.0f})"'
    frame.append(f'<text class="middle" x="14" y="{HEIGHT / 2:.0f}" {side}>{escape(y_axis.label)}</text>')
    return _svg(frame + body, title, legend, more)


def _svg(body: list[str], title: str, legend: Legend = (), more: int = 0) -> str:
    """Make the drawing, moved down to make room for its legend, with `more` room below."""
    rows, entries = _legend(legend)
    inside = "".join(entries) + f'<g transform="translate(0 {rows * LEGEND_ROW})">{"".join(body)}</g>'
    height = HEIGHT + rows * LEGEND_ROW + more
    return f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}">{inside}</svg>'


def _legend(names: Legend) -> tuple[int, list[str]]:
    """Return the number of rows of the legend, and its texts, broken at the edge of the frame."""
    entries, x, row = [], float(LEFT), 0
    for name, number in names:
        width = 26 + LETTER * 1.15 * len(name)
        if x + width > WIDTH and x > LEFT:
            x, row = float(LEFT), row + 1
        entries.append(_text(x, 14 + row * LEGEND_ROW, name, f"s{number}"))
        x += width
    return (row + 1 if names else 0), entries


def _text(x: float, y: float, text: str, kind: str = "") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>'


def _number(value: float) -> str:
    """Format a number briefly.

    >>> _number(0.00123), _number(1234567.0), _number(12.0)
    ('0.00123', '1.23M', '12')
    """
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= limit:
            scaled = value / (1e3 if unit == "k" else limit)
            return f"{scaled:.3g}{unit}"
    return f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"
