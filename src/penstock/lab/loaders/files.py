"""Image files and the labels of their folders, as loaders of others want them."""

from __future__ import annotations

from pathlib import Path

from penstock.lab.loaders.contract import LoaderSpec
from penstock.storage import list_tree

ENDINGS = (".bmp", ".jpeg", ".jpg", ".png", ".webp")


def beton_of(dataset: str) -> str:
    """Where FFCV's file stands that has the images of a dataset."""
    return str(Path(dataset).with_suffix(".beton"))


def labelled_files(spec: LoaderSpec) -> list[tuple[str, int]]:
    """(path, class) of the part of the data that a spec names; classes are folders, sorted."""
    paths = [path for path in list_tree(spec.folder).paths() if path.suffix.lower() in ENDINGS]
    if {"train", "val"} <= {path.relative_to(spec.folder).parts[0] for path in paths}:
        paths = [path for path in paths if path.relative_to(spec.folder).parts[0] == (spec.part or "train")]
    classes = sorted({path.parent.name for path in paths})
    return [(str(path), classes.index(path.parent.name)) for path in paths]
