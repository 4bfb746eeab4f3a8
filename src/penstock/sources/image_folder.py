"""Folder of image files: one class per sub-folder, with train/val/test above them as splits, or flat without labels."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from penstock.index import ImageColumns, Listing, Role
from penstock.sources.folder_listing import FolderListing, list_folder
from penstock.sources.probe import Probe
from penstock.sources.source import FilesOnly
from penstock.storage import StorePath


class ImageFolder(FilesOnly):
    """Source in which every file with the ending of a codec is a sample; its key is its path."""

    kind = "folder"

    def __init__(self, path: Path | StorePath) -> None:
        self.path = path
        self._listing: FolderListing | None = None

    @classmethod
    def detects(cls, probe: Probe) -> bool:
        """Accept any folder; this source is the last in the table."""
        return probe.is_folder

    def listing(self) -> Listing:
        """List the folder."""
        import pyarrow as pa

        listing = self._list()
        count = len(listing.keys)
        has_labels = bool(listing.classes)
        labels = pa.array(listing.labels, pa.int32(), mask=listing.labels < 0)
        has_splits = any(split is not None for split in listing.splits)
        return Listing(
            keys=pa.array(listing.keys, pa.string()),
            roles={"image": Role.IMAGE},
            images={"image": ImageColumns.of_files(np.arange(count, dtype=np.int32), listing.sizes)},
            files=listing.paths,
            store=StorePath.of(self.path).foreign_store,
            splits=pa.array(listing.splits, pa.string()) if has_splits else None,
            columns={"label": labels} if has_labels else {},
            classes=listing.classes if has_labels else None,
            left_out=listing.left_out,
        )

    def state(self) -> bytes:
        """Return the times of all files."""
        return self._list().times.tobytes()

    def _list(self) -> FolderListing:
        if self._listing is None:
            self._listing = list_folder(self.path)
        return self._listing
