"""Public functions to encode, decode and inspect images."""

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
    """Encode pixels in a format such as "png" or "jpeg:q=85".

    Args:
        pixels: A uint8 or uint16 array of shape H×W or H×W×C.
        format: A format as text, or a parsed `Format`.

    Returns:
        The encoded file.

    Raises:
        CodecError: If the format cannot hold these pixels.

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
    """Decode an image whose codec is detected from its content.

    Args:
        data: The bytes of an image file.
        region: Rectangle (y, x, height, width) to return, in pixels of the result at `scale`. Codecs that can
            decode only what the region needs.
        scale: 2, 4 or 8 decodes at a half, a quarter or an eighth of each side, if the codec supports it.
        out: Array that receives the pixels instead of a new one; its rows may be strided.
        options: Further options, such as the pixel limit and the EXIF orientation.

    Returns:
        An array of shape H×W for one channel, else H×W×C.

    Raises:
        CodecError: If the data is damaged, too large, or of an unknown codec.

    >>> import numpy
    >>> photo = encode(numpy.zeros((8, 8, 3), numpy.uint8), "png")
    >>> decode(photo, region=(0, 0, 4, 2)).shape
    (4, 2, 3)
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
    """Decode with a native codec and count the work: (pixels, units in the image, units decoded).

    A unit is the smallest part that the codec can decode: an MCU of a JPEG, a tile of a Weir image, a row elsewhere.
    Codecs written in Python do not count and are refused.
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
    """Read size, channels, depth and codec of an image without decoding it.

    >>> import numpy
    >>> inspect(encode(numpy.zeros((2, 3), numpy.uint8), "png")).shape
    (2, 3)
    """
    fields = _native.inspect(data, "", max_pixels)
    if fields is not None:
        return info_from_native(fields)
    return codec_for(data).inspect(data, max_pixels=max_pixels)
