"""Helpers for codecs written in Python: checks, rotation and cropping after a whole decode."""

from __future__ import annotations

import numpy as np

from penstock.codecs.contract import DecodeOptions
from penstock.errors import ArgumentError, CodecError
from penstock.types import Pixels, Region


def check_size(codec: str, width: int, height: int, max_pixels: int) -> None:
    """Refuse a header that claims no pixels or more than `max_pixels`. Call this before allocating memory."""
    if width < 1 or height < 1:
        raise CodecError(
            f"image has no pixels ({width}x{height})",
            where=f"header of the {codec} data",
            fix="the file is damaged: restore it from its source",
            code=320,
        )
    if width * height > max_pixels:
        raise CodecError(
            f"image of {width}x{height} pixels is larger than max_pixels={max_pixels}",
            where=f"header of the {codec} data",
            fix="pass a larger max_pixels if the file is trusted",
            code=340,
        )


def check_scale(codec: str, scale: int) -> None:
    """Refuse every scale except 1."""
    if scale != 1:
        raise CodecError(
            f"codec '{codec}' cannot decode at scale 1/{scale}",
            where="scale",
            fix="decode at scale 1 and resize",
            code=350,
        )


def deliver(pixels: Pixels, orientation: int, options: DecodeOptions, out: Pixels | None) -> Pixels:
    """Rotate and crop a decoded image as the options ask, and copy it into `out` if it is given.

    >>> import numpy
    >>> image = numpy.arange(6, dtype=numpy.uint8).reshape(2, 3)
    >>> deliver(image, 3, DecodeOptions(orient=True, region=(0, 0, 1, 2)), None).tolist()
    [[5, 4]]
    """
    if options.orient:
        pixels = oriented(pixels, orientation)
    if options.region is not None:
        pixels = _crop(pixels, options.region)
    if out is None:
        return pixels if pixels.flags.c_contiguous else pixels.copy()
    if not isinstance(out, np.ndarray) or out.shape != pixels.shape or out.dtype != pixels.dtype:
        raise ArgumentError(
            "output has another shape or sample type than the decoded image",
            where="out",
            fix=f"pass an array of shape {pixels.shape} and type {pixels.dtype.name}",
            code=120,
        )
    out[...] = pixels
    return out


def oriented(pixels: Pixels, orientation: int) -> Pixels:
    """Return a view of the image, rotated upright from an EXIF orientation between 1 and 8."""
    if orientation >= 5:
        pixels = pixels.swapaxes(0, 1)
    if orientation in (2, 3, 6, 7):
        pixels = pixels[:, ::-1]
    if orientation in (3, 4, 7, 8):
        pixels = pixels[::-1]
    return pixels


def _crop(pixels: Pixels, region: Region) -> Pixels:
    height, width = pixels.shape[:2]
    y, x, region_height, region_width = region
    if min(y, x) < 0 or min(region_height, region_width) < 1 or y + region_height > height or x + region_width > width:
        raise ArgumentError(
            f"region (y={y}, x={x}, height={region_height}, width={region_width}) does not lie inside the image of "
            f"{width}x{height} pixels",
            where="region",
            fix=f"choose 0 <= y < y + height <= {height} and 0 <= x < x + width <= {width}",
            code=110,
        )
    return pixels[y : y + region_height, x : x + region_width]
