"""Real files whose headers are made to claim another size, checksums of the header included where it has any."""

from __future__ import annotations

import io
import re
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import tifffile
from PIL import Image

import penstock
from penstock import _native
from penstock.testing.codec import sample_image
from penstock.types import Pixels


@dataclass(frozen=True)
class Header:
    """How one codec says an image's size."""

    write: Callable[[Pixels], bytes]
    """A real file of some RGB pixels."""
    claim: Callable[[bytearray, int, int], bytes]
    """The same file claiming width × height."""
    max_side: int = 60000


def _jpeg(data: bytearray, width: int, height: int) -> bytes:
    frame = re.search(rb"\xff[\xc0-\xc2]\x00\x11\x08", data)
    assert frame is not None
    struct.pack_into(">HH", data, frame.end(), height, width)
    return bytes(data)


def _png(data: bytearray, width: int, height: int) -> bytes:
    struct.pack_into(">II", data, 16, width, height)
    struct.pack_into(">I", data, 29, zlib.crc32(data[12:29]))
    return bytes(data)


def _bmp(data: bytearray, width: int, height: int) -> bytes:
    struct.pack_into("<ii", data, 18, width, height)
    return bytes(data)


def _pnm(data: bytearray, width: int, height: int) -> bytes:
    return re.sub(rb"^P6\s+\d+\s+\d+", b"P6\n%d %d" % (width, height), bytes(data))


def _raw(data: bytearray, width: int, height: int) -> bytes:
    struct.pack_into("<II", data, 8, width, height)
    return bytes(data)


def _tiff(data: bytearray, width: int, height: int) -> bytes:
    with tifffile.TiffFile(io.BytesIO(data)) as file:
        tags = file.pages.first.tags
    for name, side in (("ImageWidth", width), ("ImageLength", height), ("RowsPerStrip", height)):
        struct.pack_into({3: "<H", 4: "<I"}[tags[name].dtype], data, tags[name].valueoffset, side)
    return bytes(data)


def _webp(data: bytearray, width: int, height: int) -> bytes:
    assert data[12:16] == b"VP8 "
    struct.pack_into("<HH", data, 26, width, height)
    return bytes(data)


def _l3(data: bytearray, width: int, height: int) -> bytes:
    """One that would be read as far as its tables: they are as long as the claim needs, and their checksum is right."""
    struct.pack_into("<II", data, 4, width, height)
    num_patches = -(-width // 64) * -(-height // 64)
    tables = bytes((2 * data[15] + 4) * min(num_patches, 1 << 20))
    struct.pack_into("<I", data, 16, _native.crc32c(bytes(data[:16]) + tables))
    return bytes(data[:20]) + tables


def _sluice(data: bytearray, width: int, height: int) -> bytes:
    struct.pack_into("<II", data, 8, width, height)
    struct.pack_into("<I", data, 44, _native.crc32c(bytes(data[:44])))
    return bytes(data)


def _weir(data: bytearray, width: int, height: int) -> bytes:
    struct.pack_into("<II", data, 8, width, height)
    struct.pack_into("<I", data, 28, _native.crc32c(bytes(data[:28])))
    return bytes(data)


def encoder(format: str) -> Callable[[Pixels], bytes]:
    return lambda pixels: penstock.encode(pixels, format)


def pillow(kind: str) -> Callable[[Pixels], bytes]:
    def write(pixels: Pixels) -> bytes:
        file = io.BytesIO()
        Image.fromarray(pixels).save(file, kind)
        return file.getvalue()

    return write


def write_tiff(pixels: Pixels) -> bytes:
    file = io.BytesIO()
    tifffile.imwrite(file, pixels, photometric="rgb", compression="lzw", metadata=None)
    return file.getvalue()


HEADERS = {
    "bmp": Header(pillow("BMP"), _bmp),
    "jpeg": Header(encoder("jpeg"), _jpeg),
    "l3": Header(encoder("l3"), _l3),
    "pjpeg": Header(encoder("pjpeg"), _jpeg),
    "png": Header(pillow("PNG"), _png),
    "pnm": Header(pillow("PPM"), _pnm),
    "raw": Header(encoder("raw"), _raw),
    "sluice": Header(encoder("sluice"), _sluice),
    "tiff": Header(write_tiff, _tiff),
    "webp": Header(encoder("webp"), _webp, max_side=16383),
    "weir": Header(encoder("weir"), _weir),
}


def claiming(codec: str, width: int, height: int) -> bytes:
    """A real file of the codec whose header claims width × height pixels."""
    header = HEADERS[codec]
    return header.claim(bytearray(header.write(sample_image(48, 40, 3, "uint8"))), width, height)


def photograph() -> Pixels:
    """Large enough that a file has many 64-byte steps, small enough to be decoded thousands of times."""
    rng = np.random.default_rng(1)
    y, x, c = np.mgrid[0:90, 0:110, 0:3]
    pixels: Pixels = (128 + 60 * np.sin(y / 9) + 40 * np.cos(x / 7 + c) + rng.normal(0, 6, y.shape)).astype(np.uint8)
    return pixels
