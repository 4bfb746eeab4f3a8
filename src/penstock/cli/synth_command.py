"""`penstock synth`: writes a procedural labelled dataset, for demos and tests."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.group import add_command
from penstock.cli.output import JsonOption, Output
from penstock.errors import ArgumentError
from penstock.synth import Scenes, Written, write
from penstock.synth.scenes import VARIANTS
from penstock.units import bytes_text, count_text

DEFAULTS = Scenes()

Folder = Annotated[Path, typer.Argument(metavar="OUT", help="Folder to write; it must be empty or not exist.")]
ImagesOption = Annotated[int, typer.Option("--images", "-n", min=1, metavar="N", help="Number of images.")]
SizeOption = Annotated[str, typer.Option("--size", metavar="WxH", help="Width and height in pixels.")]
ClassesOption = Annotated[int, typer.Option("--classes", min=1, metavar="K", help="Number of classes.")]
FormatOption = Annotated[str, typer.Option("--format", "-f", metavar="FORMAT", help="Format such as png or jpeg:q=85.")]
SeedOption = Annotated[
    int, typer.Option("--seed", min=0, metavar="S", help="Seed; another one gives other images of the same classes.")
]
VariantOption = Annotated[
    str,
    typer.Option(
        "--variant",
        metavar="|".join(VARIANTS),
        help="Part of the image that shows the label: coarse structure, fine texture, or both.",
    ),
]
BitsOption = Annotated[
    int,
    typer.Option("--bits", metavar="8|16", help="Bits per value. 8: RGB. 16: grey with the values of a 12-bit sensor."),
]
MasksOption = Annotated[bool, typer.Option("--masks", help="Also write segmentation masks: OUT/images, OUT/masks.")]
ThreadsOption = Annotated[
    int, typer.Option("--threads", min=0, metavar="N", help="Number of threads. 0: all usable cores.")
]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace an earlier synthetic dataset at OUT.")]


@dataclass(frozen=True, slots=True)
class SceneOptions:
    """The options that say what the images show."""

    images: ImagesOption = 1000
    size: SizeOption = f"{DEFAULTS.width}x{DEFAULTS.height}"
    classes: ClassesOption = DEFAULTS.classes
    format: FormatOption = "png"
    seed: SeedOption = DEFAULTS.seed
    variant: VariantOption = DEFAULTS.variant
    bits: BitsOption = DEFAULTS.bits
    masks: MasksOption = False

    def scenes(self) -> Scenes:
        """Return the scenes to draw."""
        width, height = _size_of(self.size)
        return Scenes(width, height, self.classes, self.seed, self.variant, self.bits)


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    add_command(
        app,
        "synth",
        synth,
        examples=(
            "penstock synth photos --images 1000",
            "penstock synth train --images 5000 --classes 20 --format jpeg:q=90 --seed 0",
            "penstock synth scans --bits 16 --size 1024x1024 --images 100",
            "penstock synth street --masks --images 200 --variant texture",
        ),
    )


def synth(
    out_folder: Folder,
    wanted: SceneOptions,
    threads: ThreadsOption = 0,
    force: ForceOption = False,
    json: JsonOption = False,
) -> None:
    """Write procedural labelled images that compress and train like photographs.

    The same options give the same pixels on every machine, with any number of threads. Images go to
    OUT/class000/000000.png and so on, one folder per class.
    """
    out = Output(json=json)
    scenes = wanted.scenes()
    begin = time.perf_counter()
    with out.progress() as on_progress:
        done = write(
            out_folder,
            images=wanted.images,
            scenes=scenes,
            format=wanted.format,
            masks=wanted.masks,
            threads=threads,
            force=force,
            on_progress=on_progress,
        )
    _tell(out, done, scenes, masks=wanted.masks, seconds=time.perf_counter() - begin)


def _size_of(text: str) -> tuple[int, int]:
    sides = re.fullmatch(r"(\d{1,9})[x×X](\d{1,9})", text)
    if not sides:
        raise ArgumentError(f"'{text}' is not a size", where="--size", fix="give WxH in pixels, as 512x256", code=100)
    return int(sides[1]), int(sides[2])


def _tell(out: Output, done: Written, scenes: Scenes, *, masks: bool, seconds: float) -> None:
    what = count_text(done.num_images, "image")
    rate = done.num_images / seconds
    out.show(
        f"{done.folder}: {what} of {done.num_classes} class{'es' * (done.num_classes != 1)}, "
        f"{scenes.width}×{scenes.height}, {done.format}{' with masks' * masks}, {bytes_text(done.num_bytes)}, "
        f"{rate:,.0f} images/s"
    )
    out.result(
        {
            "folder": str(done.folder),
            "num_images": done.num_images,
            "num_classes": done.num_classes,
            "width": scenes.width,
            "height": scenes.height,
            "bits": scenes.bits,
            "variant": scenes.variant,
            "seed": scenes.seed,
            "format": str(done.format),
            "masks": masks,
            "num_bytes": done.num_bytes,
            "seconds": seconds,
            "images_per_second": rate,
        }
    )
