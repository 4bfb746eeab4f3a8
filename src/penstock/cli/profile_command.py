"""`penstock profile`: measures this machine on a dataset."""

from __future__ import annotations

import importlib
import json as json_text
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from penstock.cli.group import add_command
from penstock.cli.output import JsonOption, Output, new_table
from penstock.profile import Profile, write_profile
from penstock.profile.measure import ProfileOptions, Step, measure
from penstock.storage import write_file
from penstock.transforms.named import NAMED
from penstock.units import bytes_text, count_text

SourcePath = Annotated[Path, typer.Argument(metavar="SRC", help="Folder of images, or any source of `build`.")]
OutOption = Annotated[Path, typer.Option("--out", help="File for the profile.")]
OnOption = Annotated[Path | None, typer.Option("--on", help="Folder on the disk that will hold the dataset.")]
SampleOption = Annotated[int, typer.Option("--sample", min=1, help="Number of images to measure.")]
FormatsOption = Annotated[str, typer.Option("--formats", help="Candidate formats, separated by commas.")]
LossyOption = Annotated[bool, typer.Option("--lossy", help="Also measure lossy formats.")]
TransformOption = Annotated[
    str, typer.Option("--transform", help=f"Transform that is part of a decode: {', '.join(NAMED)}.")
]
ComputeOption = Annotated[
    float | None, typer.Option("--compute-rate", help="Training throughput of the model, in images/s.")
]
StepOption = Annotated[
    str, typer.Option("--step", help="Training step as module:function that takes a batch; its rate is measured.")
]
RanksOption = Annotated[int, typer.Option("--ranks", min=1, help="Number of processes that share this machine.")]


@dataclass(frozen=True, slots=True)
class MeasureOptions:
    """The options that say what to measure."""

    on: OnOption = None
    sample: SampleOption = 200
    formats: FormatsOption = ""
    lossy: LossyOption = False
    transform: TransformOption = "none"
    compute_rate: ComputeOption = None
    step: StepOption = ""
    ranks: RanksOption = 1

    def profile_options(self) -> ProfileOptions:
        """Return the options of `measure`."""
        return ProfileOptions(
            on=self.on,
            sample=self.sample,
            formats=self.formats,
            lossy=self.lossy,
            transform=self.transform,
            compute_rate=self.compute_rate,
            step=_load_step(self.step) if self.step else None,
            ranks=self.ranks,
        )


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    add_command(
        app,
        "profile",
        profile,
        examples=(
            "penstock profile photos/",
            "penstock profile photos/ --transform train224 --compute-rate 900 --on /data",
            "penstock profile photos/ --step train:step --lossy",
        ),
    )


def profile(
    *,
    source: SourcePath,
    out: OutOption = Path("profile.json"),
    wanted: MeasureOptions,
    json: JsonOption = False,
) -> None:
    """Measure this machine and a dataset: disk, cores, and the cost of images in each format.

    Takes a minute or two. The source is only read; a probe file on the disk is removed.
    """
    output = Output(json=json)
    options = wanted.profile_options()
    with output.progress() as on_progress:
        found = measure(source, options, on_progress=on_progress)
    written = write_profile(found)
    write_file(out, written)
    for name, what in found.damaged.items():
        output.warn(f"{name} was left out: {what}")
    output.show(_facts(found), _formats(found), f"The profile is in {out}; next: penstock plan {out}")
    output.result({"profile": str(out), **json_text.loads(written)})


def _load_step(text: str) -> Step:
    module, colon, name = text.partition(":")
    if not colon or not module or not name:
        raise typer.BadParameter(f"{text!r} is no module:function", param_hint="--step")
    sys.path.insert(0, os.getcwd())  # noqa: PTH109  # as `python -m` does
    try:
        step: Step = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as cause:
        raise typer.BadParameter(f"could not load {text!r}: {cause}", param_hint="--step") from cause
    return step


def _facts(found: Profile) -> Table:
    facts = Table.grid(padding=(0, 2, 0, 0))
    facts.add_row("processor", f"{found.cpu}, {count_text(found.cores, 'usable core')}, {found.simd}")
    disk = found.disk
    facts.add_row(
        "disk",
        f"{disk.bytes_per_second.median / 1e6:,.0f} MB/s, {disk.reads_per_second.median:,.0f} small reads/s"
        + ("" if disk.direct else " (through the page cache: the file system allows no direct reads)"),
    )
    facts.add_row(
        "dataset", f"{count_text(found.dataset.num_samples, 'sample')}, {bytes_text(found.dataset.source_bytes)}"
    )
    facts.add_row("measured", count_text(len(found.images), "image"))
    return facts


def _formats(found: Profile) -> Table:
    table = new_table("format", "exact", "bytes", "decode ms", "encode ms", "MS-SSIM")
    for name, costs in found.formats.items():
        table.add_row(
            name,
            "yes" if costs.is_exact else "no",
            bytes_text(round(costs.bytes.mean())),
            f"{costs.decode_seconds.mean() * 1e3:.3f}",
            f"{costs.encode_seconds.mean() * 1e3:.2f}",
            f"{costs.ms_ssim.mean():.4f}",
        )
    return table
