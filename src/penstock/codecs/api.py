"""`encode`, `decode`, `inspect`: what most users need of codecs."""

from __future__ import annotations

from penstock import _native
from penstock.codecs.contract import DEFAULT_MAX_PIXELS, DecodeOptions, ImageInfo
from penstock.codecs.format import Format
from penstock.codecs.formats import parse_format
from penstock.codecs.native import decode_natively, info_from_native
from penstock.codecs.table import codec_for, find
from penstock.errors import ArgumentError
from penstock.types import Buffer, Pixels, Region


def encode(pixels: Pixels, format: str | Format) -> bytes:
    """Encode uint8 or uint16 pixels (H×W or H×W×C) in a format such as "png" or "jpeg:q=85".

    >>> import numpy
    >>> data = encode(numpy.zeros((2, 3), numpy.uint8), "raw")
    >>> decode(data).shape
    (2, 3)
    """
    parsed = parse_format(format) if isinstance(format, str) else format
    return find(parsed.codec).encode(pixels, parsed)


def decode(
    data: Buffer,
    *,
    region: Region | None = None,
    scale: int = 1,
    out: Pixels | None = None,
    options: DecodeOptions | None = None,
) -> Pixels:
    """Decode an image; its content decides the codec. Gives H×W for one channel, else H×W×C.

    `region` is (y, x, height, width) in pixels of the result at `scale`; only what it needs is decoded, where the
    codec can. `scale` 2, 4 or 8 decodes at a half, a quarter or an eighth of each side, where the codec can.
    `out` receives the pixels instead of a new array; its rows may be strided. `options` sets the rest.
    """
    pixels: Pixels | None
    if options is None:
        pixels = _native.decode(data, "", region, scale, out)
    elif region is not None or scale != 1:
        raise TypeError("give region and scale either directly or inside options, not both")
    else:
        pixels = decode_natively(data, "", options, out)
    if pixels is not None:
        return pixels
    return codec_for(data).decode(data, options or DecodeOptions(region=region, scale=scale), out=out)


def decode_counted(data: Buffer, *, region: Region | None = None, scale: int = 1) -> tuple[Pixels, int, int]:
    """Decode with a native codec and count: (pixels, units in the image, units decoded).

    A unit is what the codec cannot divide: an MCU of a JPEG, a tile of a Weir image, a row elsewhere. Codecs written in
    Python count nothing and are refused.
    """
    counted: tuple[Pixels | None, int, int] = _native.decode_counted(data, region, scale)
    pixels, num_units, num_decoded = counted
    if pixels is None:
        name = codec_for(data).name
        raise ArgumentError(
            f"{name} images are decoded by a plug-in, which counts no units",
            where="decode_counted",
            fix="use decode, or count in the plug-in",
        )
    return pixels, num_units, num_decoded


def inspect(data: Buffer, *, max_pixels: int = DEFAULT_MAX_PIXELS) -> ImageInfo:
    """Size, channels, depth and codec of an image, without decoding it."""
    fields = _native.inspect(data, "", max_pixels)
    if fields is not None:
        return info_from_native(fields)
    return codec_for(data).inspect(data, max_pixels=max_pixels)
