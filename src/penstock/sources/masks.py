"""Images and their masks in neighbouring folders, under the same names.

images/train/cat/1.jpg     masks/train/cat/1.png     annotations/…     depth/…

Endings may differ. Splits and classes are the folders below `images`, as in a plain folder.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np

from penstock.index import ABSENT, ImageColumns, Listing, Role
from penstock.sources.files import FileFacts, by_ending, facts_in, files_beside
from penstock.sources.folder_listing import list_folder
from penstock.sources.names import ending_of, image_endings
from penstock.sources.probe import Probe
from penstock.sources.source import FilesOnly
from penstock.storage import StorePath

IMAGES = "images"
BESIDE = {"masks": ("mask", Role.MASK), "annotations": ("annotation", Role.MASK), "depth": ("depth", Role.DEPTH)}
"""Folders next to `images`, with their fields and roles."""


class ImagesAndMasks(FilesOnly):
    """Folder that contains `images` and `masks`."""

    kind = "masks"

    def __init__(self, path: Path | StorePath) -> None:
        self.path = path
        self._place = StorePath.of(path)
        self._facts: list[FileFacts] = []

    @classmethod
    def detects(cls, probe: Probe) -> bool:
        """Return whether the folder has `images`, and one of the folders of masks."""
        return probe.is_folder and probe.named(IMAGES) and any(probe.named(name) for name in BESIDE)

    def listing(self) -> Listing:
        """List all folders."""
        import pyarrow as pa

        images = list_folder(self._place / IMAGES)
        count = len(images.keys)
        self._facts = [FileFacts(images.sizes, images.times)]
        files = list(images.paths)
        places = {"image": ImageColumns.of_files(np.arange(count, dtype=np.int32), images.sizes)}
        roles = {"image": Role.IMAGE}
        left_out = Counter(images.left_out) + files_beside(self._place, (IMAGES, *BESIDE))
        row = {_stem(key): number for number, key in enumerate(images.keys)}
        for folder, (field, role) in BESIDE.items():
            if (self._place / folder).is_folder():
                found, lost = self._find(folder, row)
                places[field] = self._located(found, count, files)
                roles[field] = role
                left_out += lost
        return Listing(
            keys=pa.array([f"{IMAGES}/{key}" for key in images.keys], pa.string()),
            roles=roles,
            images=places,
            files=files,
            store=self._place.foreign_store,
            splits=pa.array(images.splits, pa.string()) if any(images.splits) else None,
            columns={"label": pa.array(images.labels, pa.int32(), mask=images.labels < 0)} if images.classes else {},
            classes=images.classes or None,
            left_out=left_out,
        )

    def state(self) -> bytes:
        """Return sizes and times of all files."""
        if not self._facts:
            self.listing()
        return b"".join(facts.state() for facts in self._facts)

    def _find(self, folder: str, row: dict[str, int]) -> tuple[dict[int, str], Counter[str]]:
        """Return the file of every image that has one in this folder, and the other files."""
        tree = (self._place / folder).tree()
        endings = image_endings()
        files = [name for name in tree.files if ending_of(name) in endings]
        found = {row[_stem(name)]: f"{folder}/{name}" for name in files if _stem(name) in row}
        lost = by_ending(name for name in tree.files if ending_of(name) not in endings)
        lost[f"{folder} without an image"] = len(files) - len(found)
        return found, lost

    def _located(self, found: dict[int, str], count: int, files: list[bytes]) -> ImageColumns:
        rows = np.fromiter(found, np.int64, len(found))
        facts = facts_in(self._place, list(found.values()))
        self._facts.append(facts)
        file, length = np.full(count, ABSENT, np.int32), np.zeros(count, np.int64)
        file[rows] = np.arange(len(files), len(files) + len(found))
        length[rows] = facts.sizes
        files += self._place.references(found.values())
        return ImageColumns.of_files(file, length)


def _stem(path: str) -> str:
    ending = ending_of(path)
    return path[: -len(ending)] if ending else path
