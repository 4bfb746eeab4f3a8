"""Blocks of a dataset for a loader: which samples are read together, and which part of them a fidelity needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from penstock import _native
from penstock.errors import DatasetError
from penstock.index import Segments, StoredColumns
from penstock.order import Window
from penstock.records.fidelity import pieces_for, stored_scans

BLOCK_RECORDS = 64
NO_BLOCK = 2**32 - 1
OPEN_BLOCKS = 16
"""Smallest number of blocks that are shuffled together."""
OPEN_BYTES = 512 << 20
"""Lanes are as many as keep open windows below about this, at full fidelity."""
BLOCKS_PER_LANE = 16
LEAST_LANES = 8
LANES = (48, 24, 8, 4, 2, 1)

Sizes = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Blocks:
    """Blocks of the field `image`; samples outside blocks have `NO_BLOCK`."""

    of_sample: npt.NDArray[np.uint32]
    edge_begin: npt.NDArray[np.uint64]
    edges: npt.NDArray[np.uint64]
    """First loaded byte of each block, and the end of each of its groups."""
    segments: Segments
    formats: npt.NDArray[np.int32]
    scans: tuple[tuple[int, ...], ...]
    """Scans that each number of pieces has, by format; () without pieces."""
    other_bytes: Sizes
    """Bytes of a sample's other fields; of a sample outside blocks, all its bytes."""

    @property
    def num_blocks(self) -> int:
        """Number of blocks."""
        return len(self.edge_begin) - 1

    def sizes_at(self, fidelity: int | None) -> Sizes:
        """Return the encoded bytes of each sample at a fidelity; None means all scans."""
        count = np.array([pieces_for(scans, fidelity) if scans else 0 for scans in self.scans], np.int64)
        begin = self.segments.begin
        wanted = np.minimum(count[self.formats], np.diff(begin))
        total = np.concatenate([[0], np.cumsum(self.segments.length)])
        sizes: Sizes = self.other_bytes + total[begin[:-1] + wanted] - total[begin[:-1]]
        return sizes

    def largest_read_bytes(self, fidelity: int | None) -> int:
        """Return the bytes of the largest block, up to a fidelity."""
        formats = np.zeros(self.num_blocks, np.int32)
        inside = self.of_sample != NO_BLOCK
        formats[self.of_sample[inside]] = self.formats[inside]
        begin = self.edge_begin.astype(np.int64)
        count = np.array([pieces_for(scans, fidelity) if scans else 0 for scans in self.scans], np.int64)
        wanted = np.minimum(count[formats], np.diff(begin) - 1)
        return int((self.edges[begin[:-1] + wanted] - self.edges[begin[:-1]]).max())

    def lanes(self) -> int:
        """Return the number of lanes for these blocks: fewer if there are few blocks or large ones."""
        block_bytes = float((self.edges[self.edge_begin[1:].astype(np.int64) - 1]).sum())
        block_bytes -= float(self.edges[self.edge_begin[:-1].astype(np.int64)].sum())
        filled = max(1, self.num_blocks // BLOCKS_PER_LANE)
        affordable = int(OPEN_BYTES * self.num_blocks / max(block_bytes, 1) / 2)
        return next(lanes for lanes in LANES if lanes <= min(filled, max(affordable, LEAST_LANES)))

    def window(self) -> Window:
        """Return the default window, with at least 16 blocks open at a time."""
        return Window(BLOCK_RECORDS, max(2, -(-OPEN_BLOCKS // self.lanes())))

    def add_to(self, table: _native.SampleTable, scans: Sequence[Sequence[int]]) -> None:
        """Add the blocks to the native table; `scans` by its codecs."""
        segments = self.segments
        table.set_pieces(
            segments.begin.astype(np.uint64),
            segments.offset.astype(np.uint64),
            segments.length.astype(np.uint64),
            np.ascontiguousarray(segments.checksum, np.uint32),
        )
        table.set_blocks(self.of_sample, self.edge_begin, self.edges, [list(some) for some in scans])


def find_blocks(locations: Sequence[StoredColumns], place: str) -> Blocks | None:
    """Return the blocks of the first field, or None; other fields come before the pieces of their block."""
    image, segments = locations[0], locations[0].segments
    if segments is None:
        return None
    counts = np.diff(segments.begin)
    inside = np.flatnonzero(counts > 0)
    of_sample = _block_numbers(image, inside)
    num_blocks = int(of_sample[inside].max()) + 1
    blocks = of_sample[inside].astype(np.int64)
    groups = np.zeros(num_blocks, np.int64)
    groups[blocks] = counts[inside]
    if (groups[blocks] != counts[inside]).any():
        raise _refusal("images of one block have different numbers of pieces", place)
    edge_begin = np.concatenate([[0], np.cumsum(groups + 1)])
    edges = np.zeros(edge_begin[-1], np.int64)
    edges[edge_begin[:-1]] = np.iinfo(np.int64).max
    for found in locations:
        np.minimum.at(edges, edge_begin[blocks], found.offset[inside])
    for group in range(int(groups.max())):
        has = inside[counts[inside] > group]
        piece = segments.begin[has] + group
        target = edge_begin[of_sample[has].astype(np.int64)] + group + 1
        np.maximum.at(edges, target, segments.offset[piece] + segments.length[piece])
    steps = np.diff(edges)
    steps[edge_begin[1:-1] - 1] = 0
    if (steps < 0).any():
        raise _refusal("groups of a block are not one behind the other", place)
    other = sum((found.length for found in locations[1:]), np.zeros(len(image), np.int64))
    return Blocks(
        of_sample,
        edge_begin.astype(np.uint64),
        edges.astype(np.uint64),
        segments,
        image.format,
        tuple(stored_scans(text) for text in image.formats),
        np.where(counts > 0, other, other + image.length),
    )


def _block_numbers(image: StoredColumns, inside: npt.NDArray[np.int64]) -> npt.NDArray[np.uint32]:
    """Number the records of a shard by their place, 64 per block."""
    in_turn = inside[np.lexsort((image.offset[inside], image.file[inside]))]
    shard = image.file[in_turn]
    first = np.flatnonzero(np.diff(shard, prepend=-1) != 0)
    rank = np.arange(len(in_turn)) - np.repeat(first, np.diff(np.append(first, len(in_turn))))
    starts = rank % BLOCK_RECORDS == 0
    of_sample = np.full(len(image), NO_BLOCK, np.uint32)
    of_sample[in_turn] = np.cumsum(starts) - 1
    return of_sample


def _refusal(what: str, place: str) -> DatasetError:
    return DatasetError(what, where=place, fix="restore the index from a copy, or build the dataset again", code=220)
