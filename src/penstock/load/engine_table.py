"""Sample index prepared for the native engine: its table of places, and the columns for batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from penstock import _native
from penstock.errors import ArgumentError
from penstock.index import Ids, SampleIndex, Subset
from penstock.load.batch_columns import ListColumn
from penstock.load.blocks import Blocks
from penstock.order import Window
from penstock.storage import Store


@dataclass(frozen=True)
class EngineTable:
    """Samples by id, from 0 to `num_samples` - 1: the table of the native engine, and columns of batches."""

    place: str
    """The folder or dataset, for messages."""
    num_samples: int
    table: _native.SampleTable
    image_fields: tuple[str, ...]
    """Names of what the table decodes; the first is `image`."""
    scalars: Mapping[str, npt.NDArray[np.generic]]
    """Columns of numbers, handed out as they are: `label` and others."""
    formats: npt.NDArray[np.integer]
    """Number of each sample's format; the order spreads formats evenly."""
    splits: npt.NDArray[np.int16]
    """Index into `split_names`; -1 without a split."""
    split_names: tuple[str, ...]
    sizes: npt.NDArray[np.int64]
    """Encoded bytes of each sample: what it takes to keep it."""
    largest_pixel_bytes: int | None
    """Bytes of the largest decoded sample; None if unknown before its header is read."""
    working_bytes: int = 0
    """Largest scratch of a decode, besides the encoded and the decoded sample."""
    lists: Mapping[str, ListColumn] = field(default_factory=dict)
    """Texts, lists and boxes, delivered as a list with one item per sample."""
    fingerprint: str = ""
    lanes: int | None = None
    """Number of lanes in the manifest."""
    window: Window | None = None
    """Window of the dataset's plan."""
    records: tuple[npt.NDArray[np.integer], npt.NDArray[np.integer]] | None = None
    """(shard, offset) of each sample; None if samples are files, which are read by name."""
    file_bytes: npt.NDArray[np.integer] | None = None
    """Size of each file that `records` names; None if samples are files."""
    format_names: tuple[str, ...] = ()
    """Names of the formats by number; empty if content decides, file by file."""
    pixel_sizes: npt.NDArray[np.int64] | None = None
    """Bytes of each sample's images once they are decoded, as the index knows them; None if only headers will tell."""
    blocks: Blocks | None = None
    """Blocks of samples that are read together."""
    unloadable: Mapping[int, str] = field(default_factory=dict)
    """Ids and names of files that only Python decodes, such as TIFF."""
    masks: frozenset[str] = frozenset()
    """Image fields with a label or a depth per pixel."""
    read_head: Callable[[int, int], bytes] | None = None
    """Function that returns the first bytes of a file by id and count; None if the index has the headers."""

    index: SampleIndex | None = None
    """The index that this was made from; None for samples that were made up to measure the engine."""
    reads_apart: bool = False
    """True if the images of a sample lie in several files, which are read one by one and joined."""
    has_checksums: bool = False
    """True if records are verified against a checksum of the index."""

    selection: Ids | None = None
    """Ids of the split and subset that a loader was asked for, ascending; None means all samples."""

    def __len__(self) -> int:
        """Return the number of samples of the chosen split and subset; `num_samples` counts all of them."""
        return self.num_samples if self.selection is None else len(self.selection)

    @property
    def ids(self) -> Ids:
        """Ids of the chosen samples, ascending."""
        return np.arange(self.num_samples) if self.selection is None else self.selection

    @property
    def store(self) -> Store | None:
        """The store that holds the bytes; None if they are in files of a local disk."""
        return None if self.index is None else self.index.store

    def refuse_unloadable(self) -> None:
        """Refuse, before the first batch, chosen files that a loader cannot decode."""
        chosen = self._chosen_unloadable()
        if len(chosen) == 0:
            return
        shown = ", ".join(repr(self.unloadable[sample]) for sample in chosen[:3].tolist())
        count = f"{len(chosen)} files are" if len(chosen) > 1 else "a file is"
        raise ArgumentError(
            f"{count} decoded in Python, which a loader does not: {shown}{', …' if len(chosen) > 3 else ''}",
            where=self.place,
            fix=f"build a dataset, which stores them in a format that loads: `penstock build {self.place} OUT.pen "
            "--mix weir:fast=1`; or leave them out with `subset`",
            code=100,
        )

    def _chosen_unloadable(self) -> Ids:
        """Return the chosen ids in `unloadable`, ascending. Sorts only those, because a selection may be very large."""
        unloadable = np.sort(np.fromiter(self.unloadable, np.int64, len(self.unloadable)))
        if self.selection is None or len(unloadable) == 0:
            return unloadable
        places = np.searchsorted(self.selection, unloadable)
        found = self.selection[np.minimum(places, len(self.selection) - 1)] == unloadable
        return np.asarray(unloadable[found])

    @property
    def largest_read_bytes(self) -> int:
        """Bytes of the largest sample or block."""
        # Of files that are put together, one is read beside the others.
        own = int(self.sizes.max()) * (2 if self.reads_apart else 1)
        return own if self.blocks is None else max(own, self.blocks.largest_read_bytes(None))

    def sizes_at(self, fidelity: int | None) -> npt.NDArray[np.int64]:
        """Return the sizes with this many scans of samples in blocks; None means all."""
        return self.sizes if self.blocks is None else self.blocks.sizes_at(fidelity)

    @property
    def places(self) -> Ids | None:
        """Rank of every sample on disk; None if that is its id."""
        if self.records is None:
            return None
        shards, offsets = self.records
        places = np.empty(self.num_samples, np.int64)
        places[np.lexsort((offsets, shards))] = np.arange(self.num_samples)
        return places

    def select(self, split: str | None, subset: Subset | None) -> Ids | None:
        """Return the ids of a split and a part of it, ascending; None means all samples."""
        assert self.index is not None, "made up samples have no splits"
        return self.index.select(split, subset)
