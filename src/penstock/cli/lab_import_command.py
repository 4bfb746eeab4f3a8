"""`penstock lab import`: analyses published training logs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from penstock.cli.group import add_command
from penstock.cli.output import JsonOption, Output, new_table
from penstock.lab import Published, analyse, published_page
from penstock.lab.published_page import decimal
from penstock.storage import write_file

LogFolder = Annotated[Path, typer.Argument(metavar="LOGDIR", help="Folder of runs, each with its report.")]


ReportOption = Annotated[
    Path | None, typer.Option("--report", metavar="PAGE", help="Write an HTML report with the figures to this file.")
]


def register(group: typer.Typer) -> None:
    """Add the command to the group `lab`."""
    add_command(
        group,
        "import",
        import_logs,
        examples=("penstock lab import dl2/logs", "penstock lab import dl2/logs --report dl2.html"),
    )


def import_logs(folder: LogFolder, report: ReportOption = None, json: JsonOption = False) -> None:
    """Analyse training logs of (DL)² or NVIDIA's DLLogger.

    Computes epoch times, accuracy within time and storage budgets, regimens, and cache and compression, as in the
    paper's tables and figures. Works for any models and budgets whose runs follow their naming.
    """
    out = Output(json=json)
    found = analyse(folder)
    for table in _tables(found):
        out.show(table)
    if found.unknown:
        out.warn(f"names that fit no experiment: {', '.join(found.unknown)}")
    for run in found.unread:
        out.warn(f"left out: {run}")
    if report is not None:
        write_file(report, published_page(found, folder.name))
        out.message(f"{report}: the page")
    out.result(found.as_dict())


def _tables(found: Published) -> list[Table]:
    tables = (
        _table(
            ("epoch times", "disk", "workers", "variant", "seconds", "waiting"),
            (
                (
                    f"{run.data} {run.model}",
                    run.disk,
                    run.workers,
                    run.variant,
                    f"{run.seconds:.0f}",
                    _share(run.stall_share),
                )
                for run in found.epoch_times
            ),
        ),
        _table(
            ("time budgets", "disk", "hours", "variant", "epochs", "best top-1"),
            (
                (f"{run.data} {run.model}", run.disk, run.hours, run.variant, run.num_epochs, f"{run.top1:.2f}")
                for run in found.budgets
            ),
        ),
        _table(
            ("storage budgets", "share", "compressed", "top-1", "subsampled top-1"),
            (
                (
                    f"{run.data} {run.model}",
                    f"{run.percent} %",
                    run.variant,
                    f"{run.compressed_top1:.2f}",
                    f"{run.subsampled_top1:.2f}",
                )
                for run in found.storage
            ),
        ),
        _table(
            ("regimens", "stages", "best top-1", "mean GiB"),
            (
                (f"{run.data} {run.model}", run.stages, f"{run.top1:.2f}", decimal(run.mean_gib))
                for run in found.regimens
            ),
        ),
        _table(
            ("cache and compression", "disk", "variant", "loader", "images/s"),
            (
                (f"{run.data} {run.model}", run.disk, run.variant, run.loader, decimal(run.images_per_second, 0))
                for run in found.caches
            ),
        ),
        _table(
            ("rates", "disk", "workers", "variant", "loader", "images/s", "waiting"),
            (
                (
                    run.model or "loader alone",
                    run.disk,
                    run.workers or "",
                    run.variant,
                    run.loader,
                    decimal(run.images_per_second, 0),
                    _share(run.stall_share),
                )
                for run in found.rates
            ),
        ),
        _table(
            ("thrashing", "GiB of memory", "GiB read per epoch"),
            ((run.loader, run.memory_gib, f"{run.read_gib:.1f}") for run in found.thrashing),
        ),
        _table(
            ("accuracy", "variant", "epochs", "best top-1"),
            ((f"{run.data} {run.model}", run.variant, run.num_epochs, f"{run.top1:.2f}") for run in found.accuracies),
        ),
        _table(
            ("codecs", "way", "seconds in all", "median ms"),
            ((run.codec, run.way, f"{run.total_seconds:.0f}", decimal(run.median_ms, 2)) for run in found.codings),
        ),
    )
    return [table for table in tables if table.row_count]


def _table(columns: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> Table:
    table = new_table(*columns)
    for row in rows:
        table.add_row(*map(str, row))
    return table


def _share(share: float | None) -> str:
    return "" if share is None else f"{share:.0%}"
