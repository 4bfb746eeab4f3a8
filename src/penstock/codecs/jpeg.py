"""`jpeg` codec, implemented with libjpeg-turbo.

Reads the same pixels as Pillow, by region and at 1/2, 1/4 or 1/8 of each side. Writes at any quality.
"""

from __future__ import annotations

from penstock import _native
from penstock.codecs.contract import Capabilities, Promise
from penstock.codecs.native import NativeCodec
from penstock.codecs.parameters import Choice, Flag, Integer
from penstock.types import Buffer

JPEG = NativeCodec(
    name="jpeg",
    extensions=(".jpg", ".jpeg"),
    parameters={
        "q": Integer(1, 100, None, "quality when encoding, 95 if absent; with it, JPEG sources are encoded again"),
        "subsampling": Choice(("444", "422", "420"), None, "chroma resolution when encoding, 420 if absent"),
        "progressive": Flag("progressive", "store coarse to fine, in scans"),
        "optimize": Flag("optimize", "compute Huffman tables for each image"),
        "restart": Flag("restart", "add a restart marker and its offset for every MCU row, so that crops skip rows"),
    },
    capabilities=Capabilities(channels=(1, 3), dtypes=("uint8",), scales=(1, 2, 4, 8), max_side=65500),
    promise_of=lambda _: Promise.LOSSY,
)


def restart_offsets(data: Buffer) -> list[int]:
    """Return the byte offsets of the restart intervals of the first scan, including its start.

    In a file written as `jpeg:restart`, entry r is the start of MCU row r.

    >>> import numpy, penstock
    >>> data = penstock.encode(numpy.zeros((40, 8), numpy.uint8), "jpeg:restart")
    >>> len(restart_offsets(data))
    5
    """
    return _native.jpeg_restart_offsets(data)


def row_offsets(data: Buffer) -> list[int]:
    """Return the byte offsets of the MCU rows that the file stores; empty if it has none or they are invalid.

    A decoder uses them to skip to the rows of a region (`spec/jpeg.md`). Files of a few KB do not store any.

    >>> import numpy, penstock
    >>> pixels = numpy.random.default_rng(0).integers(0, 256, (64, 128), numpy.uint8)
    >>> data = penstock.encode(pixels, "jpeg:restart")
    >>> len(row_offsets(data)), row_offsets(data) == restart_offsets(data)
    (8, True)
    """
    return _native.jpeg_row_offsets(data)
