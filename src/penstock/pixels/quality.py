"""How far two images are apart. The definitions are in native/pixels/quality.h."""

from __future__ import annotations

from penstock import _native
from penstock.types import Pixels


def psnr(a: Pixels, b: Pixels, *, max_value: float = 0) -> float:
    """Peak signal-to-noise ratio in dB over all samples; infinite for equal images.

    `max_value` is the largest sample there can be; 0 means that of the type. 12-bit values in 16 bits want 4095.

    >>> import numpy
    >>> round(psnr(numpy.full((4, 4), 10, numpy.uint8), numpy.full((4, 4), 11, numpy.uint8)), 2)
    48.13
    """
    return _native.psnr(a, b, max_value)


def ms_ssim(a: Pixels, b: Pixels, *, max_value: float = 0) -> float:
    """Multi-scale structural similarity (Wang, Simoncelli, Bovik 2003), the mean over channels; 1 for equal images.

    Five scales; images below 176 pixels get fewer, so compare figures only between images of like size.
    `max_value` as in `psnr`.

    >>> import numpy
    >>> grey = numpy.full((16, 16), 10, numpy.uint8)
    >>> ms_ssim(grey, grey)
    1.0
    """
    return _native.ms_ssim(a, b, max_value)
