"""The table invariant × policy of the guide, as tests read it."""

from __future__ import annotations

import re

from penstock.order.caches import CACHES
from tests.import_graph import ROOT

PAGE = ROOT / "docs" / "guide" / "order.md"
YES, NO, NOT_MEANT = "yes", "no", "–"


def table_of_the_guide() -> dict[tuple[str, str], str]:
    """Invariant and policy → what the page says."""
    rows = re.findall(r"^\| (I\d+) \|[^|]*\|(.*)\|$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {
        (invariant, name): cell.strip()
        for invariant, cells in rows
        for name, cell in zip(CACHES, cells.split("|"), strict=True)
    }
