"""Pages stand alone, escape what they are told, and hold their figures."""

from __future__ import annotations

import random
import re
import xml.etree.ElementTree as ElementTree
from itertools import combinations, pairwise

import pytest

from penstock.report import Figure, Page, Section, Table, render
from penstock.report.charts import (
    DOT,
    LEFT,
    WIDTH,
    Axis,
    Box,
    Mark,
    Series,
    bars,
    lines,
    place_labels,
    scatter,
    triangle,
)

DRAWINGS = {
    "scatter": scatter([Mark("png", 1e5, 2.0), Mark("raw <&>", 6e5, 0.1)], "bytes", "ms"),
    "lines": lines([Series("load", ((0.0, 1.0), (1.0, 3.0)))], "share", "images/s", [Mark("chosen", 0.5, 2.0)]),
    "bars": bars([("before", [("predicted", 5.0), ("measured", 6.0)]), ("after", [("predicted", 9.0)])], "images/s"),
    "triangle": triangle([("before", (0.2, 1.0, 0.5))], ("compute", "decode", "storage")),
}


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_drawing_is_whole_and_inside_its_frame(name: str) -> None:
    root = ElementTree.fromstring(DRAWINGS[name])
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    for element in root.iter():
        for x, y in re.findall(r"(-?[\d.]+),(-?[\d.]+)", element.attrib.get("points", "")):
            assert 0 <= float(x) <= width
            assert 0 <= float(y) <= height
    assert any(element.tag == "text" for element in root.iter())


def test_labels_of_a_crowd_do_not_collide() -> None:
    """Sizes and times of eighteen formats, as a run measured them: several nearly the same."""
    draw = random.Random(4)
    places = [(150 + draw.uniform(0, 120), 100 + draw.uniform(0, 60)) for _ in range(12)] + [
        (540.0, 20.0),
        (70.0, 280.0),
    ]
    names = [f"webp:q={number}0" for number in range(len(places))]
    boxes = place_labels(places, names)
    assert [box.overlap(other) for box, other in combinations(boxes, 2) if box.overlap(other)] == []
    dots = [Box(x - DOT, y - DOT, 2 * DOT, 2 * DOT) for x, y in places]
    assert [box for box in boxes if any(box.overlap(dot) for dot in dots)] == []
    assert all(box.left >= LEFT and box.left + box.width <= WIDTH for box in boxes)


@pytest.mark.parametrize("share", [0.0, 0.2, 0.45, 0.7, 0.85, 1.0])
def test_the_label_of_a_mark_covers_no_line(share: float) -> None:
    def load(x: float) -> float:
        return 1 / ((1 - x) / 900 + x / 260)

    def decode(x: float) -> float:
        return 1 / ((1 - x) / 150 + x / 1100)

    places = [number / 40 for number in range(41)]
    series = [Series(name, tuple((x, rate(x)) for x in places)) for name, rate in (("load", load), ("decode", decode))]
    drawing = lines(series, "share", "images per second", [Mark("chosen", share, min(load(share), decode(share)))])
    (label,) = re.findall(r'<text class="" x="([\d.]+)" y="([\d.]+)">chosen</text>', drawing)
    left, base = map(float, label)
    for path in re.findall(r'<polyline class="[^"]*" points="([^"]*)"', drawing):
        points = [tuple(map(float, pair.split(","))) for pair in path.split()]
        for (x, y), (next_x, next_y) in pairwise(points):
            for step in range(11):
                at_x, at_y = x + (next_x - x) * step / 10, y + (next_y - y) * step / 10
                assert not (left <= at_x <= left + 36 and base - 9 <= at_y <= base)


def test_a_label_alone_stands_beside_its_point() -> None:
    (box,) = place_labels([(200.0, 100.0)], ["png"])
    assert (box.left, box.top) == (208.0, 93.5)


def test_values_show_under_the_pointer() -> None:
    assert "<title>raw &lt;&amp;&gt;: 600k, 0.1</title>" in DRAWINGS["scatter"]


def test_a_page_escapes_text_and_needs_no_network() -> None:
    section = Section("<b>", ("a & b",), (Figure(DRAWINGS["bars"], "caption"),), Table(("x",), (("<i>",),)))
    page = render(Page("title", "subtitle", [section])).decode()
    assert "&lt;b&gt;" in page
    assert "a &amp; b" in page
    assert "&lt;i&gt;" in page
    assert DRAWINGS["bars"] in page
    assert not re.search(r"(src|href)\s*=|https?://|@import|url\(", page)


@pytest.mark.parametrize(("low", "high"), [(0.0, 0.3), (3.0, 17.0), (0.0, 1e7), (5.0, 5.0)])
def test_ticks_are_few_and_inside(low: float, high: float) -> None:
    ticks = Axis("", low, high).ticks()
    assert len(ticks) <= 11
    assert all(low - 1e-9 <= tick <= high + 1e-9 for tick in ticks)
