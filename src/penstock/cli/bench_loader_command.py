"""`penstock bench loader`: the speed of a dataset or folder, and its bottleneck."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from penstock.bench import LoaderBench, LoaderBenchOptions, bench_loader, bench_under
from penstock.cli.group import add_command
from penstock.cli.output import JsonOption, Output, new_table
from penstock.limits import parse_limits
from penstock.transforms.named import NAMED
from penstock.units import bytes_text, count_text

Place = Annotated[Path, typer.Argument(metavar="DATASET|FOLDER", help="A dataset, or a folder of images.")]
TransformOption = Annotated[
    str, typer.Option("--transform", metavar="NAME", help=f"Transform of each image: {', '.join(NAMED)}.")
]
BatchSizeOption = Annotated[int, typer.Option("--batch-size", min=1, metavar="N", help="Samples per batch.")]
ThreadsOption = Annotated[
    int, typer.Option("--threads", min=0, metavar="N", help="Number of decoding threads. 0: all usable cores.")
]
MemoryOption = Annotated[
    str | None, typer.Option("--memory", metavar="BYTES", help="Memory limit of the loader, such as 2GiB.")
]
CacheOption = Annotated[
    str | None,
    typer.Option(
        "--cache",
        metavar="NAME",
        help="Cache policy: rolling, pinned or liquid (the loader's memory), system (page cache), none.",
    ),
]
CacheFormatOption = Annotated[
    str,
    typer.Option(
        "--cache-format",
        "--cached",
        metavar="FORM",
        help="Format of samples in memory: encoded, decoded (measures), pixels, weir:fast.",
    ),
]
CacheBytesOption = Annotated[
    int,
    typer.Option("--cache-bytes", min=0, metavar="N", help="Cache size in bytes. 0: whatever --memory leaves."),
]
WindowOption = Annotated[
    str | None,
    typer.Option(
        "--window",
        metavar="BYTES",
        help="Bytes of neighbouring records to read together (4MiB), auto or none. Default: the dataset's window.",
    ),
]
DecodeOption = Annotated[str, typer.Option("--decode", metavar="NAME", help="Decoding: exact or approximate.")]
EpochsOption = Annotated[int, typer.Option("--epochs", min=1, metavar="N", help="Number of epochs.")]

SecondsOption = Annotated[
    float | None, typer.Option("--max-seconds", min=0, help="Time limit of an epoch; the rest of it is skipped.")
]
ErrorOption = Annotated[
    str,
    typer.Option(
        "--on-error", metavar="NAME", help="What to do with samples that fail to load: raise, skip or replace."
    ),
]
EmulateOption = Annotated[
    str,
    typer.Option(
        "--emulate", metavar="LIMITS", help="Limits of the machine to emulate: disk=200MB/s,memory=1GiB,cores=2."
    ),
]


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """The options that say what a loader does."""

    transform: TransformOption = "train224"
    batch_size: BatchSizeOption = 256
    threads: ThreadsOption = 0
    memory: MemoryOption = None
    cache: CacheOption = None
    cache_format: CacheFormatOption = "encoded"
    decode: DecodeOption = "exact"
    epochs: EpochsOption = 3
    max_seconds: SecondsOption = None
    window: WindowOption = None
    cache_bytes: CacheBytesOption = 0
    on_error: ErrorOption = "raise"


def register(group: typer.Typer) -> None:
    """Add the command to `penstock bench`."""
    add_command(
        group,
        "loader",
        loader,
        examples=(
            "penstock bench loader photos",
            "penstock bench loader photos.pen --transform none --batch-size 64 --cache none",
            "penstock bench loader photos.pen --threads 2 --memory 2GiB --epochs 5 --json",
        ),
    )


def loader(
    path: Place,
    wanted: LoadOptions,
    emulate: EmulateOption = "",
    json: JsonOption = False,
) -> None:
    """Load epochs of a dataset or folder and drop the batches; print images/s and the bottleneck.

    The first epoch warms up caches. The seconds of a stage are summed over its threads. The consumer is this command,
    which does nothing with a batch, so its time is waiting time.
    """
    out = Output(json=json)
    options = LoaderBenchOptions(**asdict(wanted))
    if emulate:
        with out.progress() as on_progress:
            emulated = bench_under(path, options, parse_limits(emulate), on_progress=on_progress)
        out.show(f"{emulated.images_per_second:,.0f} images/s under {emulate} ({emulated.enforced_by})")
        out.result({**emulated.found.members, "emulated": emulate, "enforced_by": emulated.enforced_by.as_dict()})
        return
    with out.progress() as on_progress:
        found = bench_loader(path, options, on_progress=on_progress)
    out.show(_headline(found), "", _table(found), "", _summary(found))
    if found.stats["num_failed_samples"]:
        out.warn(f"{count_text(found.stats['num_failed_samples'], 'sample')} failed to load")
    out.result(found.as_dict())


def _headline(found: LoaderBench) -> str:
    options = found.options
    return (
        f"{count_text(found.num_samples, 'sample')} of {found.path}, batches of {options.batch_size}, "
        f"transform {options.transform}, decode {options.decode}\n"
        f"first batch after {found.first_batch_seconds:.2f} s, reads by {found.stats['io']['engine']}"
        f"{' past the page cache' if found.stats['io']['direct'] else ''}"
    )


def _table(found: LoaderBench) -> Table:
    table = new_table(
        "epoch",
        "images/s",
        "CPU ms\nper image",
        "MB\nread",
        "hits per\nbatch",
        "storage\ns",
        "decode\ns",
        "waited\ns",
        numbers=7,
    )
    for number, epoch in enumerate(found.epochs):
        hits = epoch.hits_per_batch
        table.add_row(
            str(number),
            f"{epoch.images_per_second:,.0f}",
            f"{epoch.cpu_seconds_per_image * 1e3:.2f}",
            f"{epoch.bytes_read / 1e6:,.1f}",
            f"{hits.lowest:.0f}..{hits.highest:.0f}",
            f"{epoch.stages['storage'].busy:.2f}",
            f"{epoch.stages['decode'].busy:.2f}",
            f"{epoch.stages['compute'].waited:.2f}",
        )
    return table


def _summary(found: LoaderBench) -> str:
    rate, stats = found.images_per_second, found.stats
    return (
        f"{rate.median:,.0f} images/s ± {rate.half_range:.0%}; bottleneck: {stats['bottleneck']}; "
        f"peak memory {bytes_text(stats['peak_memory_bytes'])}; cache: {stats['resources']['cache']}"
        f"{_cached_text(stats['cached'])}{_window_text(stats['window'])}"
    )


def _cached_text(cached: dict[str, Any]) -> str:
    """Describe the cache format of each format, if one was requested."""
    if cached["wanted"] == "encoded":
        return ""
    kept = ", ".join(f"{name} as {form}" for name, form in cached["formats"].items()) or "nothing"
    return f"\nkept decoded ({cached['wanted']}): {kept}; {count_text(cached['num_decodes_saved'], 'decode')} saved"


def _window_text(window: dict[str, Any] | None) -> str:
    """Describe how random a window is, compared with a full permutation."""
    if window is None:
        return ""
    ratios = ", ".join(f"{name} {value:.2f}" for name, value in window["quality"].items())
    return f"\nwindow of {window['runs']} runs of {window['run']} samples: {ratios} (1 = a full permutation)"
