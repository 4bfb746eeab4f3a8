"""What a codec is. One file implements each, `table.py` lists them, `penstock.testing.codec` tests any of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Protocol, runtime_checkable

from penstock.codecs.format import Format
from penstock.codecs.parameters import Parameter
from penstock.types import Buffer, Pixels, Region

DEFAULT_MAX_PIXELS = 2**28
"""Of an image, before anything of it is allocated; whoever trusts a file may ask for more."""


class Promise(Enum):
    """What a decode gives back of what was encoded."""

    EXACT = "exact"
    LOSSY = "lossy"


@dataclass(frozen=True, slots=True)
class ImageInfo:
    """What a file says about itself, found without decoding pixels."""

    codec: str
    width: int
    height: int
    channels: int
    """Of a decode with default options; CMYK counts 3, because it decodes to RGB."""
    depth: int
    """Bits per sample as stored."""
    dtype: str
    """Of a decode: "uint8" or "uint16"."""
    lossless: bool
    color: str = ""
    """"grey", "grey+alpha", "rgb", "rgb+alpha", "cmyk", "ycck" or "palette"."""
    variant: str = ""
    """Codec-specific, such as "progressive" or "interlaced"."""
    orientation: int = 1
    """EXIF orientation, 1 to 8."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Of a decode with default options: (H, W) for one channel, else (H, W, C)."""
        if self.channels == 1:
            return (self.height, self.width)
        return (self.height, self.width, self.channels)


@dataclass(frozen=True, slots=True)
class DecodeOptions:
    """How to decode. The defaults give the whole image, exact, as stored."""

    region: Region | None = None
    """In pixels of the scaled (and, with `orient`, oriented) image."""
    scale: int = 1
    """Decode at 1/scale of each side (rounded up), where the codec can: 1, 2, 4 or 8."""
    palette: str = "colours"
    """"colours", or "indices" to keep palette indices as a mask needs them."""
    orient: bool = False
    """Apply EXIF orientation."""
    fast: bool = False
    """Let a lossy codec use a rougher, faster transform."""
    verify: bool = True
    """Check checksums where the format has them."""
    max_pixels: int = DEFAULT_MAX_PIXELS


@runtime_checkable
class Codec(Protocol):
    """An image codec. Implementations hold no state and are called from many threads."""

    @property
    def name(self) -> str:
        """Lower-case word, as it stands in a format's text."""

    @property
    def extensions(self) -> tuple[str, ...]:
        """File name endings, the preferred one first; used for writing, never to guess what a file is."""

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """What may follow the name in a format's text."""

    @property
    def can_encode(self) -> bool:
        """False for codecs that are only read as sources."""

    def promise(self, format: Format) -> Promise:
        """Whether pixels encoded in this format come back exactly."""

    def sniff(self, data: Buffer) -> bool:
        """Whether this content is of this codec; looks at the first bytes only."""

    def inspect(self, data: Buffer, *, max_pixels: int = DEFAULT_MAX_PIXELS) -> ImageInfo:
        """Read the header only."""

    def decode(self, data: Buffer, options: DecodeOptions, *, out: Pixels | None = None) -> Pixels:
        """Decode, into `out` if one is given."""

    def encode(self, pixels: Pixels, format: Format) -> bytes:
        """Encode, or refuse by name what the format cannot hold."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Which pixels a codec can hold; drives the shared test suite and the planner's candidates."""

    channels: tuple[int, ...] = (1, 2, 3, 4)
    dtypes: tuple[str, ...] = ("uint8", "uint16")
    scales: tuple[int, ...] = (1,)
    max_side: int = 2**31 - 1
    checksummed: bool = False
    """Whether any flipped byte of a file is found."""
