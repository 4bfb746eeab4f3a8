"""`tiff` codec: reads one page of 8 or 16 bits, grey, RGB or RGBA. Needs the extra `penstock[tiff]`.

tifffile reads far more than that. Images that a training set of photographs does not contain (signed and floating
samples, stacks, palettes, images compressed inside images) are refused before anything is decoded.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from penstock.codecs.contract import DEFAULT_MAX_PIXELS, Capabilities, DecodeOptions, ImageInfo, Promise
from penstock.codecs.deliver import check_scale, check_size, deliver
from penstock.codecs.format import Format
from penstock.codecs.parameters import Parameter
from penstock.errors import CodecError, PenstockError
from penstock.types import Buffer, Pixels

if TYPE_CHECKING:
    from tifffile import TiffPage

SIGNATURES = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
COMPRESSIONS = {1: "uncompressed", 5: "lzw", 8: "deflate", 32946: "deflate", 32773: "packbits", 50000: "zstd"}
PHOTOMETRICS = {0: "white-is-zero", 1: "grey", 2: "rgb", 3: "palette", 4: "mask", 5: "cmyk", 6: "ycbcr", 8: "lab"}
SAMPLE_FORMATS = {1: "uint", 2: "int", 3: "float", 4: "undefined", 5: "complex int", 6: "complex"}
UNASSOCIATED_ALPHA = 2
MAX_TILE_PIXELS = 2**24
"""Pixel limit of a tile that is larger than its image, so at most 16 MP of padding are decoded."""


@dataclass(frozen=True)
class TiffCodec:
    """TIFF codec that reads with tifffile and never writes."""

    name: str = "tiff"
    extensions: tuple[str, ...] = (".tif", ".tiff")
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    capabilities: Capabilities = field(default_factory=lambda: Capabilities(channels=(1, 3, 4)))
    can_encode: bool = False

    def promise(self, format: Format) -> Promise:
        """Return EXACT: every supported kind of TIFF stores pixels exactly."""
        return Promise.EXACT

    def sniff(self, data: Buffer) -> bool:
        """Return whether the content is TIFF or BigTIFF."""
        return bytes(memoryview(data)[:4]) in SIGNATURES

    def inspect(self, data: Buffer, *, max_pixels: int = DEFAULT_MAX_PIXELS) -> ImageInfo:
        """Read the directory of the file without decoding it."""
        with _only_page(data) as page:
            return _describe(page, max_pixels)

    def decode(self, data: Buffer, options: DecodeOptions, *, out: Pixels | None = None) -> Pixels:
        """Decode the whole image, then crop the region."""
        check_scale(self.name, options.scale)
        with _only_page(data) as page:
            info = _describe(page, options.max_pixels)
            _check_segments(page, len(data))
            pixels = _read_pixels(page, info)
        return deliver(pixels, info.orientation, options, out)

    def encode(self, pixels: Pixels, format: Format) -> bytes:
        """Raise CodecError, because TIFF is only read."""
        raise CodecError("codec 'tiff' is read-only", where="encode", fix="choose png or weir", code=350)


TIFF = TiffCodec()


@contextmanager
def _only_page(data: Buffer) -> Iterator[TiffPage]:
    """Yield the only page of a file. Inside the block, errors of tifffile become `CodecError`."""
    _need_extra()
    import tifffile

    try:
        with tifffile.TiffFile(io.BytesIO(data)) as file:
            page = file.pages.first
            if len(list(islice(file.pages, 2))) > 1:
                raise _refusal("more than one page")
            yield page
    except PenstockError:
        raise
    except MemoryError as error:
        raise CodecError(
            "could not allocate the image", where="memory", fix="lower max_pixels, or free memory", code=360
        ) from error
    except Exception as error:
        # On damaged numbers, tifffile and its decoders raise many kinds of errors: KeyError, struct.error,
        # ZeroDivisionError, their own. Inside this block all of them mean that the file is damaged.
        raise CodecError(
            f"tiff data is not valid: {type(error).__name__}: {error}",
            where="structure of the tiff data",
            fix="the file is damaged: restore it from its source",
            code=320,
        ) from error


def _need_extra() -> None:
    missing = [package for package in ("tifffile", "imagecodecs") if find_spec(package) is None]
    if missing:
        raise CodecError(
            f"reading TIFF needs {' and '.join(missing)}",
            where="installed packages",
            fix="pip install 'penstock[tiff]'",
            code=350,
        )


def _refusal(what: str) -> CodecError:
    return CodecError(
        f"tiff with {what} is not supported",
        where="header of the tiff data",
        fix="convert it to one page of 8- or 16-bit grey, RGB or RGBA",
        code=350,
    )


def _describe(page: TiffPage, max_pixels: int) -> ImageInfo:
    width, height = int(page.imagewidth), int(page.imagelength)
    check_size("tiff", width, height, max_pixels)
    _check_samples(page)
    orientation = int(page.tags.valueof(274, default=1))
    return ImageInfo(
        codec="tiff",
        width=width,
        height=height,
        channels=int(page.samplesperpixel),
        depth=int(page.bitspersample),
        dtype=f"uint{page.bitspersample}",
        lossless=True,
        color={1: "grey", 3: "rgb", 4: "rgb+alpha"}[int(page.samplesperpixel)],
        variant=COMPRESSIONS[page.compression],
        orientation=orientation if 1 <= orientation <= 8 else 1,
    )


def _check_samples(page: TiffPage) -> None:
    """Refuse every kind of pixel that is not 8- or 16-bit grey, RGB or RGBA."""
    samples = int(page.samplesperpixel)
    if page.compression not in COMPRESSIONS:
        raise _refusal(f"compression {getattr(page.compression, 'name', page.compression)}")
    if page.sampleformat != 1:
        raise _refusal(f"{SAMPLE_FORMATS.get(page.sampleformat, 'unknown')}{page.bitspersample} samples")
    if page.bitspersample not in (8, 16):
        raise _refusal(f"{page.bitspersample}-bit samples")
    if page.photometric not in (0, 1, 2):
        raise _refusal(f"{PHOTOMETRICS.get(page.photometric, f'photometric {page.photometric}')} pixels")
    if samples != 1 and page.photometric != 2:
        raise _refusal(f"grey and {samples - 1} more channels")
    if samples not in (1, 3, 4) or (samples == 1 and page.photometric == 2):
        raise _refusal(f"{samples} channels of RGB")
    if samples == 4 and tuple(page.extrasamples) != (UNASSOCIATED_ALPHA,):
        raise _refusal("a fourth channel that is premultiplied or no alpha")
    if page.imagedepth != 1 or page.tiledepth != 1:
        raise _refusal("volumes")


def _check_segments(page: TiffPage, num_bytes: int) -> None:
    """Check that every strip or tile exists, because tifffile would fill in missing ones."""
    if page.is_tiled:
        height, width = int(page.tilelength), int(page.tilewidth)
        if height * width > max(MAX_TILE_PIXELS, page.imagelength * page.imagewidth):
            raise _refusal(f"tiles of {width}x{height} pixels")
    else:
        height, width = int(page.rowsperstrip), int(page.imagewidth)
    num_segments = -(-page.imagelength // height) * -(-page.imagewidth // width)
    if page.planarconfig == 2:
        num_segments *= page.samplesperpixel
    segments = list(zip(page.dataoffsets, page.databytecounts, strict=True))
    reach = max(offset + size for offset, size in segments)
    if len(segments) != num_segments or reach > num_bytes or min(size for _, size in segments) < 1:
        raise CodecError(
            f"tiff data of {num_bytes} bytes lacks strips or tiles: {num_segments} are needed, {len(segments)} are "
            f"listed, the last ends at byte {reach}",
            where=f"byte {num_bytes} of the tiff data",
            fix="the file is cut off: restore it from its source",
            code=310,
        )


def _read_pixels(page: TiffPage, info: ImageInfo) -> Pixels:
    # One worker: threads belong to the native engine.
    pixels: Pixels = page.asarray(maxworkers=1)
    if page.planarconfig == 2 and info.channels > 1:
        pixels = np.moveaxis(pixels, 0, -1)
    if page.photometric == 0:
        pixels = np.invert(pixels)
    if pixels.shape != info.shape or pixels.dtype.name != info.dtype:
        raise ValueError(f"decoded to {pixels.shape} {pixels.dtype}, directory says {info.shape} {info.dtype}")
    return pixels.astype(info.dtype, copy=False)
