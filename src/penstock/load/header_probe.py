"""Estimate how large the images of files are from a few headers, before memory is divided."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from penstock import _native
from penstock.codecs import ImageInfo, inspect
from penstock.errors import PenstockError
from penstock.index import Ids
from penstock.load.engine_table import EngineTable

NUM_LARGEST, NUM_SPREAD = 32, 32  # some ms from the page cache, less than a second from a disk that seeks
HEAD_BYTES = 1 << 16
MOST_HEAD_BYTES = 1 << 22  # where a camera put a preview before the size


@dataclass(frozen=True, slots=True)
class SizeEstimate:
    """Largest sizes among the headers that were read. Other images may take more."""

    pixel_bytes: int
    working_bytes: int
    """Scratch of the codec, besides the pixels."""


def probe_headers(samples: EngineTable, selection: Ids) -> SizeEstimate | None:
    """Read the headers of the largest files and of some others; None if no header could be read.

    A damaged file is reported when it is loaded.
    """
    if samples.read_head is None:
        return None
    found = [seen for sample in some_of(samples, selection).tolist() if (seen := _look(samples, sample)) is not None]
    if not found:
        return None
    return SizeEstimate(max(seen.pixel_bytes for seen in found), max(seen.working_bytes for seen in found))


def some_of(samples: EngineTable, selection: Ids) -> Ids:
    """Select samples, the largest files first; the same ones every time."""
    by_size = selection[np.argsort(-samples.sizes[selection], kind="stable")]
    largest, rest = by_size[:NUM_LARGEST], np.sort(by_size[NUM_LARGEST:])
    count = min(NUM_SPREAD, len(rest))
    places = ((np.arange(count) + 0.5) * len(rest) / max(count, 1)).astype(np.int64)
    return np.concatenate([largest, rest[places]])


def _look(samples: EngineTable, sample: int) -> SizeEstimate | None:
    assert samples.read_head is not None
    info = header_of(samples.read_head, sample)
    if info is None:
        return None
    bits = 16 if info.dtype == "uint16" else 8
    pixels = info.height * info.width * max(3, info.channels) * bits // 8
    working = 0
    if info.codec in _native.codec_names():
        working = _native.working_bytes(info.codec, info.height, info.width, info.channels, bits)
    return SizeEstimate(pixels, working)


def header_of(read_head: Callable[[int, int], bytes], sample: int) -> ImageInfo | None:
    """Return the header of an image, given a function that reads its first bytes; None if it cannot be read."""
    for num_bytes in (HEAD_BYTES, MOST_HEAD_BYTES):
        try:
            return inspect(read_head(sample, num_bytes))
        except (PenstockError, OSError):
            continue
    return None
