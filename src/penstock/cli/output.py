"""Output of a command: results to stdout, messages to stderr.

With `--json`, stdout has one JSON object, and everything else goes to stderr. Progress bars are drawn only on a
terminal. NO_COLOR and a pipe give plain text. Control characters in file names are shown as escapes everywhere.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Annotated

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from penstock.errors import PenstockError, printable
from penstock.types import OnProgress, no_progress

MaxPixelsOption = Annotated[
    int, typer.Option("--max-pixels", min=1, metavar="N", help="Refuse images that claim more pixels.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout; all messages go to stderr.")]

PIPE_WIDTH = 240  # a table in a pipe or a file is not cut to somebody's terminal


class Output:
    """Printer of a command. Make one per command, with its `--json`."""

    def __init__(self, *, json: bool = False) -> None:
        self.json = json
        self._messages = _console(sys.stderr)
        self._result = self._messages if json else _console(sys.stdout)

    def show(self, *things: RenderableType) -> None:
        """Print the result as text or tables, for people."""
        for thing in things:
            _print(self._result, thing)

    def result(self, fields: Mapping[str, object]) -> None:
        """Print the result for programs; silent without `--json`. Call it once, last."""
        if self.json:
            sys.stdout.write(as_json(fields) + "\n")

    def message(self, text: str) -> None:
        """Print a message on stderr."""
        _print(self._messages, text)

    def warn(self, text: str) -> None:
        """Print a warning on stderr that the user can act on."""
        _print(self._messages, Text.assemble(("warning: ", "bold yellow"), text))

    def error(self, error: PenstockError) -> None:
        """Print on stderr what happened, where, and how to fix it."""
        text = Text.assemble(("error: ", "bold red"), (error.what, "bold"))
        for label, value in (("where", error.where), ("fix", error.fix)):
            if value:
                indented = value.replace("\n", "\n         ")
                text.append_text(Text.assemble("\n  ", (f"{label}:".ljust(7), "dim"), indented))
        _print(self._messages, text)

    @contextmanager
    def progress(self) -> Iterator[OnProgress]:
        """Show a progress bar on stderr inside the block; calls of the value move it. Silent without a terminal."""
        with self.bars(1) as (report,):
            yield report

    @contextmanager
    def bars(self, count: int) -> Iterator[tuple[OnProgress, ...]]:
        """Show several progress bars, like `progress`."""
        if not sys.stderr.isatty():
            yield (no_progress,) * count
            return
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            RateColumn(),
            TimeRemainingColumn(),
        )
        with Progress(*columns, console=self._messages, transient=True) as bar:
            yield tuple(_mover(bar, bar.add_task("", total=None)) for _ in range(count))


def _mover(bar: Progress, task: TaskID) -> OnProgress:
    def report(stage: str, done: int, total: int) -> None:
        bar.update(task, description=printable(stage), completed=done, total=total)

    return report


class RateColumn(ProgressColumn):
    """Column with the current rate per second."""

    def render(self, task: Task) -> Text:
        """Render the rate; empty until it is known."""
        return Text(f"{task.speed:,.0f}/s" if task.speed else "", style="progress.data.speed")


def new_table(*columns: str, numbers: int = 0) -> Table:
    """Make a plain table. The last `numbers` columns are aligned right; without any, the last column may wrap."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for index, column in enumerate(columns):
        is_number = index >= len(columns) - numbers
        may_break = not numbers and index == len(columns) - 1
        table.add_column(column, justify="right" if is_number else "left", no_wrap=not may_break)
    return table


def error_fields(error: PenstockError) -> dict[str, object]:
    """Convert an error for a JSON result."""
    return {"what": error.what, "where": error.where, "fix": error.fix, "code": error.code}


def as_json(value: object) -> str:
    """Format a value as ASCII JSON, which no locale or file name can break; NaN becomes null."""
    return json.dumps(_plain(value), indent=2, allow_nan=False, default=str)


def _plain(value: object) -> object:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


class Printable:
    """Wrapper that shows control characters in texts, such as file names, instead of obeying them.

    Rich's own colours are styles of its segments, not text, so they stay.
    """

    def __init__(self, thing: RenderableType) -> None:
        self._thing = thing

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        """Render the thing with control characters written as escapes."""
        for text, style, control in console.render(self._thing, options):
            yield Segment(text if control else printable(text), style, control)


def _print(console: Console, thing: RenderableType) -> None:
    if isinstance(thing, Table) and all(column.no_wrap for column in thing.columns):
        # A number cut off by a narrow terminal is worse than a line that the terminal breaks.
        console = _console(console.file, width=PIPE_WIDTH)
    with console.capture() as captured:
        shown = Text(thing) if isinstance(thing, str) else thing
        console.print(Printable(shown), soft_wrap=isinstance(shown, Text), markup=False)
    # Tables are padded to their width, which nobody wants in a file.
    lines = captured.get() if console.is_terminal else re.sub(r" +$", "", captured.get(), flags=re.MULTILINE)
    console.file.write(lines)


def _console(stream: IO[str], width: int | None = None) -> Console:
    colour = stream.isatty() and not os.environ.get("NO_COLOR")
    return Console(
        file=stream,
        color_system="auto" if colour else None,
        force_terminal=stream.isatty(),
        width=width if width is not None or stream.isatty() else PIPE_WIDTH,
        highlight=False,
    )
