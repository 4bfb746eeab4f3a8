"""`penstock build`: writes a dataset from a source of images."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from penstock.build import BuildOptions, Built, Estimate, load_plan, prepare
from penstock.build.rules import Rules
from penstock.cli.group import add_command
from penstock.cli.output import JsonOption, MaxPixelsOption, Output, new_table
from penstock.errors import ArgumentError, CodecError
from penstock.sources import LOOKED_FOR
from penstock.storage import check_exists
from penstock.units import bytes_text, count_text, left_out_text, parse_bytes

DEFAULTS = BuildOptions()

Source = Annotated[
    Path,
    typer.Argument(metavar="SRC", help="Source of the images: a folder, tars, Parquet files, a manifest or a dataset."),
]
Out = Annotated[Path, typer.Argument(metavar="OUT", help="Folder of the dataset, such as photos.pen.")]
MixOption = Annotated[
    str, typer.Option("--mix", metavar="F=SHARE,…", help="Share of each format, such as weir:fast=0.6,png=0.4.")
]
FormatOption = Annotated[str, typer.Option("--format", "-f", metavar="F", help="One format for all images.")]
PlanOption = Annotated[Path | None, typer.Option("--plan", metavar="FILE", help="Plan file of `penstock plan`.")]
FieldOption = Annotated[
    list[str] | None,
    typer.Option(
        "--field",
        metavar="NAME=F",
        help="Format of another image field (mask=weir). Default: keep its bytes. none: leave it out.",
    ),
]
SeedOption = Annotated[int, typer.Option("--seed", min=0, metavar="S", help="Seed of the formats and the order.")]
RunsOption = Annotated[
    int, typer.Option("--runs", min=1, metavar="N", help="Keep runs of N neighbours of SRC together.")
]
ShardOption = Annotated[str, typer.Option("--shard-size", metavar="BYTES", help="Size of a shard.")]
CheckOption = Annotated[bool, typer.Option("--check/--no-check", help="Decode and compare lossless formats.")]
ErrorOption = Annotated[
    str,
    typer.Option(
        "--on-error",
        metavar="fail|skip",
        help="What to do with undecodable images; `skip` records them in the manifest.",
    ),
]
KeepOption = Annotated[
    bool, typer.Option("--keep-source", help="Also store the source's bytes, as the field 'source'.")
]
MaxSideOption = Annotated[
    int,
    typer.Option(
        "--max-side", min=0, metavar="PX", help="Shrink images with a longer side (Lanczos; nearest pixel for masks)."
    ),
]
ShortSideOption = Annotated[
    int, typer.Option("--short-side", min=0, metavar="PX", help="Shrink images with a larger shorter side.")
]
KindOption = Annotated[
    str, typer.Option("--source", metavar="KIND", help=f"Kind of SRC, if it is not detected: {', '.join(LOOKED_FOR)}.")
]
OutsideOption = Annotated[
    bool,
    typer.Option(
        "--allow-outside", help="Let a manifest name files outside its folder. Only for manifests that you trust."
    ),
]
ThreadsOption = Annotated[
    int, typer.Option("--threads", min=0, metavar="N", help="Number of threads. 0: all usable cores.")
]
ForceOption = Annotated[bool, typer.Option("--force", help="Start over; replace a dataset at OUT.")]
SyncOption = Annotated[
    bool, typer.Option("--sync/--no-sync", help="Wait for the disk, so that the dataset survives a power cut.")
]
DryOption = Annotated[bool, typer.Option("--dry-run", help="Print the estimated size and time, and stop.")]


@dataclass(frozen=True, slots=True)
class FormatChoice:
    """The options that choose formats."""

    mix: MixOption = ""
    format: FormatOption = ""
    plan: PlanOption = None
    field: FieldOption = None

    def rules(self) -> str | Rules:
        """Return the mix or the plan's rules; ArgumentError unless exactly one of the options is given."""
        options = (("--mix", self.mix), ("--format", self.format), ("--plan", self.plan))
        given = [name for name, value in options if value]
        if len(given) != 1:
            what = f"{' and '.join(given)} exclude one another" if given else "no format was chosen"
            raise ArgumentError(what, where="penstock build", fix="give one of --mix, --format, --plan", code=100)
        if self.plan is not None:
            return load_plan(self.plan)
        return self.mix or f"{self.format}=1"


@dataclass(frozen=True, slots=True)
class ContentOptions:
    """The options that decide what the dataset holds."""

    seed: SeedOption = 0
    runs: RunsOption = 1
    shard_size: ShardOption = "256MiB"
    check: CheckOption = True
    on_error: ErrorOption = "fail"
    keep_source: KeepOption = False
    max_side: MaxSideOption = 0
    short_side: ShortSideOption = 0
    max_pixels: MaxPixelsOption = DEFAULTS.max_pixels
    kind: KindOption = ""
    allow_outside: OutsideOption = False

    def build_options(self, fields: list[str]) -> BuildOptions:
        """Return the options of `prepare`; `fields` are the values of --field."""
        return BuildOptions(
            seed=self.seed,
            runs=self.runs,
            shard_bytes=parse_bytes(self.shard_size, name="--shard-size"),
            check=self.check,
            skip_errors=_skips(self.on_error),
            keep_source=self.keep_source,
            max_side=self.max_side,
            short_side=self.short_side,
            max_pixels=self.max_pixels,
            formats=_field_formats(fields),
            source_kind=self.kind,
            allow_outside=self.allow_outside,
        )


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The options that decide how the build runs."""

    threads: ThreadsOption = 0
    force: ForceOption = False
    sync: SyncOption = True
    dry_run: DryOption = False


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    add_command(
        app,
        "build",
        build,
        examples=(
            "penstock build photos photos.pen --format jpeg",
            "penstock build photos photos.pen --format sluice",
            "penstock build photos photos.pen --mix weir:fast=0.6,png=0.4",
            "penstock build cityscapes city.pen --plan plan.json --field mask=weir:fast",
            "penstock build city.pen small.pen --format webp:q=80 --max-side 512",
        ),
    )


def build(
    source: Source,
    out_folder: Out,
    choice: FormatChoice,
    content: ContentOptions,
    running: RunOptions,
    json: JsonOption = False,
) -> None:
    """Write images as a dataset in one format or several.

    Images that already have the requested format are copied. After a kill, the same command continues where it stopped,
    and the result is the same to the byte. SRC is only read.
    """
    out = Output(json=json)
    check_exists(source)  # said before what is missing among the options
    options = content.build_options(choice.field or [])
    preparation = prepare(source, out_folder, mix=choice.rules(), options=options, threads=running.threads)
    _tell_estimate(out, preparation.estimate, preparation.recipe.index.left_out, force=running.force)
    if content.max_side or content.short_side:
        out.message("larger images are shrunk: their pixels change, and boxes in pixels keep their old numbers")
    if running.dry_run:
        out.result({"estimate": _estimate_fields(preparation.estimate)})
        return
    begin = time.perf_counter()
    with out.progress() as on_progress, _naming_skip(options):
        built = preparation.run(force=running.force, durable=running.sync, on_progress=on_progress)
    _tell(out, built, preparation.estimate, time.perf_counter() - begin)


@contextmanager
def _naming_skip(options: BuildOptions) -> Iterator[None]:
    """Mention `--on-error skip` in the error of an image that cannot be decoded."""
    try:
        yield
    except CodecError as error:
        if options.skip_errors:
            raise
        fix = f"{error.fix}, or leave such images out: --on-error skip --force"
        raise CodecError(error.what, where=error.where, fix=fix, code=error.code) from error


def _skips(on_error: str) -> bool:
    if on_error not in ("fail", "skip"):
        raise ArgumentError(f"'{on_error}' is not a policy", where="--on-error", fix="choose fail or skip", code=100)
    return on_error == "skip"


def _field_formats(items: list[str]) -> dict[str, str]:
    formats = {}
    for item in items:
        name, separator, format = item.partition("=")
        if not separator or not name or not format:
            raise ArgumentError(f"'{item}' is not NAME=FORMAT", where="--field", fix="for example mask=png", code=100)
        formats[name] = format
    return formats


def _tell_estimate(out: Output, expected: Estimate, left_out: Mapping[str, int], *, force: bool) -> None:
    table = new_table("format", "samples", "bytes", "CPU time", numbers=3)
    for name, entry in expected.formats.items():
        table.add_row(name, f"{entry.samples:,}", bytes_text(entry.bytes), _duration(entry.cpu_seconds))
    out.show(
        f"{count_text(expected.num_samples, 'sample')}, {bytes_text(expected.source_bytes)} to read",
        table,
        f"about {bytes_text(expected.total_bytes)} to write, {_duration(expected.seconds)} on "
        f"{count_text(expected.threads, 'thread')}; {bytes_text(expected.free_bytes)} free",
    )
    if expected.written_bytes:
        fate = "are replaced" if force else "are already there"
        out.message(f"{bytes_text(expected.written_bytes)} from an earlier run {fate}")
    if left_out:
        out.message(left_out_text(left_out))


def _tell(out: Output, built: Built, expected: Estimate, seconds: float) -> None:
    manifest = built.manifest
    num_bytes = manifest.index.bytes + sum(shard.bytes for shard in manifest.shards)
    rate = built.num_converted / seconds if built.num_converted else 0.0
    done = f"{rate:,.0f} images/s" if built.num_converted else "it was there already"
    out.show(
        f"{built.path}: {count_text(manifest.num_samples, 'sample')} in "
        f"{count_text(len(manifest.shards), 'shard')}, {bytes_text(num_bytes)}, {done}"
    )
    for name, count in manifest.formats.items():
        out.show(
            f"  {name}: {count.samples:,} ({count.kept:,} kept as they were, {count.transcoded:,} transcoded, "
            f"{count.encoded:,} encoded), {bytes_text(count.bytes)}"
        )
    if manifest.skipped:
        out.warn(f"{count_text(len(manifest.skipped), 'sample')} left out; the manifest lists them under 'skipped'")
    for reason, number in Counter(entry.reason for entry in manifest.kept_as_jpeg).most_common():
        out.message(f"{count_text(number, 'image')} kept as jpeg: {reason}")
    dropped = manifest.metadata["dropped"]
    if dropped:
        listed = ", ".join(f"{tag} ({count:,})" for tag, count in dropped.items())
        out.message(f"metadata that was not kept: {listed}")
    out.result(
        {
            "path": str(built.path),
            "num_samples": manifest.num_samples,
            "num_converted": built.num_converted,
            "num_bytes": num_bytes,
            "source_bytes": built.source_bytes,
            "seconds": seconds,
            "images_per_second": rate,
            "identity": manifest.identity,
            "formats": manifest.formats,
            "metadata": manifest.metadata,
            "skipped": manifest.skipped,
            "kept_as_jpeg": manifest.kept_as_jpeg,
            "tables": [entry.id for entry in manifest.tables],
            "estimate": _estimate_fields(expected),
        }
    )


def _estimate_fields(expected: Estimate) -> dict[str, object]:
    return {
        "num_samples": expected.num_samples,
        "source_bytes": expected.source_bytes,
        "total_bytes": expected.total_bytes,
        "work_bytes": expected.work_bytes,
        "seconds": expected.seconds,
        "threads": expected.threads,
        "free_bytes": expected.free_bytes,
        "missing_bytes": expected.missing_bytes,
        "formats": expected.formats,
    }


def _duration(seconds: float) -> str:
    """Format a duration for people.

    >>> _duration(0.4), _duration(75), _duration(7500)
    ('0.4 s', '1 min 15 s', '2 h 05 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02} s"
    return f"{minutes // 60} h {minutes % 60:02} min"
