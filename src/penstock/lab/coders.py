"""Encoders and decoders for the lab's codec table: Penstock's codecs, and those of rival libraries.

Rivals (`avif`, `jxl`, `jpeg2k` through imagecodecs; `compressai`, learned ones) are only measured: no dataset is
written in them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np

from penstock.codecs import DecodeOptions, Promise, find, parse_format
from penstock.errors import ArgumentError
from penstock.lab.jobs.contract import LeftOut
from penstock.lab.learned import parse_learned
from penstock.types import Pixels


@dataclass(frozen=True, slots=True)
class Coder:
    """Format as two functions."""

    encode: Callable[[Pixels], bytes]
    decode: Callable[[bytes], Pixels]
    is_lossless: bool


def coder_of(text: str) -> Coder:
    """Return the coder of a format such as `jpeg:q=85` or `avif:q=60`; `LeftOut` if its library is missing.

    >>> import numpy
    >>> coder = coder_of("png")
    >>> int(coder.decode(coder.encode(numpy.full((2, 2), 7, numpy.uint8)))[0, 0])
    7
    """
    name = text.partition(":")[0]
    if name in RIVALS:
        if find_spec("imagecodecs") is None:
            raise LeftOut("imagecodecs is not installed (pip install imagecodecs)")
        return RIVALS[name](_quality(text))
    format = parse_format(text)
    codec = find(format.codec)
    return Coder(
        lambda pixels: codec.encode(pixels, format),
        lambda data: codec.decode(data, DecodeOptions()),
        codec.promise(format) is Promise.EXACT,
    )


def check_coder(text: str) -> None:
    """Refuse a text that is not a format, without needing its library."""
    name = text.partition(":")[0]
    if name == "compressai":
        parse_learned(text)
    elif name in RIVALS:
        _quality(text)
    else:
        parse_format(text)


def _quality(text: str) -> int | None:
    """Return the `q` of a format's text; None if it is `lossless` or missing."""
    name, _, told = text.partition(":")
    if told in ("", "lossless"):
        return None
    if not (told.startswith("q=") and told[2:].isdecimal() and int(told[2:]) <= 100):
        fix = f"write {name}:lossless or {name}:q=50"
        raise ArgumentError(f"{told!r} is not a quality of {name}", where="formats", fix=fix, code=100)
    return int(told[2:])


def _avif(quality: int | None) -> Coder:
    import imagecodecs

    # Speed 6 of 10 is what its tools choose by themselves; one thread, as every codec of the table has.
    def encode(pixels: Pixels) -> bytes:
        return bytes(
            imagecodecs.avif_encode(pixels, level=quality if quality is not None else 100, speed=6, numthreads=1)
        )

    return Coder(encode, lambda data: _array(imagecodecs.avif_decode(data, numthreads=1)), quality is None)


def _jxl(quality: int | None) -> Coder:
    import imagecodecs

    def encode(pixels: Pixels) -> bytes:
        if quality is None:
            return bytes(imagecodecs.jpegxl_encode(pixels, lossless=True, effort=3, numthreads=1))
        return bytes(imagecodecs.jpegxl_encode(pixels, level=quality, effort=3, numthreads=1))

    return Coder(encode, lambda data: _array(imagecodecs.jpegxl_decode(data, numthreads=1)), quality is None)


def _jpeg2k(quality: int | None) -> Coder:
    import imagecodecs

    def encode(pixels: Pixels) -> bytes:  # its level is a PSNR in dB; 0 is lossless
        return bytes(imagecodecs.jpeg2k_encode(pixels, level=quality or 0, numthreads=1))

    return Coder(encode, lambda data: _array(imagecodecs.jpeg2k_decode(data, numthreads=1)), quality is None)


RIVALS: Mapping[str, Callable[[int | None], Coder]] = {"avif": _avif, "jpeg2k": _jpeg2k, "jxl": _jxl}


def _array(decoded: object) -> Pixels:
    return np.asarray(decoded)
