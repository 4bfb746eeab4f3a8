"""`penstock export`: writes a dataset back as files."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.group import add_command
from penstock.cli.output import JsonOption, MaxPixelsOption, Output
from penstock.export import Exported, ExportOptions, export
from penstock.export.exporting import LAYOUTS
from penstock.units import bytes_text, count_text

DEFAULTS = ExportOptions()

DatasetPath = Annotated[Path, typer.Argument(metavar="DATASET", help="Folder of a dataset.")]
OutPath = Annotated[Path, typer.Argument(metavar="OUT", help="Folder to write; it must be empty or not exist.")]
LayoutOption = Annotated[
    str, typer.Option("--as", metavar="|".join(LAYOUTS), help="Layout: files in folders, or tar shards.")
]
ImageFormatOption = Annotated[
    str,
    typer.Option(
        "--image-format",
        metavar="FORMAT",
        help="Format of images stored as pixels, such as png or webp:lossless. JPEGs and kept files are restored.",
    ),
]
SplitOption = Annotated[str | None, typer.Option("--split", metavar="NAME", help="Split to export. Default: all.")]
ShardOption = Annotated[int, typer.Option("--shard-samples", min=1, metavar="N", help="Samples per tar.")]
ThreadsOption = Annotated[
    int, typer.Option("--threads", min=0, metavar="N", help="Number of threads. 0: all usable cores.")
]


@dataclass(frozen=True, slots=True)
class LayoutOptions:
    """The options that say what to write."""

    layout: LayoutOption = DEFAULTS.layout
    image_format: ImageFormatOption = DEFAULTS.image_format
    split: SplitOption = None
    shard_samples: ShardOption = DEFAULTS.shard_samples


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    add_command(
        app,
        "export",
        export_dataset,
        examples=(
            "penstock export photos.pen photos",
            "penstock export photos.pen shards --as webdataset --shard-samples 5000",
            "penstock export photos.pen val --split val --image-format webp:lossless",
        ),
    )


def export_dataset(
    dataset: DatasetPath,
    out_folder: OutPath,
    wanted: LayoutOptions,
    threads: ThreadsOption = 0,
    max_pixels: MaxPixelsOption = DEFAULTS.max_pixels,
    json: JsonOption = False,
) -> None:
    """Write a dataset back as files.

    Bytes that the build kept are written again, and JPEGs that became sluice are restored byte for byte. Other
    transcoded JPEGs get their coefficients, and all other images get identical pixels and their metadata. Labels,
    splits, keys and columns are written next to the images (manifest.jsonl or .json members), so that `penstock build
    OUT …` gives the same samples again. OUT appears when it is complete.
    """
    out = Output(json=json)
    options = ExportOptions(wanted.layout, wanted.image_format, wanted.split, wanted.shard_samples, max_pixels)
    begin = time.perf_counter()
    with out.progress() as on_progress:
        done = export(dataset, out_folder, options=options, threads=threads, on_progress=on_progress)
    _tell(out, done, seconds=time.perf_counter() - begin)


def _tell(out: Output, done: Exported, *, seconds: float) -> None:
    encoded = f", {done.num_encoded:,} of them encoded anew" if done.num_encoded else ""
    restored = f", {done.num_restored:,} of them original JPEGs, restored from sluice" if done.num_restored else ""
    made = encoded + restored or ", all as they were stored"
    out.show(
        f"{done.path}: {count_text(done.num_samples, 'sample')}, {count_text(done.num_images, 'image')}{made}, "
        f"{bytes_text(done.num_bytes)}, {done.num_samples / seconds:,.0f} samples/s"
    )
    for tag, count in done.dropped.items():
        out.warn(f"{tag.strip()} of {count_text(count, 'image')} has no place in the exported format, and was left out")
    out.result(
        {
            "folder": str(done.path),
            "layout": done.layout,
            "num_samples": done.num_samples,
            "num_images": done.num_images,
            "num_encoded": done.num_encoded,
            "num_restored": done.num_restored,
            "num_bytes": done.num_bytes,
            "dropped_metadata": done.dropped,
            "seconds": seconds,
        }
    )
