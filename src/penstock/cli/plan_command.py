"""`penstock plan`: chooses a mix from a profile, with its reasons."""

from __future__ import annotations

import json as json_text
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from penstock.cli.group import add_command
from penstock.cli.output import JsonOption, Output, new_table
from penstock.plan import Goals, Plan, Row, make_plan, write_plan
from penstock.profile import read_profile
from penstock.storage import read_input, write_file
from penstock.units import bytes_text, parse_bytes, parse_rate

ProfilePath = Annotated[Path, typer.Argument(metavar="PROFILE", help="Profile file of `penstock profile`.")]
OutOption = Annotated[Path, typer.Option("--out", help="File for the plan.")]
LosslessOption = Annotated[
    bool, typer.Option("--lossless", help="Use only formats that restore the exact pixels (default).")
]
QualityOption = Annotated[float | None, typer.Option("--min-ms-ssim", help="Allow formats with at least this MS-SSIM.")]
StorageOption = Annotated[str, typer.Option("--storage-limit", help="Size limit of the dataset (40GB).")]
MemoryOption = Annotated[str, typer.Option("--memory", help="Size of the loader's cache (8GiB). 0: no cache.")]
ComputeOption = Annotated[
    float | None, typer.Option("--compute-rate", help="Training throughput of the model, in images/s.")
]
CoresOption = Annotated[float | None, typer.Option("--cores", help="Number of cores to plan for.")]
DiskOption = Annotated[str, typer.Option("--disk", help="Rate of the disk to plan for (200MB/s).")]
MethodOption = Annotated[
    str, typer.Option("--method", help="Method: lp (any formats) or liquid (source and raw, in steps of 10 %).")
]
SeedOption = Annotated[int, typer.Option("--seed", min=0, help="Seed of the random choice between equal images.")]


@dataclass(frozen=True, slots=True)
class GoalOptions:
    """The options that say what the user wants and has."""

    lossless: LosslessOption = False
    min_ms_ssim: QualityOption = None
    storage_limit: StorageOption = ""
    memory: MemoryOption = ""
    compute_rate: ComputeOption = None
    cores: CoresOption = None
    disk: DiskOption = ""

    def goals(self) -> Goals:
        """Return the goals of a plan."""
        if self.lossless and self.min_ms_ssim is not None:
            raise typer.BadParameter("--lossless and --min-ms-ssim exclude each other")
        return Goals(
            min_ms_ssim=self.min_ms_ssim,
            storage_bytes=parse_bytes(self.storage_limit, name="--storage-limit") if self.storage_limit else None,
            memory_bytes=parse_bytes(self.memory, name="--memory") if self.memory else None,
            compute_rate=self.compute_rate,
            cores=self.cores,
            disk_bytes_per_second=parse_rate(self.disk, name="--disk") if self.disk else None,
        )


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    add_command(
        app,
        "plan",
        plan,
        examples=(
            "penstock plan profile.json",
            "penstock plan profile.json --memory 8GiB --compute-rate 900",
            "penstock plan profile.json --disk 200MB/s --cores 8",
        ),
    )


def plan(
    *,
    profile: ProfilePath,
    out: OutOption = Path("plan.json"),
    wanted: GoalOptions,
    method: MethodOption = "lp",
    seed: SeedOption = 0,
    json: JsonOption = False,
) -> None:
    """Choose the mix of formats with the highest training rate, and explain it.

    Every rate of the profile can be overridden, to ask about another machine.
    """
    output = Output(json=json)
    goals = wanted.goals()
    found = make_plan(read_profile(read_input(profile), str(profile)), goals, method=method, seed=seed)
    written = write_plan(found)
    write_file(out, written)
    output.show(_rows(found), _what_if(found), *found.explanation, f"The plan is in {out}.")
    output.result({"plan": str(out), **json_text.loads(written)})


def _rows(found: Plan) -> Table:
    table = new_table("", "formats", "load/s", "decode/s", "compute/s", "images/s", "waits for", "on disk")
    for row in found.rows:
        table.add_row(row.name, _mix(row), *_rates(row), row.rates.bottleneck, bytes_text(row.total_bytes))
    return table


def _rates(row: Row) -> list[str]:
    rates = (row.rates.load, row.rates.decode, row.rates.compute, row.rates.end_to_end)
    return [f"{rate:,.0f}" if math.isfinite(rate) else "–" for rate in rates]


def _mix(row: Row) -> str:
    return " + ".join(f"{share:.0%} {name}" if share < 1 else name for name, share in row.mix.items())


def _what_if(found: Plan) -> Table:
    table = new_table("what would help", "images/s", "gain")
    for item in found.what_if:
        table.add_row(item.resource, f"{item.images_per_second:,.0f}", item.note or f"{item.gain:+.1%}")
    return table
