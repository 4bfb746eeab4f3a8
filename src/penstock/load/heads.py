"""How large the images of a plain folder are: the headers of a few files tell, before memory is shared out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock import _native
from penstock.codecs import inspect
from penstock.errors import PenstockError
from penstock.load.samples import Ids, Samples

NUM_LARGEST, NUM_SPREAD = 32, 32  # some ms from the page cache, less than a second from a disk that seeks
HEAD_BYTES = 1 << 16
MOST_HEAD_BYTES = 1 << 22  # where a camera put a preview before the size


@dataclass(frozen=True, slots=True)
class Seen:
    """The most of those whose headers were read. Others may take more."""

    pixel_bytes: int
    working_bytes: int
    """Of the codec, beside the pixels."""


def look_at_heads(samples: Samples, selection: Ids) -> Seen | None:
    """Of the largest files and of some from all over the rest; None if no header could be read.

    What is wrong with a file is told when its turn comes.
    """
    if samples.read_head is None:
        return None
    found = [seen for sample in some_of(samples, selection).tolist() if (seen := _look(samples, sample)) is not None]
    if not found:
        return None
    return Seen(max(seen.pixel_bytes for seen in found), max(seen.working_bytes for seen in found))


def some_of(samples: Samples, selection: Ids) -> Ids:
    """The largest first, as files; the same ones every time."""
    by_size = selection[np.argsort(-samples.sizes[selection], kind="stable")]
    largest, rest = by_size[:NUM_LARGEST], np.sort(by_size[NUM_LARGEST:])
    count = min(NUM_SPREAD, len(rest))
    places = ((np.arange(count) + 0.5) * len(rest) / max(count, 1)).astype(np.int64)
    return np.concatenate([largest, rest[places]])


def _look(samples: Samples, sample: int) -> Seen | None:
    assert samples.read_head is not None
    for num_bytes in (HEAD_BYTES, MOST_HEAD_BYTES):
        try:
            info = inspect(samples.read_head(sample, num_bytes))
        except (PenstockError, OSError):
            continue
        bits = 16 if info.dtype == "uint16" else 8
        pixels = info.height * info.width * max(3, info.channels) * bits // 8
        working = 0
        if info.codec in _native.codec_names():
            working = _native.working_bytes(info.codec, info.height, info.width, info.channels, bits)
        return Seen(pixels, working)
    return None
