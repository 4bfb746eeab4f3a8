"""`penstock.open`: the samples at a path as one `SampleIndex`."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from penstock.errors import ArgumentError
from penstock.index import ListedIndex, SampleIndex
from penstock.records.dataset import UNFINISHED, Dataset
from penstock.records.manifest import FILE_NAME
from penstock.sources.source import Source
from penstock.storage import AnyPlace, Store, StorePath, is_file, is_folder
from penstock.types import OnProgress, no_progress

PLAIN = "folder"


def open_index(
    path: AnyPlace = "", *, store: Store | None = None, on_progress: OnProgress = no_progress
) -> SampleIndex:
    """Open the samples of a dataset, an image folder, tars, a manifest (CSV, JSONL) or any other source.

    A folder that holds `manifest.json`, or ends in `.pen`, is a dataset. Other kinds are detected from a few file
    names; `penstock.build.open_source` takes the kind by name. No pixel is decoded, nothing is written beside the data,
    and no code of the data's author runs. Ids are ranks in the order of keys, the same as in a dataset built from it.

    The place may also be a store, or a `StorePath`, a place in it: then everything is listed and read through the
    store. `penstock.open("sets/one", store=store)` is short for `penstock.open(StorePath(store, "sets/one"))`.

    >>> import tempfile, penstock
    >>> from penstock.build import build
    >>> from penstock.synth import Scenes, write
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     done = write(f"{folder}/images", images=4, scenes=Scenes(width=32, height=32, classes=2))
    ...     built = build(f"{folder}/images", f"{folder}/data.pen", mix="weir:fast=0.5,raw=0.5")
    ...     dataset, images = penstock.open(f"{folder}/data.pen"), penstock.open(f"{folder}/images")
    ...     sample = dataset[3]
    ...     same = bool((sample["image"] == images[3]["image"]).all())
    >>> len(dataset), sample["key"], sample["label"], sample["image"].shape, same
    (4, 'class001/000003.png', 1, (32, 32, 3), True)
    """
    if store is not None or isinstance(path, (Store, StorePath)):
        place = StorePath.of(path) if store is None else StorePath(store, _name_of(path))
        if place.local is None:
            return _open_stored(place, on_progress)
        path = place.local
    local = Path(path)
    if is_dataset(local):
        return Dataset(local)
    from penstock.sources.folder_index import open_folder  # which a dataset does not need

    return open_folder(local, on_progress, _open_other)


def _open_stored(place: StorePath, on_progress: OnProgress) -> SampleIndex:
    """Open the samples at a place of a store that is not a local disk."""
    if place.suffix == ".pen" or (place / FILE_NAME).is_object():
        return Dataset(place.name, store=place.store)
    other = _open_other(place)
    if other is not None:
        return other
    from penstock.sources.folder_index import open_stored_folder

    return open_stored_folder(place, on_progress)


def _name_of(path: AnyPlace) -> str:
    """Return the name in a store that was given as a path."""
    if isinstance(path, (Store, StorePath)):
        raise ArgumentError("two stores were given", where="store", fix="give a name, or a StorePath alone", code=100)
    name = PurePosixPath(path).as_posix()
    return "" if name == "." else name


def index_of(source: Source) -> ListedIndex:
    """List a source and sort what it found by key. Unlike `open_index` this uses no listing of an earlier time."""
    return ListedIndex(str(source.path), source.kind, source.listing())


def is_dataset(place: Path) -> bool:
    """Tell whether a path is a dataset, an unfinished one included."""
    return place.suffix == ".pen" or is_file(place / FILE_NAME) or is_folder(place / UNFINISHED)


def _open_other(place: Path | StorePath) -> SampleIndex | None:
    """Return the index of a source that is not a plain folder of images, or None."""
    from penstock.sources.kinds import recognise  # which a folder that was listed before does not need

    found = recognise(place)
    if found is not None and found.kind == PLAIN:
        return None
    if found is None:
        raise ArgumentError(
            "this is neither a dataset nor a source of images",
            where=str(place),
            fix="name a folder of images, a .tar, .csv or .jsonl file, or a folder that `penstock build` wrote",
            code=100,
        )
    return index_of(found(place))
