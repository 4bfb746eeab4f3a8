"""Summary of a dataset from its manifest and index; no image is read."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from penstock.records import Dataset, Field, Manifest, open_dataset


@dataclass(frozen=True, slots=True)
class SizeBin:
    """Number of images with [`from_pixels`, `below_pixels`) pixels."""

    from_pixels: int
    below_pixels: int
    images: int


@dataclass(frozen=True, slots=True)
class DatasetSummary:
    """Figures about a dataset: samples, bytes and sizes."""

    path: str
    manifest: Manifest
    fingerprint: str
    num_bytes: int
    """Bytes of all files except the manifest."""
    width: tuple[int, int, int]
    """Smallest, median and largest width."""
    height: tuple[int, int, int]
    length: tuple[int, int, int]
    """Smallest, median and largest number of bytes of an image."""
    sizes: tuple[SizeBin, ...]
    labels: Mapping[str, int] | None
    """Number of samples per class, by name."""

    @property
    def fields(self) -> tuple[Field, ...]:
        """Fields of each sample."""
        return self.manifest.fields


def describe_dataset(path: str | os.PathLike[str]) -> DatasetSummary:
    """Open a dataset and summarize it."""
    dataset = open_dataset(path)
    manifest, found = dataset.manifest, dataset.locations()
    pixels = found.width.astype(np.int64) * found.height
    return DatasetSummary(
        path=os.fspath(path),
        manifest=manifest,
        fingerprint=dataset.fingerprint,
        num_bytes=manifest.index.bytes + sum(shard.bytes for shard in manifest.shards),
        width=_spread(found.width),
        height=_spread(found.height),
        length=_spread(found.length),
        sizes=_histogram(pixels),
        labels=_labels(dataset),
    )


def _spread(values: np.ndarray[tuple[int, ...], np.dtype[np.integer]]) -> tuple[int, int, int]:
    return int(values.min()), int(np.median(values)), int(values.max())


def _histogram(pixels: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> tuple[SizeBin, ...]:
    """Count images by their number of pixels, in powers of two."""
    powers = np.floor(np.log2(np.maximum(pixels, 1))).astype(int)
    counts = np.bincount(powers)
    return tuple(SizeBin(2**power, 2 ** (power + 1), int(counts[power])) for power in np.flatnonzero(counts).tolist())


def _labels(dataset: Dataset) -> dict[str, int] | None:
    if dataset.classes is None:
        return None
    column = dataset.column("label").drop_null().to_numpy(zero_copy_only=False)
    counts = np.bincount(column, minlength=len(dataset.classes))
    return {name: int(count) for name, count in zip(dataset.classes, counts, strict=True)}
