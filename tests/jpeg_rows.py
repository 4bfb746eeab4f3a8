"""JPEGs that keep the offsets of their rows, taken apart and put together otherwise."""

from __future__ import annotations

import numpy as np

import penstock
from penstock.types import Pixels
from spec.reference.jpeg import NAME, read_header

HEAD = len(NAME) + 4


def photograph(height: int, width: int, channels: int = 3) -> Pixels:
    """Noise on a slope: enough bytes for a scan that keeps offsets."""
    rng = np.random.default_rng([height, width, channels])
    slope = (np.arange(height)[:, None, None] + np.arange(width)[None, :, None]) % 170
    pixels: Pixels = (slope + rng.integers(0, 80, (height, width, channels))).astype(np.uint8)
    return pixels if channels == 3 else pixels[..., 0]


def segment(offsets: list[int]) -> bytes:
    """An application segment with these offsets of rows 1 and on."""
    content = NAME + b"".join(offset.to_bytes(4, "big") for offset in offsets)
    return b"\xff\xe9" + (len(content) + 2).to_bytes(2, "big") + content


def without_offsets(data: bytes) -> bytes:
    """The same file with its markers, but without the segment."""
    header = read_header(data)
    assert header.offsets is not None
    begin = data.index(NAME) - 4
    return data[:begin] + data[begin + HEAD + len(header.offsets) :]


def kept_offsets(data: bytes) -> list[int]:
    """Offsets of rows 1 and on, as they stand in the segment, believed or not."""
    kept = read_header(data).offsets
    assert kept is not None
    return [int.from_bytes(kept[at : at + 4], "big") for at in range(0, len(kept), 4)]


def with_offsets(data: bytes, offsets: list[int]) -> bytes:
    """The same file with other offsets."""
    place = data.index(NAME) - 4
    bare = without_offsets(data)
    return bare[:place] + segment(offsets) + bare[place:]


def restart_jpeg(height: int, width: int, channels: int = 3, subsampling: str = "420") -> bytes:
    """A file that keeps its offsets."""
    return penstock.encode(photograph(height, width, channels), f"jpeg:restart:subsampling={subsampling}")
