"""A report: one HTML page that stands alone, follows light and dark, prints, and sorts its tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing of `charts` and what it shows."""

    svg: str
    caption: str


@dataclass(frozen=True, slots=True)
class Table:
    """Cells as they are shown."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with sentences, figures, a table, in this order."""

    title: str
    sentences: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    table: Table | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """What a report says."""

    title: str
    subtitle: str
    sections: Sequence[Section] = field(default_factory=tuple)


def render(page: Page) -> bytes:
    """The page as HTML. Text is escaped; figures are not, they are ours."""
    # Here, because only a report needs it.
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("penstock", "report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    template = environment.get_template("page.html")
    return template.render(title=page.title, subtitle=page.subtitle, sections=page.sections).encode()
