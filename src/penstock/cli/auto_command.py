"""`penstock auto`: measure, choose, build, measure again, report."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from penstock.auto import AutoOptions, Decision, decide, finish, make_report
from penstock.cli.group import add_command
from penstock.cli.output import JsonOption, Output, new_table
from penstock.errors import ArgumentError
from penstock.limits import parse_limits
from penstock.plan.document import rates_as_dict
from penstock.storage import write_file
from penstock.transforms.named import NAMED
from penstock.units import bytes_text, parse_bytes

SourcePath = Annotated[
    Path, typer.Argument(metavar="SRC", help="Source of the images: a folder, tars, Parquet files or a manifest.")
]
OutPath = Annotated[Path, typer.Argument(metavar="OUT", help="Folder of the dataset, such as photos.pen.")]
TransformOption = Annotated[str, typer.Option("--transform", help=f"Transform of the training: {', '.join(NAMED)}.")]
SampleOption = Annotated[int, typer.Option("--sample", min=1, help="Number of images to measure.")]
FormatsOption = Annotated[str, typer.Option("--formats", help="Candidate formats, separated by commas.")]
ComputeOption = Annotated[
    float | None, typer.Option("--compute-rate", help="Training throughput of the model, in images/s.")
]
BatchOption = Annotated[int, typer.Option("--batch-size", min=1, help="Batch size of the benchmarks.")]
MemoryOption = Annotated[str, typer.Option("--memory", help="Size of the loader's cache (8GiB). Default: no cache.")]
EmulateOption = Annotated[
    str, typer.Option("--emulate", help="Limits of the machine to emulate: disk=200MB/s,memory=1GiB,cores=2.")
]
YesOption = Annotated[bool, typer.Option("--yes", help="Build without asking, even if it takes long or much space.")]
DryOption = Annotated[bool, typer.Option("--dry-run", help="Stop after the plan.")]


@dataclass(frozen=True, slots=True)
class WorkOptions:
    """The options that say what to measure, and as if on which machine."""

    transform: TransformOption = "train224"
    sample: SampleOption = 100
    formats: FormatsOption = ""
    compute_rate: ComputeOption = None
    batch_size: BatchOption = 64
    memory: MemoryOption = ""
    emulate: EmulateOption = ""

    def auto_options(self) -> AutoOptions:
        """Return the options of `decide`."""
        return AutoOptions(
            transform=self.transform,
            batch_size=self.batch_size,
            sample=self.sample,
            compute_rate=self.compute_rate,
            limits=parse_limits(self.emulate),
            formats=self.formats,
            cache_bytes=parse_bytes(self.memory, name="--memory") if self.memory else None,
        )


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    add_command(
        app,
        "auto",
        auto,
        examples=(
            "penstock auto photos photos.pen",
            "penstock auto photos photos.pen --compute-rate 900 --dry-run",
            "penstock auto photos photos.pen --emulate disk=200MB/s,cores=2",
        ),
    )


def auto(
    source: SourcePath,
    out_folder: OutPath,
    wanted: WorkOptions,
    yes: YesOption = False,
    dry_run: DryOption = False,
    json: JsonOption = False,
) -> None:
    """Profile, plan, build, benchmark before and after, and write a report, in one command.

    Builds nothing if the plan gains less than a tenth. Asks before it takes more than ten minutes or 20 GB.
    """
    out = Output(json=json)
    options = wanted.auto_options()
    with out.progress() as on_progress:
        decision = decide(source, out_folder, options, on_progress=on_progress)
    _tell(out, decision)
    if dry_run or not decision.is_worth_it:
        out.result(_fields(decision))
        return
    _ask(decision, out_folder, yes)
    with out.progress() as on_progress:
        result = finish(decision, out_folder, on_progress=on_progress)
    report = out_folder.with_name(out_folder.name + ".report.html")
    write_file(report, make_report(decision, result))
    before, after = result.before.images_per_second, result.after.images_per_second
    out.show(f"{before:,.0f} images/s before, {after:,.0f} after: {result.speed_up:.2f} times. The report is {report}.")
    fields = {"before_images_per_second": before, "after_images_per_second": after, "speed_up": result.speed_up}
    out.result({**_fields(decision), **fields, "report": str(report), "dataset": str(out_folder)})


def _tell(out: Output, decision: Decision) -> None:
    for name, what in decision.profile.damaged.items():
        out.warn(f"{name} was left out of the profile: {what}")
    plan = decision.plan
    table = new_table("", "formats", "images/s", "waits for", "on disk")
    for row in plan.rows:
        mix = " + ".join(f"{share:.0%} {name}" for name, share in row.mix.items())
        table.add_row(row.name, mix, f"{row.rates.end_to_end:,.0f}", row.rates.bottleneck, bytes_text(row.total_bytes))
    cost = f"{bytes_text(plan.chosen.total_bytes)} and about {plan.chosen.build_seconds:.0f} s"
    out.show(table, *plan.explanation, f"To build: {cost}; {bytes_text(decision.free_bytes)} are free.")


def _ask(decision: Decision, out_folder: Path, yes: bool) -> None:
    if yes or not decision.is_much:
        return
    if not sys.stdin.isatty():
        raise ArgumentError(
            "this build is large, and there is no terminal to ask on", where=str(out_folder), fix="add --yes"
        )
    if not typer.confirm("Build it?", err=True):
        raise typer.Exit(1)


def _fields(decision: Decision) -> dict[str, object]:
    plan = decision.plan
    return {
        "is_worth_it": decision.is_worth_it,
        "predicted_gain": plan.gain,
        "mix": dict(plan.mix),
        "predicted": rates_as_dict(plan.chosen.rates),
        "cache": plan.cache,
        "cache_bytes": decision.cache_bytes,
        "explanation": list(plan.explanation),
        "total_bytes": plan.chosen.total_bytes,
        "build_seconds": plan.chosen.build_seconds,
        "free_bytes": decision.free_bytes,
    }
