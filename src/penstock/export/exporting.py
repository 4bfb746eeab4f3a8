"""Export of a dataset to files that any program reads."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from penstock.codecs.contract import DEFAULT_MAX_PIXELS
from penstock.errors import ArgumentError
from penstock.export.folder import write_folder
from penstock.export.images import ENCODED, field_images, image_format
from penstock.export.row_values import check_labels
from penstock.export.webdataset_layout import write_tars
from penstock.records import Dataset, open_dataset
from penstock.storage.new_folder import new_folder
from penstock.types import OnProgress, no_progress

LAYOUTS = ("folder", "webdataset")


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """Options of an export."""

    layout: str = "folder"
    """Layout of the export: "folder" or "webdataset"."""
    image_format: str = "png"
    """Format of images that were stored as pixels. JPEGs and kept files are restored."""
    split: str | None = None
    """Split to export; None exports all samples."""
    shard_samples: int = 10_000
    """Samples per tar."""
    max_pixels: int = DEFAULT_MAX_PIXELS
    """Refuse to decode a stored image that claims more pixels."""


@dataclass(frozen=True, slots=True)
class Exported:
    """Result of an export."""

    path: Path
    layout: str
    num_samples: int
    num_images: int
    num_encoded: int
    """Images whose pixels were written in `ExportOptions.image_format`; the others are the stored bytes."""
    num_restored: int
    """JPEG files that were restored from `sluice`, byte for byte."""
    num_bytes: int
    dropped: Mapping[str, int]
    """Metadata that the exported files could not hold, counted by tag."""


def export(
    dataset: str | os.PathLike[str] | Dataset,
    out: str | os.PathLike[str],
    *,
    options: ExportOptions | None = None,
    threads: int = 0,
    on_progress: OnProgress = no_progress,
) -> Exported:
    """Write the samples of a dataset to a folder that does not exist yet.

    A file whose bytes were kept is written byte for byte, and so is a JPEG that became `sluice`. Other transcoded JPEGs
    get their coefficients, and all other images get identical pixels and their metadata. The folder appears when it is
    complete; an error, an interrupt or a full disk leaves nothing. With the manifest (or the .json members), a build
    gives the same dataset again.

    Args:
        dataset: Path of a dataset, or an opened one, of which only the selected samples are exported.
        out: Folder to write.
        options: Layout and image format of the export.
        threads: Number of threads; 0 means all usable cores.
        on_progress: Function that is called with the progress.

    >>> import tempfile
    >>> from penstock.build import build
    >>> from penstock.synth import Scenes, write
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     done = write(f"{folder}/images", images=4, scenes=Scenes(width=32, height=32, classes=2))
    ...     built = build(f"{folder}/images", f"{folder}/data.pen", mix="weir:fast=1")
    ...     exported = export(f"{folder}/data.pen", f"{folder}/back")
    ...     same = sorted(str(path.relative_to(f"{folder}/back")) for path in Path(f"{folder}/back").rglob("*.png"))
    >>> same
    ['class000/000000.png', 'class000/000002.png', 'class001/000001.png', 'class001/000003.png']
    """
    chosen = options or ExportOptions()
    _check(chosen)
    target = image_format(chosen.image_format)
    opened = dataset if isinstance(dataset, Dataset) else open_dataset(dataset)
    _check_apart(opened.path, Path(out))
    if chosen.split is not None:
        opened = opened.split(chosen.split)
    check_labels(opened)
    fields = field_images(opened, target)
    expected = sum(int(field.length.sum()) for field in fields)
    with new_folder(Path(out), expected_bytes=expected) as folder:
        if chosen.layout == "folder":
            num_bytes, dropped = write_folder(opened, fields, target, folder, threads, chosen.max_pixels, on_progress)
        else:
            num_bytes, dropped = write_tars(
                opened, fields, target, folder, chosen.shard_samples, threads, chosen.max_pixels, on_progress
            )
    return Exported(
        path=Path(out),
        layout=chosen.layout,
        num_samples=len(opened),
        num_images=sum(int((field.file >= 0).sum()) for field in fields),
        num_encoded=sum(int((field.way == ENCODED).sum()) for field in fields),
        num_restored=sum(field.num_restored for field in fields),
        num_bytes=num_bytes,
        dropped=dict(sorted(dropped.items())),
    )


def _check_apart(dataset: Path, out: Path) -> None:
    """Refuse an export inside the dataset, which is only read."""
    if out.resolve().is_relative_to(dataset.resolve()):
        raise ArgumentError(
            "the export would lie inside the dataset", where=str(out), fix="choose a folder outside of it", code=100
        )


def _check(options: ExportOptions) -> None:
    if options.layout not in LAYOUTS:
        raise ArgumentError(
            f"there is no layout '{options.layout}'", where="layout", fix=f"choose of: {', '.join(LAYOUTS)}", code=130
        )
    if options.max_pixels < 1:
        raise ArgumentError(f"images of {options.max_pixels} pixels", where="max_pixels", fix="use 1 or more", code=130)
    if options.shard_samples < 1:
        raise ArgumentError(
            f"a tar of {options.shard_samples} samples", where="samples of a tar", fix="use 1 or more", code=130
        )
