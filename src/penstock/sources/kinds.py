"""Table of sources, and the detection of a path's kind."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Protocol

from penstock.errors import ArgumentError
from penstock.sources.cityscapes import Cityscapes
from penstock.sources.dataset_source import DatasetSource
from penstock.sources.image_folder import ImageFolder
from penstock.sources.manifest_source import ManifestSource
from penstock.sources.masks import ImagesAndMasks
from penstock.sources.parquet import ParquetImages
from penstock.sources.pcr import PcrRecords
from penstock.sources.probe import Probe, probe
from penstock.sources.source import Source
from penstock.sources.unsupported import refuse_unsupported
from penstock.sources.webdataset import WebDataset
from penstock.storage import AnyPlace, Store, StorePath


class SourceKind(Protocol):
    """Class of sources, as the table holds it."""

    kind: str

    def detects(self, probe: Probe) -> bool:
        """Return whether a path is such a source, judging by a few names."""

    def __call__(self, path: Path | StorePath) -> Source:
        """Open the source at this place."""


SOURCES: tuple[SourceKind, ...] = (
    DatasetSource,
    Cityscapes,
    ManifestSource,
    WebDataset,
    ParquetImages,
    PcrRecords,
    ImagesAndMasks,
    ImageFolder,
)
"""Kinds in the order of detection, the more special first."""

LOOKED_FOR = {
    "dataset": "a folder with manifest.json and index.parquet",
    "cityscapes": "a folder 'leftImg8bit'",
    "manifest": "a .csv, .tsv or .jsonl file, or manifest.jsonl, metadata.csv… in a folder",
    "webdataset": ".tar files",
    "parquet": ".parquet files",
    "pcr": "PCR_index.pb and .pcr files",
    "masks": "folders 'images' and 'masks' (or 'annotations', 'depth')",
    "folder": "a folder of images",
}


SAY_SO_THEMSELVES = ("dataset", "manifest")
"""Kinds that may be next to annotations of any layout, because they were written for a tool like this."""


def recognise(place: AnyPlace, kind: str = "") -> SourceKind | None:
    """Return the named kind, else the first kind that recognises the place, or None.

    Known layouts that cannot be read (COCO, Pascal VOC, YOLO) are refused, unless a kind is given.
    """
    seen = probe(StorePath.of(place))
    if kind:
        return next((candidate for candidate in SOURCES if candidate.kind == kind), None)
    found = next((candidate for candidate in SOURCES if candidate.detects(seen)), None)
    if found is None or found.kind not in SAY_SO_THEMSELVES:
        refuse_unsupported(seen)
    return found


def open_source(path: AnyPlace, kind: str = "", *, allow_outside: bool = False) -> Source:
    """Open the source at a path, or at a place in a store: of the named kind, else of the first that recognises it.

    `allow_outside` lets a manifest name files outside its own folder.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     open_source(folder).kind
    'folder'
    """
    place = local_or_stored(path)
    found = recognise(place, kind)
    if found is ManifestSource:
        return ManifestSource(place, allow_outside=allow_outside)
    if found is not None:
        return found(place)
    if kind:
        near = difflib.get_close_matches(kind, LOOKED_FOR, n=1)
        hint = f"did you mean '{near[0]}'? " if near else ""
        known = ", ".join(LOOKED_FOR)
        raise ArgumentError(
            f"there is no kind of source '{kind}'", where="source", fix=f"{hint}known: {known}", code=130
        )
    looked_for = "; ".join(f"{what} ({name})" for name, what in LOOKED_FOR.items())
    raise ArgumentError(
        f"'{place}' is not a source of a known kind", where=str(place), fix=f"looked for {looked_for}", code=130
    )


def local_or_stored(place: AnyPlace) -> Path | StorePath:
    """Return the path of a place on a local disk, else the place in its store."""
    if not isinstance(place, (Store, StorePath)):
        return Path(place)
    found = StorePath.of(place)
    return found if found.local is None else found.local
