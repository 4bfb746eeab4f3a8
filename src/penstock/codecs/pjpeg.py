"""`pjpeg` codec: progressive JPEG, stored so that a prefix of the bytes is a coarser image of the same size.

A dataset interleaves the scans of 64 images (spec/dataset.md, "Blocks"). A single image in this format is a plain
progressive JPEG. Decoding accepts a file that ends after any scan, and does not smooth its blocks.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock import _native
from penstock.codecs.contract import Capabilities, Promise
from penstock.codecs.format import Format
from penstock.codecs.native import NativeCodec
from penstock.codecs.parameters import Choice, Counts, Integer
from penstock.types import Buffer

MOST_SCANS = 100
ALL_SCANS = "all"


@dataclass(frozen=True)
class ProgressiveJpeg(NativeCodec):
    """Progressive JPEG codec. The table asks `jpeg` first, so content alone is never detected as `pjpeg`."""

    def sniff(self, data: Buffer) -> bool:
        """Return whether the content is a JPEG."""
        return bool(_native.sniff(data) == "jpeg")


PJPEG = ProgressiveJpeg(
    name="pjpeg",
    extensions=(".jpg", ".jpeg"),
    parameters={
        "groups": Counts(MOST_SCANS, "1+2+5+10", "numbers of scans that a prefix can have, or all", ALL_SCANS),
        "q": Integer(1, 100, None, "quality when encoding, 95 if absent; JPEG sources keep their coefficients"),
        "subsampling": Choice(("444", "422", "420"), None, "chroma resolution when encoding, 420 if absent"),
    },
    capabilities=Capabilities(channels=(1, 3), dtypes=("uint8",), scales=(1, 2, 4, 8), max_side=65500),
    promise_of=lambda _: Promise.LOSSY,
)


def scan_groups(format: Format) -> tuple[int, ...] | None:
    """Return the numbers of scans that a prefix may have, ascending; None if every scan is its own piece.

    >>> from penstock.codecs import parse_format
    >>> scan_groups(parse_format("pjpeg"))
    (1, 2, 5, 10)
    """
    text = format.get("groups") or ALL_SCANS
    return None if text == ALL_SCANS else tuple(int(part) for part in text.split("+"))


def scan_ends(data: Buffer) -> list[int]:
    """Return the end offset of each scan of a JPEG. `pjpeg` decodes a file that is cut at such an offset.

    >>> import numpy, penstock
    >>> data = penstock.encode(numpy.zeros((16, 16, 3), numpy.uint8), "pjpeg")
    >>> len(scan_ends(data)), scan_ends(data)[-1] == len(data) - 2
    (10, True)
    """
    return _native.jpeg_scan_ends(data)
