"""`penstock doctor`: runs a training command unchanged and reports where it waits."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from penstock.cli.group import add_command
from penstock.cli.output import JsonOption, Output
from penstock.doctor import Diagnosis, Observed, SpeedupEstimate, diagnose_run, estimate, short_profile, watch_command
from penstock.errors import ArgumentError, PenstockError
from penstock.machine import memory
from penstock.storage import file_size, is_folder, list_tree, write_file
from penstock.transforms.named import NAMED, named
from penstock.units import bytes_text, parse_rate

Command = Annotated[list[str], typer.Argument(metavar="COMMAND", help="Training command, after `--`.")]
DiskOption = Annotated[str, typer.Option("--disk", help="Rate of the disk (500MB/s), to compute its utilisation.")]
DataOption = Annotated[
    Path | None, typer.Option("--data", metavar="DIR", help="Folder of the training images, if it is not detected.")
]
TransformOption = Annotated[str, typer.Option("--transform", help=f"Transform of the training: {', '.join(NAMED)}.")]
ReportOption = Annotated[
    Path | None, typer.Option("--report", metavar="FILE", help="Write an HTML report to this file.")
]
NoEstimateOption = Annotated[
    bool, typer.Option("--no-estimate", help="Skip the measurement of the data and the estimate.")
]
BAR_CELLS = 20


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    add_command(
        app,
        "doctor",
        doctor,
        examples=(
            "penstock doctor -- python train.py",
            "penstock doctor --data photos --transform train224 --report doctor.html -- python train.py",
            "penstock doctor --disk 500MB/s -- torchrun train.py",
        ),
    )


def doctor(
    command: Command,
    disk: DiskOption = "",
    data: DataOption = None,
    transform: TransformOption = "train224",
    report: ReportOption = None,
    no_estimate: NoEstimateOption = False,
    json: JsonOption = False,
) -> None:
    """Run a training command unchanged, report where it waits, and estimate the speed-up from Penstock.

    Times the batches of torch's DataLoader and the steps between them, and measures the use of cores, disk and GPUs by
    the command and its children. Then it measures the data that the command read for half a minute, and plans. Nothing
    is converted.
    """
    out = Output(json=json)
    rate = parse_rate(disk, name="--disk") if disk else None
    _check(data, transform, report)
    exit_code, observed = watch_command(command, disk_bytes_per_second=rate)
    bought = None
    if not no_estimate:
        bought = _estimate(out, observed, data, transform)
    if bought is not None and rate is None:
        observed = replace(observed, disk_bytes_per_second=bought.disk_bytes_per_second)
    found = diagnose_run(observed)
    advice = _flow_chart(observed, found)
    out.show(_table(observed, found), *found.advice, *(bought.sentences() if bought is not None else ()), *advice)
    if report is not None:
        from penstock.report.doctor_page import make_doctor_page  # which a plain diagnosis does without

        write_file(report, make_doctor_page(observed, found, bought, advice))
        out.show(f"The report is {report}.")
    result: dict[str, object] = {"exit_code": exit_code, **found.as_dict(), "observed": asdict(observed)}
    out.result({**result, "penstock": bought.as_dict() if bought is not None else None, "flow_chart": list(advice)})
    if exit_code != 0:
        out.warn(f"the command ended with status {exit_code}")
        raise typer.Exit(1)


def _check(data: Path | None, transform: str, report: Path | None) -> None:
    """Check the arguments before the command, which may run for days."""
    named(transform)
    if data is not None and not is_folder(data):
        raise ArgumentError(f"{data} is not a folder", where="--data", fix="name the folder of the images", code=100)
    if report is not None and (is_folder(report) or not is_folder(report.parent)):
        what = f"{report} is a folder" if is_folder(report) else f"there is not a folder {report.parent}"
        raise ArgumentError(what, where="--report", fix="name a file in a folder that exists", code=100)


def _estimate(out: Output, observed: Observed, data: Path | None, transform: str) -> SpeedupEstimate | None:
    """Estimate the speed-up; None, with a message, if the data is not found or cannot be measured."""
    places = [data] if data is not None else [Path(root) for root in observed.roots]
    place = next((place for place in places if is_folder(place)), None)
    if place is None:
        if observed.num_batches > 0:
            out.warn("which images were read is not known: name them with --data DIR to see what Penstock would buy")
        return None
    try:
        with out.progress() as on_progress:
            return estimate(observed, place, short_profile(transform), on_progress=on_progress)
    except PenstockError as error:
        out.warn(f"what Penstock would buy could not be estimated: {error}")
        return None


def _flow_chart(observed: Observed, found: Diagnosis) -> tuple[str, ...]:
    """Return the advice of (DL)², from the size of the data read and the memory of this machine."""
    if observed.num_batches == 0:
        return ()
    from penstock.lab.advice import Situation, flow_chart  # which only a diagnosis needs

    sizes = [
        sum(file_size(path) for path in list_tree(root).paths()) for root in observed.roots if is_folder(Path(root))
    ]
    return flow_chart(
        Situation(
            stall_share=found.stall_share,
            bottleneck=found.bottleneck,
            memory_bytes=memory().available_bytes if sizes else None,
            sizes={"source": sum(sizes)} if sizes else {},
        )
    )


def _table(observed: Observed, found: Diagnosis) -> Table:
    facts = Table.grid(padding=(0, 2, 0, 0))
    facts.add_row("waits for", found.bottleneck)
    facts.add_row("batches", f"{observed.num_batches:,}")
    facts.add_row("waiting", f"{observed.wait_seconds:.1f} s, {found.stall_share:.0%} of the time between batches")
    facts.add_row("first batches", f"{observed.first_wait_seconds:.1f} s")
    goodput, processor, disk = found.triangle
    facts.add_row("compute", _bar(goodput))
    facts.add_row("decode", f"{_bar(processor)} of {observed.cores} cores")
    read = f"{bytes_text(observed.disk_bytes)} read"
    facts.add_row("storage", f"{_bar(disk)} of what it can do, {read}" if found.disk_share is not None else read)
    facts.add_row("GPU", _bar(found.gpu_share) if found.gpu_share is not None else "no GPU seen")
    return facts


def _bar(share: float) -> str:
    """Draw a share as a bar of text.

    >>> _bar(0.5)
    '██████████░░░░░░░░░░  50%'
    """
    filled = round(BAR_CELLS * min(1.0, share))
    return "█" * filled + "░" * (BAR_CELLS - filled) + f" {share:4.0%}"
