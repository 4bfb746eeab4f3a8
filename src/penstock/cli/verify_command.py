"""`penstock verify`: checks that a dataset is intact."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.group import add_command
from penstock.cli.output import JsonOption, MaxPixelsOption, Output
from penstock.codecs.contract import DEFAULT_MAX_PIXELS
from penstock.records import verify as verify_dataset
from penstock.units import bytes_text, count_text

Folder = Annotated[Path, typer.Argument(metavar="DATASET", help="Folder of a dataset.")]
QuickOption = Annotated[bool, typer.Option("--quick", help="Check only sizes and checksums, without decoding.")]
ThreadsOption = Annotated[
    int, typer.Option("--threads", min=0, metavar="N", help="Number of threads. 0: all usable cores.")
]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    add_command(app, "verify", verify, examples=("penstock verify photos.pen", "penstock verify photos.pen --quick"))


def verify(
    folder: Folder,
    quick: QuickOption = False,
    threads: ThreadsOption = 0,
    max_pixels: MaxPixelsOption = DEFAULT_MAX_PIXELS,
    json: JsonOption = False,
) -> None:
    """Check a dataset: files, records, and pixels against the hashes of the source's.

    From every `sluice` image the original JPEG is restored and compared with its recorded length and checksum. Damage
    is reported by file, byte and sample, and the exit status is then 1. Images of more than --max-pixels are reported,
    not decoded.
    """
    out = Output(json=json)
    with out.progress() as on_progress:
        found = verify_dataset(folder, quick=quick, threads=threads, max_pixels=max_pixels, on_progress=on_progress)
    for problem in found.problems:
        out.show(str(problem))
    looked_at = f"{count_text(found.num_samples, 'sample')}, {bytes_text(found.num_bytes)}"
    decoded = (
        "" if quick else f", {found.num_decoded:,} images decoded, {found.num_proven:,} proven equal to the source"
    )
    if found.num_restored:
        decoded += f", {found.num_restored:,} original JPEGs restored"
    if found.problems:
        out.show(f"{found.path}: {count_text(len(found.problems), 'problem')} in {looked_at}")
    else:
        out.show(f"{found.path}: {looked_at}{decoded}: all is well")
    out.result(
        {
            "path": str(found.path),
            "num_samples": found.num_samples,
            "num_files": found.num_files,
            "num_bytes": found.num_bytes,
            "num_decoded": found.num_decoded,
            "num_proven": found.num_proven,
            "num_restored": found.num_restored,
            "problems": found.problems,
        }
    )
    if found.problems:
        raise typer.Exit(1)
