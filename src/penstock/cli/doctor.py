"""`penstock doctor`: runs a training command as it is and says where it waits."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer
from rich.table import Table

from penstock.cli.group import add_command
from penstock.cli.output import JsonOption, Output
from penstock.doctor import Diagnosis, Observed, diagnose_run, watch_command
from penstock.units import bytes_text, parse_rate

Command = Annotated[list[str], typer.Argument(metavar="COMMAND", help="The training command, after `--`.")]
DiskOption = Annotated[str, typer.Option("--disk", help="What the disk can do (500MB/s), to say how busy it is.")]


def register(app: typer.Typer) -> None:
    """Add the command."""
    add_command(
        app,
        "doctor",
        doctor,
        examples=("penstock doctor -- python train.py", "penstock doctor --disk 500MB/s -- torchrun train.py"),
    )


def doctor(command: Command, disk: DiskOption = "", json: JsonOption = False) -> None:
    """Run a training command unchanged and say where it waits.

    Times the batches of torch's DataLoader against the steps between them, and adds up what the command and its
    children use of cores and disk. Nothing is converted, nothing is written.
    """
    out = Output(json=json)
    rate = parse_rate(disk, name="--disk") if disk else None
    exit_code, observed = watch_command(command, disk_bytes_per_second=rate)
    found = diagnose_run(observed)
    out.show(_table(observed, found), *found.advice)
    out.result({"exit_code": exit_code, **found.as_dict(), "observed": asdict(observed)})
    if exit_code != 0:
        out.warn(f"the command ended with status {exit_code}")
        raise typer.Exit(1)


def _table(observed: Observed, found: Diagnosis) -> Table:
    facts = Table.grid(padding=(0, 2, 0, 0))
    facts.add_row("waits for", found.bottleneck)
    facts.add_row("batches", f"{observed.num_batches:,}")
    facts.add_row("waiting", f"{observed.wait_seconds:.1f} s, {found.stall_share:.0%} of the time between batches")
    facts.add_row("first batches", f"{observed.first_wait_seconds:.1f} s")
    facts.add_row("cores", f"{found.cpu_share:.0%} of {observed.cores} busy")
    disk = f", {found.disk_share:.0%} of what it can do" if found.disk_share is not None else ""
    facts.add_row("disk", f"{bytes_text(observed.disk_bytes)} read{disk}")
    return facts
