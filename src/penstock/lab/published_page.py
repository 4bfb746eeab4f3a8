"""The page of published runs: the paper's tables and figures, from the logs alone."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.lab.draw import table_of
from penstock.lab.published import Budget, Cache, Published
from penstock.report import Figure, Page, Section, render
from penstock.report.charts import Series, bars, lines


def published_page(found: Published, logs: str) -> bytes:
    """One HTML page with whatever experiments the folder holds."""
    sections = (
        *_epoch_times(found),
        *_budgets(found.budgets),
        *_storage(found),
        *_regimens(found),
        *_caches(found.caches),
    )
    if found.unknown:
        sections += (Section("Runs of other names", (", ".join(found.unknown),)),)
    return render(Page("Penstock lab: published runs", f"DLLogger reports of {logs}", sections))


def _epoch_times(found: Published) -> tuple[Section, ...]:
    if not found.epoch_times:
        return ()
    rows = [
        (f"{run.data} {run.model}", run.disk, run.workers, run.variant, f"{run.seconds:.0f}",
         "" if run.stall_share is None else f"{run.stall_share:.0%}")
        for run in found.epoch_times
    ]  # fmt: skip
    groups: dict[str, list[tuple[str, float]]] = {}
    for run in found.epoch_times:
        groups.setdefault(f"{run.data} {run.model} {run.disk}", []).append((run.variant, run.seconds))
    drawing = Figure(bars(list(groups.items()), "seconds per epoch"), "Mean of the epochs after the first.")
    columns = ("data and model", "disk", "workers", "variant", "seconds", "waiting")
    return (Section("Epoch times (Table III)", (), (drawing,), table_of(columns, rows)),)


def _budgets(runs: Sequence[Budget]) -> tuple[Section, ...]:
    sections = []
    for data, model, disk, hours in dict.fromkeys((run.data, run.model, run.disk, run.hours) for run in runs):
        here = [run for run in runs if (run.data, run.model, run.disk, run.hours) == (data, model, disk, hours)]
        best = max(here, key=lambda run: run.top1)
        low = min(run.top1 for run in here)
        drawing = bars(
            [(run.variant, [("top-1", run.top1)]) for run in here], "best top-1 in %", lowest=max(0.0, low - 5)
        )
        rows = [(run.variant, run.num_epochs, f"{run.top1:.2f}") for run in here]
        sections.append(
            Section(
                f"{data} {model} on {disk}, {hours} h (Fig 7)",
                (f"{best.variant} reached most: {best.top1:.2f} %.",),
                (
                    Figure(drawing, "The axis does not begin at zero."),
                    Figure(
                        lines([Series(run.variant, run.curve) for run in here], "hours", "top-1 in %"),
                        "Accuracy over the time that the epochs take from this disk.",
                    ),
                ),
                table_of(("variant", "epochs", "best top-1"), rows),
            )
        )
    return tuple(sections)


def _storage(found: Published) -> tuple[Section, ...]:
    if not found.storage:
        return ()
    groups = [
        (f"{run.percent} %", [("compressed", run.compressed_top1), ("subsampled", run.subsampled_top1)])
        for run in found.storage
    ]
    rows = [
        (f"{run.data} {run.model}", f"{run.percent} %", run.variant, f"{run.compressed_top1:.2f}",
         f"{run.subsampled_top1:.2f}", f"{run.compressed_top1 - run.subsampled_top1:.2f}")
        for run in found.storage
    ]  # fmt: skip
    columns = ("data and model", "share", "variant", "compressed top-1", "subsampled top-1", "gap")
    drawing = Figure(bars(groups, "best top-1 in %"), "To the same share of the bytes.")
    return (Section("Compress or subsample (Fig 8)", (), (drawing,), table_of(columns, rows)),)


def _regimens(found: Published) -> tuple[Section, ...]:
    if not found.regimens:
        return ()
    rows = [(f"{run.data} {run.model}", run.stages, f"{run.top1:.2f}", f"{run.mean_gib:.1f}") for run in found.regimens]
    groups = [(run.stages, [("top-1", run.top1)]) for run in found.regimens]
    drawing = Figure(bars(groups, "best top-1 in %"), "Quality and epochs of each stage.")
    return (
        Section(
            "Regimens (Fig 9)", (), (drawing,), table_of(("data and model", "stages", "best top-1", "mean GiB"), rows)
        ),
    )


def _caches(runs: Sequence[Cache]) -> tuple[Section, ...]:
    if not runs:
        return ()
    groups: dict[str, list[tuple[str, float]]] = {}
    for run in runs:
        groups.setdefault(f"{run.data} {run.model} {run.disk}", []).append(
            (f"{run.variant}, {run.loader}", run.images_per_second)
        )
    rows = [
        (f"{run.data} {run.model}", run.disk, run.variant, run.loader, f"{run.images_per_second:,.0f}") for run in runs
    ]
    columns = ("data and model", "disk", "variant", "loader", "images/s")
    drawing = Figure(bars(list(groups.items()), "images per second"), "A cache, compression, both.")
    return (Section("Cache and compression (Fig 10)", (), (drawing,), table_of(columns, rows)),)
