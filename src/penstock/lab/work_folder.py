"""Work folder of a run: one dataset per variant, made when a cell first needs it."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from penstock.build import build
from penstock.codecs import inspect
from penstock.errors import ArgumentError, CodecError
from penstock.lab.recipes.contract import DataFacts
from penstock.load import Loader
from penstock.load.open_samples import open_samples
from penstock.storage import drop_cached, exists, is_folder, list_tree, make_folders, read_range
from penstock.types import OnProgress, no_progress

SOURCE = "source"
"""The variant that keeps every image's bytes as they are."""
LOOKED_AT = 50  # files: enough to know what a folder is stored in
HEAD_BYTES = 65536
NOT_A_CLASS = 255


@dataclass(frozen=True)
class Work:
    """Data of a run, and the folder of the datasets made from it."""

    data: Path
    folder: Path
    on_progress: OnProgress = no_progress
    _on_disk: set[str] = field(default_factory=set, init=False, repr=False)

    def check(self) -> None:
        """Refuse data that is not a folder of images, before anything is written."""
        assert self._codec

    def dataset(self, variant: str) -> Path:
        """Return a dataset of the data in a format (`jpeg:q=85`), in a mix (`png=0.3,raw=0.7`) or unchanged (`source`).

        The build does not wait for the disk, because these datasets are temporary.
        """
        path = self.folder / f"{_file_name(variant)}.pen"
        if not exists(path / "manifest.json"):
            make_folders(self.folder)
            wanted = self._codec if variant == SOURCE else variant
            mix = wanted if _is_mix(wanted) else f"{wanted}=1"
            build(self.data, path, mix=mix, durable=False, on_progress=self.on_progress)
        return path

    def forget(self, paths: Iterable[str]) -> None:
        """Drop these paths from the page cache; data that is already on disk is not written again."""
        for path in paths:
            drop_cached(path, is_on_disk=path in self._on_disk)
            self._on_disk.add(path)

    @cached_property
    def facts(self) -> DataFacts:
        """Facts about the data."""
        samples = open_samples(self.dataset(SOURCE))
        labels = samples.scalars.get("label")
        return DataFacts(
            num_samples=len(samples),
            source_bytes=int(samples.sizes.sum()),
            codec=self._codec,
            num_classes=0 if labels is None else int(labels.max()) + 1,
            num_mask_classes=self._mask_classes() if "mask" in samples.image_fields else 0,
        )

    def _mask_classes(self) -> int:
        """Return one more than the largest value of a few masks; 255 means "none of these" by convention."""
        with Loader(self.dataset(SOURCE), subset=slice(0, LOOKED_AT)) as loader:
            masks = [np.asarray(mask) for batch in loader for mask in batch["mask"]]
        return int(max(mask[mask < NOT_A_CLASS].max(initial=0) for mask in masks)) + 1

    @cached_property
    def _codec(self) -> str:
        """Codec of most images."""
        if not is_folder(self.data):
            raise ArgumentError(
                "there is no such folder", where=str(self.data), fix="name a folder of images", code=100
            )
        found: Counter[str] = Counter()
        for path in list_tree(self.data).paths():
            try:
                found[inspect(read_range(path, 0, HEAD_BYTES)).codec] += 1
            except CodecError:
                continue
            if found.total() == LOOKED_AT:
                break
        if not found:
            raise ArgumentError(
                "there are no images here", where=str(self.data), fix="name a folder of images", code=100
            )
        return found.most_common(1)[0][0]


def _is_mix(text: str) -> bool:
    """Return whether a text gives shares: `png=0.3,raw=0.7`, but not `jpeg:q=85`."""
    share = text.rpartition("=")[2]
    return "," in text or ("=" in text and share.replace(".", "", 1).isdigit() and ":" not in text.rpartition("=")[0])


def _file_name(variant: str) -> str:
    """Make a short file name that differs for different variants."""
    letters = "".join(letter if letter.isalnum() else "-" for letter in variant)[:48]
    return f"{letters}-{hashlib.sha256(variant.encode()).hexdigest()[:8]}"
