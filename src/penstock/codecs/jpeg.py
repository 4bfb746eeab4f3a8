"""`jpeg`: read as Pillow reads it, by region and at 1/2, 1/4, 1/8; written at any quality. Native: libjpeg-turbo."""

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
        "q": Integer(1, 100, None, "quality of an encode, 95 if absent; with it a JPEG source is encoded anew"),
        "subsampling": Choice(("444", "422", "420"), None, "chroma resolution of an encode, 420 if absent"),
        "progressive": Flag("progressive", "coarse to fine, in scans"),
        "optimize": Flag("optimize", "Huffman tables made for this image"),
        "restart": Flag(
            "restart", "a restart marker every MCU row, and where each is, so that rows are entered directly"
        ),
    },
    capabilities=Capabilities(channels=(1, 3), dtypes=("uint8",), scales=(1, 2, 4, 8), max_side=65500),
    promise_of=lambda _: Promise.LOSSY,
)


def restart_offsets(data: Buffer) -> list[int]:
    """Byte offsets at which the restart intervals of the first scan begin, the scan's own beginning included.

    In a file written as `jpeg:restart` entry r is where MCU row r begins.

    >>> import numpy, penstock
    >>> data = penstock.encode(numpy.zeros((40, 8), numpy.uint8), "jpeg:restart")
    >>> len(restart_offsets(data))
    5
    """
    return _native.jpeg_restart_offsets(data)


def row_offsets(data: Buffer) -> list[int]:
    """Byte offsets at which the MCU rows begin, as the file itself keeps them; none if it does not, or is not believed.

    A decoder enters the rows of a region by them (`spec/jpeg.md`). Files of a few KB do not keep any.

    >>> import numpy, penstock
    >>> pixels = numpy.random.default_rng(0).integers(0, 256, (64, 128), numpy.uint8)
    >>> data = penstock.encode(pixels, "jpeg:restart")
    >>> len(row_offsets(data)), row_offsets(data) == restart_offsets(data)
    (8, True)
    """
    return _native.jpeg_row_offsets(data)
