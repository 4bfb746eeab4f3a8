"""Pages stand alone, escape what they are told, and hold their figures."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

import pytest

from penstock.report import Figure, Page, Section, Table, render
from penstock.report.charts import Axis, Mark, Series, bars, lines, scatter, triangle

DRAWINGS = {
    "scatter": scatter([Mark("png", 1e5, 2.0), Mark("raw <&>", 6e5, 0.1)], "bytes", "ms"),
    "lines": lines([Series("load", ((0.0, 1.0), (1.0, 3.0)))], "share", "images/s", [Mark("chosen", 0.5, 2.0)]),
    "bars": bars([("before", [("predicted", 5.0), ("measured", 6.0)]), ("after", [("predicted", 9.0)])], "images/s"),
    "triangle": triangle([("before", (0.2, 1.0, 0.5))], ("goodput", "processor", "disk")),
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
