#!/usr/bin/env python3
"""The fuzz target of `tiff`, whose decoder is Python: atheris instruments tifffile and drives it as libFuzzer would.

fuzz/tiff.py CORPUS [libFuzzer options]      executable, because libFuzzer starts itself anew to merge a corpus
"""

from __future__ import annotations

import logging
import sys

import atheris
import numpy as np

with atheris.instrument_imports(include=["tifffile"]):
    import tifffile  # noqa: F401  # instrumented here, used by the codec

from penstock.codecs import DecodeOptions, find
from penstock.errors import CodecError

MAX_PIXELS = 2**20


def check_input(data: bytes) -> None:
    """Check that any bytes give pixels or a CodecError, and that a region equals the crop."""
    codec = find("tiff")
    codec.sniff(data)
    try:
        whole = codec.decode(data, DecodeOptions(max_pixels=MAX_PIXELS))
    except CodecError as error:
        if not (error.what and error.where and error.fix):
            raise AssertionError("error lacks what, where or fix") from error
        return
    height, width = whole.shape[:2]
    region = (height // 3, width // 2, height - height // 3, 1)
    part = codec.decode(data, DecodeOptions(max_pixels=MAX_PIXELS, region=region))
    assert np.array_equal(part, whole[height // 3 :, width // 2 : width // 2 + 1])


def main() -> None:
    """Hand the process over to libFuzzer."""
    logging.disable()
    atheris.Setup(sys.argv, check_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
