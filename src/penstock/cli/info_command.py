"""`penstock info`: this machine and its codecs, or the contents of images or a dataset."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from penstock.cli.group import add_command
from penstock.cli.info_dataset_command import show_dataset
from penstock.cli.output import JsonOption, Output, error_fields, new_table
from penstock.codecs.sluice import SluiceFacts
from penstock.errors import ArgumentError, PenstockError
from penstock.info import Environment, ImageSummary, describe_dataset, describe_image, environment
from penstock.storage import exists, is_folder
from penstock.units import bytes_text, count_text

ImagePaths = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="IMAGE|DATASET", help="Image files, or the folder of a dataset. Default: describe this machine."
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    add_command(
        app,
        "info",
        info,
        examples=("penstock info", "penstock info photo.jpg scan.png", "penstock info photos.pen --json"),
    )


def info(images: ImagePaths = None, json: JsonOption = False) -> None:
    """Show this machine and its codecs, or the contents of images or a dataset.

    The content of an image decides its codec, not its name. Nothing is decoded.
    """
    out = Output(json=json)
    if images and len(images) == 1 and is_folder(images[0]) and _is_dataset(images[0]):
        show_dataset(out, describe_dataset(images[0]))
    elif images:
        _show_images(out, images)
    else:
        _show_environment(out, environment())


def _is_dataset(folder: Path) -> bool:
    return any(exists(folder / name) for name in ("manifest.json", ".build"))


def _show_environment(out: Output, found: Environment) -> None:
    machine, memory = found.machine, found.machine.memory
    limit = f", {bytes_text(memory.limit_bytes)} allowed by the cgroup" if memory.limit_bytes is not None else ""
    best = "" if machine.simd == machine.best_simd else f" (this processor could run {machine.best_simd})"
    facts = Table.grid(padding=(0, 2, 0, 0))
    facts.add_row("penstock", f"{found.version} on {found.python}")
    facts.add_row("processor", f"{machine.cpu}, {count_text(machine.cores, 'usable core')}")
    facts.add_row("SIMD path", f"{machine.simd}{best}")
    facts.add_row("memory", f"{bytes_text(memory.total_bytes)}{limit}, {bytes_text(memory.available_bytes)} available")
    facts.add_row("system", machine.system)
    facts.add_row("libraries", ", ".join(f"{name} {version}" for name, version in found.libraries.items()))
    codecs = new_table("codec", "files", "does", "promise", "parameters")
    for codec in found.codecs:
        codecs.add_row(
            codec.name,
            " ".join(codec.extensions),
            "reads, writes" if codec.can_encode else "reads",
            "exact" if codec.lossless else "lossy",
            " ".join(codec.parameters),
        )
    out.show(facts, "", codecs)
    if found.plug_ins:
        plug_ins = new_table("plug-in", "package", "status")
        for plug_in in found.plug_ins:
            plug_ins.add_row(plug_in.name, plug_in.package, plug_in.status)
        out.show("", plug_ins)
    for warning in found.warnings:
        out.warn(warning)
    out.result(asdict(found))


def _show_images(out: Output, paths: list[Path]) -> None:
    found: list[ImageSummary] = []
    failed: list[PenstockError] = []
    for path in paths:
        try:
            found.append(_describe(path))
        except PenstockError as error:
            failed.append(error)
    if found:
        out.show(_image_table(found))
    for image in found:
        if image.sluice is not None:
            out.show(f"{image.path}: {_sluice_text(image.sluice)}")
    for failure in failed:
        out.error(failure)
    out.result(
        {"images": [_image_fields(image) for image in found], "errors": [error_fields(failure) for failure in failed]}
    )
    if failed:
        raise typer.Exit(1)


def _describe(path: Path) -> ImageSummary:
    if is_folder(path):
        raise ArgumentError(
            f"'{path}' is a folder, not an image",
            where=str(path),
            fix=f"name image files, or measure the folder with `penstock bench codecs {path}`",
            code=100,
        )
    return describe_image(path)


def _image_table(images: list[ImageSummary]) -> Table:
    table = new_table("image", "codec", "colour", "size", "depth", "bytes", "ratio", numbers=4)
    for image in images:
        header = image.image
        codec = " ".join(filter(None, (header.codec, header.variant)))
        turned = f", turned (EXIF {header.orientation})" if header.orientation != 1 else ""
        table.add_row(
            image.path,
            codec,
            f"{header.color}{turned}",
            f"{header.width}×{header.height}×{header.channels}",
            f"{header.depth} bit",
            f"{image.file_bytes:,}",
            f"{image.ratio:.2f}",
        )
    return table


def _sluice_text(facts: SluiceFacts) -> str:
    if facts.has_tables:
        tables = "tables in the file"
    elif facts.is_default:
        tables = "default tables"
    else:
        tables = f"tables {facts.table_set} of a dataset"
    restoration = (
        f"{bytes_text(facts.restoration_bytes)} to restore the JPEG byte for byte"
        if facts.restoration_bytes
        else "nothing to restore a JPEG with"
    )
    tiles = f"{facts.tiles_across}×{facts.tiles_down} tiles of {facts.tile_width}×{facts.tile_height} px"
    return f"{tiles}, {count_text(facts.num_layers, 'layer')}, {tables}, {restoration}"


def _image_fields(image: ImageSummary) -> dict[str, object]:
    return {
        "path": image.path,
        **asdict(image.image),
        "file_bytes": image.file_bytes,
        "pixel_bytes": image.pixel_bytes,
        "ratio": image.ratio,
        **({} if image.sluice is None else {"sluice": asdict(image.sluice)}),
    }
