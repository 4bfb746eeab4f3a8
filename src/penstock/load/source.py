"""What a path is: a built dataset, a plain image folder, or something that `penstock build` makes a dataset of."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path

from penstock.errors import ArgumentError, SourceError
from penstock.load.dataset import open_dataset
from penstock.load.folder import open_folder
from penstock.load.samples import Samples
from penstock.records.manifest import FILE_NAME
from penstock.types import OnProgress, no_progress

PLAIN = "folder"
LOSSLESS = ("cityscapes", "masks")
"""Kinds whose images are mostly PNGs, which a command that we propose must not make lossy."""


def open_samples(
    path: str | os.PathLike[str], fields: Sequence[str] | None = None, on_progress: OnProgress = no_progress
) -> Samples:
    """Open the samples at a path. A folder that holds a manifest, or ends in `.pen`, is a dataset.

    Other sources that `penstock build` knows (Cityscapes, images and masks, manifests, tars, Parquet, PCR) are refused
    with the command that builds them: taken as folders of classes, they would give wrong labels without a word.
    """
    place = Path(path)
    if (place / FILE_NAME).is_file() or place.suffix == ".pen":
        return open_dataset(place, fields)
    if fields is not None and set(fields) - {"image", "label"}:
        unknown = sorted(set(fields) - {"image", "label"})
        raise ArgumentError(
            f"a plain folder has no field {unknown[0]!r}", where="fields", fix="build a dataset with it", code=100
        )
    return open_folder(place, on_progress, refuse_other_sources)


def refuse_other_sources(place: Path) -> None:
    """Raise `SourceError` unless a path is a plain folder of images."""
    from penstock.sources import LOOKED_FOR, recognise  # which opening a dataset can do without

    found = recognise(place)
    if found is not None and found.kind == PLAIN:
        return
    if found is None:
        raise ArgumentError(
            "this is neither a dataset nor a folder of images",
            where=str(place),
            fix="name a folder of images, or what `penstock build` wrote",
            code=100,
        )
    output = place.with_suffix(".pen").name
    format = "weir:fast" if found.kind in LOSSLESS else "jpeg"
    command = shlex.join(["penstock", "build", str(place), output, "--format", format])
    raise SourceError(
        f"this is no plain folder of images: it was recognised as '{found.kind}' by {LOOKED_FOR[found.kind]}",
        where=str(place),
        fix=f"build a dataset and load that: `{command}` (jpeg keeps JPEGs as they are; weir:fast is lossless); or "
        "name the folder that holds nothing but images",
        code=606,
    )
