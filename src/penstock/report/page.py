"""Report as one self-contained HTML page that follows light and dark mode, prints, and sorts its tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from penstock.tools import import_tool


@dataclass(frozen=True, slots=True)
class Figure:
    """Chart with its caption."""

    svg: str
    caption: str


@dataclass(frozen=True, slots=True)
class Table:
    """Table with its cells as shown."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Section:
    """Heading with sentences, figures and tables, in this order."""

    title: str
    sentences: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    table: Table | None = None
    more_tables: tuple[Table, ...] = ()

    @property
    def tables(self) -> tuple[Table, ...]:
        """All tables of the section."""
        return (*((self.table,) if self.table is not None else ()), *self.more_tables)


@dataclass(frozen=True, slots=True)
class Attachment:
    """Text file that is embedded in the page and can be saved from it."""

    title: str
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Page:
    """Content of a report."""

    title: str
    subtitle: str
    sections: Sequence[Section] = field(default_factory=tuple)
    answer: str = ""
    """Answer of the report, shown at the top."""
    attachment: Attachment | None = None


def render(page: Page) -> bytes:
    """Render the page as HTML. Text is escaped; figures are not, because we make them."""
    jinja2 = import_tool("jinja2")  # only a report needs it
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("penstock", "report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    template = environment.get_template("page.html")
    members = {name: getattr(page, name) for name in ("title", "subtitle", "sections", "answer", "attachment")}
    rendered: str = template.render(members)
    return rendered.encode()
