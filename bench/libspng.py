"""libspng of the system for 16-bit grey, which imagecodecs does not hand through (Debian: libspng0)."""

from __future__ import annotations

import ctypes
import sys

import numpy as np

from penstock.types import Pixels

FORMAT_AS_STORED = 256  # SPNG_FMT_PNG: the channels and bits of the file, samples as this machine has them


def library() -> ctypes.CDLL:
    """Load the library, or end the benchmark and say what to install."""
    try:
        found = ctypes.CDLL("libspng.so.0")
    except OSError:
        sys.exit("libspng.so.0 is missing: apt-get install libspng0")
    found.spng_ctx_new.restype = ctypes.c_void_p
    return found


def decode_grey(spng: ctypes.CDLL, data: bytes, height: int, width: int) -> Pixels:
    """Decode a 16-bit grey PNG."""
    pixels = np.empty((height, width), np.uint16)
    context = ctypes.c_void_p(spng.spng_ctx_new(0))
    try:
        size = ctypes.c_size_t(pixels.nbytes)
        target = ctypes.c_void_p(pixels.ctypes.data)
        failed = spng.spng_set_png_buffer(context, data, ctypes.c_size_t(len(data)))
        failed = failed or spng.spng_decode_image(context, target, size, FORMAT_AS_STORED, 0)
        if failed:
            raise ValueError(f"libspng refuses the file: error {failed}")
    finally:
        spng.spng_ctx_free(context)
    return pixels
