"""Measures of the difference between two images. native/pixels/quality.h has the definitions."""

from __future__ import annotations

from penstock import _native
from penstock.types import Pixels


def psnr(a: Pixels, b: Pixels, *, max_value: float = 0) -> float:
    """Compute the peak signal-to-noise ratio in dB over all values; infinite for equal images.

    `max_value` is the largest possible value; 0 means that of the type. For 12-bit values in 16 bits, pass 4095.

    >>> import numpy
    >>> round(psnr(numpy.full((4, 4), 10, numpy.uint8), numpy.full((4, 4), 11, numpy.uint8)), 2)
    48.13
    """
    return _native.psnr(a, b, max_value)


def ms_ssim(a: Pixels, b: Pixels, *, max_value: float = 0) -> float:
    """Compute the multi-scale structural similarity (Wang, Simoncelli, Bovik 2003); 1 for equal images.

    The result is the mean over channels. It uses five scales, and fewer for images below 176 pixels, so compare values
    only between images of similar size. `max_value` is the same as in `psnr`.

    >>> import numpy
    >>> grey = numpy.full((16, 16), 10, numpy.uint8)
    >>> ms_ssim(grey, grey)
    1.0
    """
    return _native.ms_ssim(a, b, max_value)
