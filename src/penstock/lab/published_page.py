"""Page of published runs: the paper's tables and figures, from the logs alone."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.lab.draw import table_of
from penstock.lab.published import Accuracy, Budget, Cache, Coding, Published, Rate, Thrashing
from penstock.report import Figure, Page, Section, render
from penstock.report.charts import Series, bars, lines

LOADER_NOTE = (
    "Images of training over the time of an epoch, the first left out. The published rates count validation too, which "
    "this loader does not read: they are 3.9 % higher."
)
CODING_NOTE = (
    "The decoder of JPEG and WebP in these runs opened the files and decoded no pixel: its times are none of decoding. "
    "`penstock lab run codecs` measures it."
)


def published_page(found: Published, logs: str) -> bytes:
    """Make one HTML page with the experiments of a folder."""
    sections = (
        *_rates(found.rates),
        *_thrashing(found.thrashing),
        *_epoch_times(found),
        *_accuracies(found.accuracies),
        *_budgets(found.budgets),
        *_storage(found),
        *_regimens(found),
        *_caches(found.caches),
        *_codings(found.codings),
    )
    if found.unknown:
        sections += (Section("Runs of other names", (", ".join(found.unknown),)),)
    if found.unread:
        sections += (Section("Runs that could not be read", found.unread),)
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
                f"{data} {model} on {disk}, {hours:g} h (Fig 7)",
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
    rows = [(f"{run.data} {run.model}", run.stages, f"{run.top1:.2f}", decimal(run.mean_gib)) for run in found.regimens]
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
        if run.images_per_second is not None:
            groups.setdefault(f"{run.data} {run.model} {run.disk}", []).append(
                (f"{run.variant}, {run.loader}", run.images_per_second)
            )
    rows = [
        (f"{run.data} {run.model}", run.disk, run.variant, run.loader, f"{run.seconds:.0f}",
         decimal(run.images_per_second, 0))
        for run in runs
    ]  # fmt: skip
    columns = ("data and model", "disk", "variant", "loader", "seconds per epoch", "images/s")
    drawn = [Figure(bars(list(groups.items()), "images per second"), "A cache, compression, both.")] if groups else []
    return (Section("Cache and compression (Fig 10)", (), tuple(drawn), table_of(columns, rows)),)


def _rates(runs: Sequence[Rate]) -> tuple[Section, ...]:
    if not runs:
        return ()
    sections = []
    for model in dict.fromkeys(run.model for run in runs):
        here = [run for run in runs if run.model == model]
        groups: dict[str, list[tuple[str, float]]] = {}
        for run in here:
            place = run.disk + (f", {run.workers} workers" if run.workers else "")
            groups.setdefault(place, []).append((run.variant, run.images_per_second))
        rows = [
            (run.disk, run.workers or "", run.variant, run.loader, decimal(run.images_per_second, 0),
             "" if run.stall_share is None else f"{run.stall_share:.0%}")
            for run in here
        ]  # fmt: skip
        note = "Images of training and validation over the time of both." if model else LOADER_NOTE
        sections.append(
            Section(
                f"Who limits {model} (Fig 3, 6)" if model else "A loader alone (Fig 1a, 3c)",
                (note,),
                (Figure(bars(list(groups.items()), "images per second"), "By storage and workers."),),
                table_of(("disk", "workers", "variant", "loader", "images/s", "waiting"), rows),
            )
        )
    return tuple(sections)


def _thrashing(runs: Sequence[Thrashing]) -> tuple[Section, ...]:
    if not runs:
        return ()
    loaders = dict.fromkeys(run.loader for run in runs)
    series = [
        Series(loader, tuple((float(run.memory_gib), run.read_gib) for run in runs if run.loader == loader))
        for loader in loaders
    ]
    drawing = Figure(lines(series, "GiB of memory", "GiB read per epoch"), "Mean of the epochs after the first.")
    rows = [(run.loader, run.memory_gib, f"{run.read_gib:.1f}") for run in runs]
    columns = ("loader", "GiB of memory", "GiB read per epoch")
    return (Section("Thrashing (Fig 2)", (), (drawing,), table_of(columns, rows)),)


def _accuracies(runs: Sequence[Accuracy]) -> tuple[Section, ...]:
    if not runs:
        return ()
    groups: dict[str, list[tuple[str, float]]] = {}
    for run in runs:
        groups.setdefault(f"{run.data} {run.model}", []).append((run.variant, run.top1))
    rows = [
        (f"{run.data} {run.model}", run.variant, run.num_epochs, f"{run.top1:.2f}", decimal(run.top5, 2))
        for run in runs
    ]
    drawing = Figure(bars(list(groups.items()), "best top-1 in %"), "On the variant that it was trained on.")
    columns = ("data and model", "variant", "epochs", "best top-1", "best top-5")
    return (Section("Accuracy per quality (Fig 4, 5)", (), (drawing,), table_of(columns, rows)),)


def _codings(runs: Sequence[Coding]) -> tuple[Section, ...]:
    if not runs:
        return ()
    rows = [
        (run.codec, run.way, "batches" if run.is_batched else "one by one", f"{run.total_seconds:.0f}",
         decimal(run.median_ms, 2), decimal(run.bits_per_pixel, 2))
        for run in runs
    ]  # fmt: skip
    columns = ("codec", "way", "how", "seconds in all", "median ms", "bits per pixel")
    return (Section("Codecs (Table IV)", (CODING_NOTE,), (), table_of(columns, rows)),)


def decimal(value: float | None, digits: int = 1) -> str:
    """Format a number with this many decimals; empty for None."""
    return "" if value is None else f"{value:,.{digits}f}"
