"""`tiff` reads what a training set may hold, refuses the rest by name, and never lets a foreign exception out."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pytest
import tifffile
from PIL import Image

import penstock
from penstock.codecs import Codec, DecodeOptions, Format, find
from penstock.codecs.tiff import TIFF, TiffCodec
from penstock.testing.codec import CHECKS, sample_image
from penstock.types import Pixels


def write(pixels: npt.NDArray[np.generic], **options: object) -> bytes:
    file = io.BytesIO()
    tifffile.imwrite(file, pixels, **options)  # type: ignore[arg-type]  # passed on as they are
    return file.getvalue()


def write_image(pixels: Pixels, **options: object) -> bytes:
    return write(pixels, photometric="rgb" if pixels.ndim == 3 else "minisblack", metadata=None, **options)


@dataclass(frozen=True)
class WritableTiff(TiffCodec):
    """The codec under test with an encoder, so that the shared suite can run on it."""

    compression: str | None = None

    def encode(self, pixels: Pixels, format: Format) -> bytes:
        return write_image(pixels, compression=self.compression)


@pytest.mark.parametrize("compression", [None, "lzw", "deflate", "packbits", "zstd"])
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_tiff_passes(check: Callable[[Codec, str], None], compression: str | None) -> None:
    check(WritableTiff(compression=compression), "tiff")


@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
@pytest.mark.parametrize("channels", [1, 3, 4])
@pytest.mark.parametrize(
    "options",
    [
        {"tile": (16, 32), "compression": "deflate", "predictor": True},
        {"rowsperstrip": 7, "compression": "lzw", "predictor": True},
        {"byteorder": ">"},
        {"bigtiff": True, "byteorder": ">", "compression": "zstd"},
    ],
    ids=str,
)
def test_every_layout_decodes(options: dict[str, object], channels: int, dtype: str) -> None:
    pixels = sample_image(41, 50, channels, dtype)
    data = write_image(pixels, **options)
    decoded = penstock.decode(data)
    assert decoded.dtype == pixels.dtype
    np.testing.assert_array_equal(decoded, pixels)
    np.testing.assert_array_equal(penstock.decode(data, region=(3, 5, 20, 9)), pixels[3:23, 5:14])


def test_separate_planes_are_interleaved() -> None:
    pixels = sample_image(20, 30, 3, "uint16")
    data = write(np.moveaxis(pixels, -1, 0), photometric="rgb", planarconfig="separate", metadata=None)
    np.testing.assert_array_equal(penstock.decode(data), pixels)


@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
def test_white_is_zero_is_inverted(dtype: str) -> None:
    pixels = sample_image(20, 30, 1, dtype)
    np.testing.assert_array_equal(
        penstock.decode(write(np.invert(pixels), photometric="miniswhite", metadata=None)), pixels
    )


@pytest.mark.parametrize("mode", ["L", "RGB", "RGBA"])
@pytest.mark.parametrize("compression", ["raw", "tiff_lzw", "tiff_adobe_deflate", "packbits"])
def test_decode_equals_pillow(mode: str, compression: str) -> None:
    image = Image.fromarray(sample_image(33, 47, 4, "uint8")).convert(mode)
    file = io.BytesIO()
    image.save(file, "TIFF", compression=compression)
    np.testing.assert_array_equal(penstock.decode(file.getvalue()), np.asarray(image))


@pytest.mark.parametrize("orientation", range(1, 9))
def test_orientation_is_told_and_applied_on_request(orientation: int) -> None:
    pixels = sample_image(10, 13, 3, "uint8")
    data = write_image(pixels, extratags=[(274, "H", 1, orientation, True)])
    as_webp = io.BytesIO()
    exif = Image.Exif()
    exif[0x0112] = orientation
    Image.fromarray(pixels).save(as_webp, "WEBP", lossless=True, exif=exif)
    assert penstock.inspect(data).orientation == orientation
    np.testing.assert_array_equal(penstock.decode(data), pixels)
    for region in (None, (1, 2, 5, 6)):
        options = DecodeOptions(orient=True, region=region)
        np.testing.assert_array_equal(
            penstock.decode(data, options=options), penstock.decode(as_webp.getvalue(), options=options)
        )


def test_inspect_tells_what_a_decode_gives() -> None:
    info = penstock.inspect(write_image(sample_image(20, 30, 4, "uint16"), compression="lzw"))
    assert (info.codec, info.shape, info.dtype, info.depth) == ("tiff", (20, 30, 4), "uint16", 16)
    assert (info.color, info.variant, info.lossless) == ("rgb+alpha", "lzw", True)


GREY = np.zeros((8, 8), np.uint8)
COLOUR = np.zeros((8, 8, 3), np.uint8)
REFUSED = {
    "int16 samples": write(GREY.astype(np.int16), photometric="minisblack"),
    "float32 samples": write(GREY.astype(np.float32), photometric="minisblack"),
    "32-bit samples": write(GREY.astype(np.uint32), photometric="minisblack"),
    "1-bit samples": write(GREY.astype(bool), photometric="minisblack"),
    "complex64 samples": write(GREY.astype(np.complex64), photometric="minisblack"),
    "more than one page": write(np.zeros((2, 8, 8), np.uint8), photometric="minisblack"),
    "palette pixels": write(GREY, photometric="palette", colormap=np.zeros((3, 256), np.uint16)),
    "cmyk pixels": write(np.zeros((8, 8, 4), np.uint8), photometric="separated"),
    "compression JPEG": write(COLOUR, photometric="rgb", compression="jpeg"),
    "grey and 1 more channels": write(np.zeros((8, 8, 2), np.uint8), photometric="minisblack", planarconfig="contig"),
    "premultiplied": write(np.zeros((8, 8, 4), np.uint8), photometric="rgb", extrasamples=["assocalpha"]),
    "volumes": write(np.zeros((16, 16, 16), np.uint8), photometric="minisblack", tile=(16, 16, 16), volumetric=True),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_read_is_refused_by_name(name: str) -> None:
    for verb in (penstock.inspect, penstock.decode):
        with pytest.raises(penstock.CodecError, match=name) as caught:
            verb(REFUSED[name])
        assert caught.value.code == 350
        assert "convert it" in caught.value.fix


def test_it_is_never_written() -> None:
    assert not find("tiff").can_encode
    with pytest.raises(penstock.CodecError, match="codec 'tiff' is read-only"):
        penstock.encode(GREY, "tiff")


@pytest.mark.parametrize("options", [{}, {"compression": "lzw"}, {"tile": (16, 16)}], ids=str)
def test_every_cut_is_found(options: dict[str, object]) -> None:
    data = write_image(sample_image(40, 40, 3, "uint8"), **options)
    for cut in range(4, len(data), 13):
        with pytest.raises(penstock.CodecError) as caught:
            penstock.decode(data[:cut])
        assert caught.value.where
        assert caught.value.fix


def test_a_missing_strip_is_not_filled_in() -> None:
    data = bytearray(write_image(sample_image(40, 40, 3, "uint8"), rowsperstrip=10))
    with tifffile.TiffFile(io.BytesIO(data)) as file:
        counts = file.pages.first.tags["StripByteCounts"]
    data[counts.valueoffset : counts.valueoffset + 2] = b"\0\0"
    with pytest.raises(penstock.CodecError, match="lacks strips or tiles"):
        penstock.decode(data)


def test_a_huge_tile_is_refused_before_it_is_decoded() -> None:
    data = bytearray(write_image(sample_image(40, 40, 1, "uint8"), tile=(16, 16), compression="deflate"))
    with tifffile.TiffFile(io.BytesIO(data)) as file:
        for name in ("TileWidth", "TileLength"):
            offset = file.pages.first.tags[name].valueoffset
            data[offset : offset + 2] = b"\0\xf0"
    with pytest.raises(penstock.CodecError, match="tiles of 61440x61440 pixels"):
        penstock.decode(data)


def test_without_the_extra_the_error_says_what_to_install() -> None:
    program = (
        "import sys, penstock\n"
        "sys.modules['tifffile'] = sys.modules['imagecodecs'] = None\n"
        "penstock.decode(b'II*\\0' + bytes(20))\n"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "CodecError: reading TIFF needs tifffile and imagecodecs" in result.stderr
    assert "pip install 'penstock[tiff]'" in result.stderr


def test_importing_penstock_does_not_import_the_extra() -> None:
    program = "import sys, penstock; print([m for m in ('tifffile', 'imagecodecs', 'PIL') if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_the_table_lists_it() -> None:
    assert find("tiff") is TIFF
