"""Contract that every codec implements.

One file implements each codec, `table.py` lists them, and `penstock.testing.codec` tests any of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Protocol, runtime_checkable

from penstock.codecs.format import Format
from penstock.codecs.parameters import Parameter
from penstock.types import Buffer, Pixels, Region

DEFAULT_MAX_PIXELS = 2**28
"""Pixel limit of an image, checked before memory is allocated. Callers that trust a file may raise it."""


class Promise(Enum):
    """Guarantee of a format: exact pixels, or an approximation."""

    EXACT = "exact"
    LOSSY = "lossy"


@dataclass(frozen=True, slots=True)
class ImageInfo:
    """Facts from the header of an image file, read without decoding pixels."""

    codec: str
    width: int
    height: int
    channels: int
    """Channels of a decode with default options. CMYK has 3, because it decodes to RGB."""
    depth: int
    """Bits per sample as stored."""
    dtype: str
    """Type of the decoded values: "uint8" or "uint16"."""
    lossless: bool
    color: str = ""
    """Kind of colours: "grey", "grey+alpha", "rgb", "rgb+alpha", "cmyk", "ycck" or "palette"."""
    variant: str = ""
    """Variant that is specific to the codec, such as "progressive" or "interlaced"."""
    orientation: int = 1
    """EXIF orientation, 1 to 8."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of a decode with default options: (H, W) for one channel, else (H, W, C)."""
        if self.channels == 1:
            return (self.height, self.width)
        return (self.height, self.width, self.channels)


@dataclass(frozen=True, slots=True)
class DecodeOptions:
    """Options of a decode. The defaults return the whole image, exact, in its stored orientation."""

    region: Region | None = None
    """Rectangle to decode, in pixels of the scaled (and, with `orient`, oriented) image."""
    scale: int = 1
    """Decode at 1/scale of each side (rounded up), if the codec supports it: 1, 2, 4 or 8."""
    palette: str = "colours"
    """Treatment of palettes: "colours", or "indices" to keep palette indices, as masks need."""
    orient: bool = False
    """Apply EXIF orientation."""
    fast: bool = False
    """Let a lossy codec use a faster, less precise transform."""
    verify: bool = True
    """Verify checksums if the format has them."""
    max_pixels: int = DEFAULT_MAX_PIXELS


@runtime_checkable
class Codec(Protocol):
    """Interface of an image codec. Implementations hold no state and are called from many threads."""

    @property
    def name(self) -> str:
        """Name of the codec in lower case, as written in the text of a format."""

    @property
    def extensions(self) -> tuple[str, ...]:
        """File name endings, the preferred one first. Used to write files, never to detect their codec."""

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """Parameters that may follow the name in the text of a format."""

    @property
    def can_encode(self) -> bool:
        """True if the codec writes images; False if it only reads them as sources."""

    def promise(self, format: Format) -> Promise:
        """Return whether pixels encoded in this format decode exactly."""

    def sniff(self, data: Buffer) -> bool:
        """Return whether the content belongs to this codec, judging by the first bytes only."""

    def inspect(self, data: Buffer, *, max_pixels: int = DEFAULT_MAX_PIXELS) -> ImageInfo:
        """Read the header of an image without decoding it."""

    def decode(self, data: Buffer, options: DecodeOptions, *, out: Pixels | None = None) -> Pixels:
        """Decode an image, into `out` if it is given."""

    def encode(self, pixels: Pixels, format: Format) -> bytes:
        """Encode pixels. Raise CodecError if the format cannot hold them."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Pixels that a codec can hold; the shared test suite and the planner's candidates depend on it."""

    channels: tuple[int, ...] = (1, 2, 3, 4)
    dtypes: tuple[str, ...] = ("uint8", "uint16")
    scales: tuple[int, ...] = (1,)
    max_side: int = 2**31 - 1
    checksummed: bool = False
    """True if a checksum detects any changed byte of a file."""
