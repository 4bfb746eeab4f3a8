"""`penstock bench`: benchmarks on this machine."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from penstock.bench import CodecBench, CodecBenchOptions, Corpus, FormatResult, Speed, bench_codecs, load_corpus
from penstock.cli import bench_loader_command
from penstock.cli.group import add_command, new_group
from penstock.cli.output import JsonOption, Output, error_fields, new_table
from penstock.codecs import Format, find, names, parse_format, parse_formats
from penstock.errors import ArgumentError
from penstock.machine import this_machine
from penstock.units import count_text

Folder = Annotated[
    Path, typer.Argument(metavar="DIR", help="Folder of images, searched recursively; detected by content.")
]
FormatsOption = Annotated[
    str | None,
    typer.Option(
        "--formats", metavar="F,F,…", help="Formats, separated by commas. Default: every codec that can write."
    ),
]
ThreadsOption = Annotated[
    int, typer.Option("--threads", min=0, metavar="N", help="Number of threads. 0: all usable cores.")
]
RepeatsOption = Annotated[int, typer.Option("--repeats", min=1, metavar="N", help="Number of timed repeats.")]
LimitOption = Annotated[
    int, typer.Option("--limit", min=0, metavar="N", help="Use at most N images, evenly spread; 0: all.")
]

SHOWN_FILES = 5


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    group = new_group("bench", "Measure on this machine, with your images.")
    add_command(
        group,
        "codecs",
        codecs,
        examples=(
            "penstock bench codecs photos",
            "penstock bench codecs photos --formats png,webp:lossless,jpeg:q=85,raw --repeats 9",
            "penstock bench codecs photos --formats jpeg:q=85 --threads 0 --limit 0 --json",
        ),
    )
    bench_loader_command.register(group)
    app.add_typer(group)


def codecs(
    folder: Folder,
    formats: FormatsOption = None,
    threads: ThreadsOption = 1,
    repeats: RepeatsOption = 5,
    limit: LimitOption = 50,
    json: JsonOption = False,
) -> None:
    """Compare formats on your images: size, speed, distortion.

    Every format is verified before it is timed: a lossless one must restore the pixels; for a lossy one, the distortion
    is measured. Speeds are in raw pixels, by CPU time on one thread and by wall time on several. Each is the median of
    the repeats with half their range. Images are held in memory, so no disk is measured.
    """
    out = Output(json=json)
    chosen = _formats_of(formats)
    with out.progress() as on_progress:
        corpus = load_corpus(folder, limit=limit, copies=len(chosen) + 1, on_progress=on_progress)
        found = bench_codecs(corpus, chosen, CodecBenchOptions(threads, repeats), on_progress=on_progress)
    out.show(_headline(corpus, found), "", _table(found))
    for note in _notes(corpus, found):
        out.warn(note)
    out.result(_fields(corpus, found))


def _formats_of(text: str | None) -> list[Format]:
    if text is None:
        return [parse_format(name) for name in names() if find(name).can_encode]
    formats = parse_formats(text)
    if not formats:
        raise ArgumentError("there is no format to measure", where="--formats", fix="for example png,raw", code=130)
    for format in formats:
        if not find(format.codec).can_encode:
            fix = f"choose among {', '.join(name for name in names() if find(name).can_encode)}"
            raise ArgumentError(f"codec '{format.codec}' only reads", where="--formats", fix=fix, code=130)
    return list(dict.fromkeys(formats))


def _headline(corpus: Corpus, found: CodecBench) -> str:
    threads, repeats = count_text(found.threads, "thread"), count_text(found.repeats, "repeat")
    clock = "CPU time" if found.clock == "cpu" else "by the clock"
    spread = f", median of {repeats} ± half their range" if found.repeats > 1 else ""
    return (
        f"{count_text(len(corpus.images), 'image')} of {corpus.folder}, {corpus.pixel_bytes / 1e6:,.1f} MB of pixels\n"
        f"{threads}, {clock}, {this_machine().simd}{spread}"
    )


def _table(found: CodecBench) -> Table:
    table = new_table(
        "format", "\nratio", "encode\nMB/s", "decode\nMB/s", "decode\nimages/s", "PSNR\ndB", "MS-\nSSIM", numbers=6
    )
    for result in found.stored:
        table.add_row(f"as stored ({result.format})", *_cells(result))
    for result in found.formats:
        held = f" ({result.num_images} of {result.num_images + result.num_refused})" if result.num_refused else ""
        table.add_row(f"{result.format}{held}", *_cells(result))
    return table


def _cells(result: FormatResult) -> list[str]:
    if result.distortion is not None:
        quality = [f"{result.distortion.psnr.median:.2f}", f"{result.distortion.ms_ssim.median:.4f}"]
    else:
        quality = ["exact", ""] if result.lossless and result.encode is not None else ["", ""]
    return [
        f"{result.ratio:.2f}" if result.encoded_bytes else "",
        _speed_text(result.encode),
        _speed_text(result.decode),
        f"{result.decode.images_per_second.median:,.0f}" if result.decode else "",
        *quality,
    ]


def _speed_text(speed: Speed | None) -> str:
    if speed is None:
        return ""
    rate = speed.megabytes_per_second
    digits = 0 if rate.median >= 100 else 1
    spread = f" ±{rate.half_range:3.0%}" if rate.highest > rate.lowest else ""
    return f"{rate.median:,.{digits}f}{spread}"


def _notes(corpus: Corpus, found: CodecBench) -> list[str]:
    notes = []
    for result in found.formats:
        if result.num_refused:
            notes.append(f"{result.format} left out {count_text(result.num_refused, 'image')}: {result.refusal}")
        if result.threads != found.threads:
            notes.append(f"{result.format} is a codec in Python and ran on one thread")
    if corpus.unreadable:
        shown = ", ".join(str(file.path) for file in corpus.unreadable[:SHOWN_FILES])
        more = f" and {len(corpus.unreadable) - SHOWN_FILES} more" if len(corpus.unreadable) > SHOWN_FILES else ""
        notes.append(f"skipped {count_text(len(corpus.unreadable), 'unreadable file')}: {shown}{more}")
    return notes


def _fields(corpus: Corpus, found: CodecBench) -> dict[str, object]:
    unreadable = [{"path": str(file.path), **error_fields(file.error)} for file in corpus.unreadable]
    return {
        "folder": str(corpus.folder),
        "num_images": len(corpus.images),
        "num_files": corpus.num_files,
        "num_other_files": corpus.num_other_files,
        "unreadable": unreadable,
        "pixel_bytes": corpus.pixel_bytes,
        "threads": found.threads,
        "repeats": found.repeats,
        "clock": found.clock,
        "machine": asdict(this_machine()),
        "stored": [_result_fields(result) for result in found.stored],
        "formats": [_result_fields(result) for result in found.formats],
    }


def _result_fields(result: FormatResult) -> dict[str, object]:
    return {**asdict(result), "ratio": result.ratio}
