"""Conversion from any format to any other, with as little loss as the two allow."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.codecs.api import encode
from penstock.codecs.contract import DecodeOptions, ImageInfo
from penstock.codecs.format import Format
from penstock.codecs.formats import parse_format
from penstock.codecs.table import codec_for
from penstock.codecs.transcode import LOSSLESS, transcode
from penstock.types import Buffer


@dataclass(frozen=True, slots=True)
class Conversion:
    """Image in its new format, with facts about the conversion."""

    data: bytes
    format: Format
    source: ImageInfo
    transcoded: bool
    """True if the coefficients of a JPEG were kept, without a decode and without new loss."""


def convert(data: Buffer, format: str | Format, options: DecodeOptions | None = None) -> Conversion:
    """Convert an image to another format; its codec is detected from its content.

    JPEG and Sluice become each other without loss and keep their metadata, unless the format names a quality or a
    subsampling, or the options change the pixels. All other images are decoded and encoded, and keep only their pixels.

    >>> import numpy, penstock
    >>> photo = penstock.encode(numpy.zeros((8, 8), numpy.uint8), "jpeg")
    >>> convert(photo, "jpeg").data == photo, convert(photo, "raw").source.codec
    (True, 'jpeg')
    """
    target = parse_format(format) if isinstance(format, str) else format
    wishes = options or DecodeOptions()
    codec = codec_for(data)
    source = codec.inspect(data, max_pixels=wishes.max_pixels)
    if codec.name in LOSSLESS and target.codec in LOSSLESS and _keeps_coefficients(target, wishes, source):
        return Conversion(transcode(data, target, max_pixels=wishes.max_pixels), target, source, True)
    return Conversion(encode(codec.decode(data, wishes), target), target, source, False)


def _keeps_coefficients(target: Format, wishes: DecodeOptions, source: ImageInfo) -> bool:
    same_loss = target.get("q") is None and target.get("subsampling") is None
    same_place = wishes.region is None and wishes.scale == 1 and not (wishes.orient and source.orientation != 1)
    return same_loss and same_place
