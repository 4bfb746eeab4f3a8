"""Lossless conversion from JPEG to JPEG, to Sluice and back."""

from __future__ import annotations

from penstock import _native
from penstock.codecs.contract import DEFAULT_MAX_PIXELS
from penstock.codecs.format import Format
from penstock.codecs.formats import parse_format
from penstock.codecs.sluice import layer_bits
from penstock.codecs.table import codec_for
from penstock.errors import ArgumentError
from penstock.types import Buffer

LOSSLESS = ("jpeg", "sluice")
"""Codecs that hold the coefficients of a JPEG."""


def transcode(data: Buffer, format: str | Format, *, max_pixels: int = DEFAULT_MAX_PIXELS) -> bytes:
    """Rewrite a JPEG with its own coefficients in another coding. Pixels, EXIF, ICC and comments stay the same.

    "jpeg" keeps the bytes. "jpeg:optimize" makes Huffman tables for the image, "jpeg:progressive" orders it coarse to
    fine, and "jpeg:restart" puts a restart marker before every MCU row. The last two also optimise the tables. If a
    file has several images (MPO), only the first is kept.

    "sluice" takes about 11 % fewer bytes and decodes faster. It keeps everything: transcoding it to bare "jpeg" gives
    the original file, byte for byte. "sluice:layers=2" also makes a prefix of the bytes a coarser image.

    >>> import numpy, penstock
    >>> data = penstock.encode(numpy.arange(64, dtype=numpy.uint8).reshape(8, 8), "jpeg")
    >>> smaller = transcode(data, "jpeg:optimize")
    >>> len(smaller) < len(data), bool((penstock.decode(smaller) == penstock.decode(data)).all())
    (True, True)
    >>> transcode(transcode(data, "sluice"), "jpeg") == data
    True
    """
    parsed = parse_format(format) if isinstance(format, str) else format
    source = codec_for(data).name
    _check(source, parsed)
    if source == parsed.codec and not parsed.parameters:
        return bytes(data)
    jpeg = data if source == "jpeg" else _native.sluice_to_jpeg(data, max_pixels)
    if parsed.codec == "sluice":
        return _native.sluice_from_jpeg(jpeg, max_pixels=max_pixels, layer_bits=layer_bits(parsed))
    if not parsed.parameters:
        return bytes(jpeg)
    return _native.transcode_jpeg(jpeg, list(parsed.parameters), max_pixels)


def _check(source: str, target: Format) -> None:
    if source not in LOSSLESS or target.codec not in LOSSLESS:
        raise ArgumentError(
            f"{source} cannot become {target} without decoding: only jpeg and sluice are transcoded into each other",
            where="format",
            fix="use encode(decode(data), format)",
            code=130,
        )
    for key in ("q", "subsampling"):
        if target.get(key) is not None:
            raise ArgumentError(
                f"{key}={target.get(key)} changes pixels, a transcode does not",
                where="format",
                fix=f"leave out {key}, or use encode(decode(data), format) to encode again with loss",
                code=130,
            )
