"""JPEG against Pillow: the same pixels, whole, by region, scaled, oriented, in every colour and subsampling."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import simplejpeg  # type: ignore[import-untyped]  # it ships no types
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageOps

import penstock
from penstock.codecs import DecodeOptions, decode_counted, parse_format, transcode
from penstock.testing.codec import sample_image
from penstock.types import Pixels, Region

SUBSAMPLINGS = ("4:4:4", "4:2:2", "4:2:0")
RARE_SUBSAMPLINGS = ("440", "411")
"""Not written by Pillow, but read."""
MARKERS: dict[str, dict[str, Any]] = {
    "plain": {},
    "progressive": {"progressive": True},
    "restart": {"restart_marker_blocks": 3},
}


def pillow_pixels(data: bytes) -> Pixels:
    """As the design says: grey and RGB as they are, CMYK as RGB."""
    with Image.open(io.BytesIO(data)) as image:
        pixels: Pixels = np.asarray(image if image.mode in ("L", "RGB") else image.convert("RGB"))
    return pixels


def pillow_jpeg(pixels: Pixels, mode: str = "RGB", **options: Any) -> bytes:  # noqa: ANN401  # passed on to Pillow
    file = io.BytesIO()
    Image.fromarray(pixels, mode).save(file, "JPEG", **options)
    return file.getvalue()


def random_region(rng: np.random.Generator, height: int, width: int) -> Region:
    h, w = int(rng.integers(1, height + 1)), int(rng.integers(1, width + 1))
    return int(rng.integers(height - h + 1)), int(rng.integers(width - w + 1)), h, w


def check_regions(data: bytes, full: Pixels, regions: list[Region], scale: int = 1) -> None:
    for y, x, h, w in regions:
        found = penstock.decode(data, region=(y, x, h, w), scale=scale)
        np.testing.assert_array_equal(found, full[y : y + h, x : x + w], err_msg=f"{(y, x, h, w)} at 1/{scale}")


@pytest.mark.parametrize("part", range(6))
def test_photographs_decode_to_pillows_pixels_whole_and_by_region(shared_data: Path, part: int) -> None:
    files = sorted((shared_data / "imagenet").iterdir())[part::6]
    assert len(files) == 50
    rng = np.random.default_rng(part)
    for path in files:
        data = path.read_bytes()
        full = penstock.decode(data)
        np.testing.assert_array_equal(full, pillow_pixels(data), err_msg=path.name)
        check_regions(data, full, [random_region(rng, *full.shape[:2]) for _ in range(3)])


@pytest.mark.parametrize("markers", MARKERS)
@pytest.mark.parametrize("subsampling", SUBSAMPLINGS)
def test_every_alignment_of_a_region_equals_the_crop(subsampling: str, markers: str) -> None:
    pixels = sample_image(53, 71, 3, "uint8")
    check_every_alignment(pillow_jpeg(pixels, subsampling=subsampling, quality=80, **MARKERS[markers]))


@pytest.mark.parametrize("subsampling", RARE_SUBSAMPLINGS)
def test_every_alignment_of_a_rare_subsampling_equals_the_crop(subsampling: str) -> None:
    pixels = sample_image(53, 71, 3, "uint8")
    check_every_alignment(simplejpeg.encode_jpeg(pixels, quality=80, colorsubsampling=subsampling))


def check_every_alignment(data: bytes) -> None:
    full = penstock.decode(data)
    np.testing.assert_array_equal(full, pillow_pixels(data))
    rng = np.random.default_rng(5)
    corners = [(y, x) for y in range(0, 40, 3) for x in range(0, 60, 3)]
    regions = [(y, x, int(rng.integers(1, 53 - y + 1)), int(rng.integers(1, 71 - x + 1))) for y, x in corners]
    check_regions(data, full, regions)


@given(
    height=st.integers(1, 90),
    width=st.integers(1, 90),
    grey=st.booleans(),
    subsampling=st.sampled_from(SUBSAMPLINGS),
    markers=st.sampled_from(sorted(MARKERS)),
    quality=st.integers(5, 100),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=80, deadline=None)
def test_any_jpeg_equals_pillow(
    height: int, width: int, grey: bool, subsampling: str, markers: str, quality: int, seed: int
) -> None:
    pixels = sample_image(height, width, 1 if grey else 3, "uint8", seed)
    options = {} if grey else {"subsampling": subsampling}
    data = pillow_jpeg(pixels, "L" if grey else "RGB", quality=quality, **options, **MARKERS[markers])
    full = penstock.decode(data)
    np.testing.assert_array_equal(full, pillow_pixels(data))
    rng = np.random.default_rng(seed)
    check_regions(data, full, [random_region(rng, height, width) for _ in range(4)])
    for scale in (2, 4, 8):
        small = penstock.decode(data, scale=scale)
        check_regions(data, small, [random_region(rng, *small.shape[:2])], scale)


@pytest.mark.parametrize("scale", [2, 4, 8])
def test_a_reduced_scale_equals_pillows_draft(scale: int) -> None:
    data = pillow_jpeg(sample_image(96, 160, 3, "uint8"), quality=90)
    with Image.open(io.BytesIO(data)) as image:
        image.draft("RGB", (160 // scale, 96 // scale))
        expected = np.asarray(image)
    np.testing.assert_array_equal(penstock.decode(data, scale=scale), expected)


def test_cmyk_becomes_rgb_as_pillow_converts_it() -> None:
    data = pillow_jpeg(sample_image(40, 52, 4, "uint8"), "CMYK", quality=90)
    assert penstock.inspect(data).color in ("cmyk", "ycck")
    full = penstock.decode(data)
    np.testing.assert_array_equal(full, pillow_pixels(data))
    check_regions(data, full, [(3, 5, 17, 21), (0, 0, 1, 1), (39, 51, 1, 1)])


@pytest.mark.parametrize("orientation", range(1, 9))
def test_orientation_is_applied_when_asked_for(orientation: int) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    data = pillow_jpeg(sample_image(24, 40, 3, "uint8"), exif=exif.tobytes())
    with Image.open(io.BytesIO(data)) as image:
        expected = np.asarray(ImageOps.exif_transpose(image))
    assert penstock.inspect(data).orientation == orientation
    np.testing.assert_array_equal(penstock.decode(data, options=DecodeOptions(orient=True)), expected)
    crop = penstock.decode(data, options=DecodeOptions(orient=True, region=(3, 5, 11, 13)))
    np.testing.assert_array_equal(crop, expected[3:14, 5:18])
    np.testing.assert_array_equal(penstock.decode(data), pillow_pixels(data))


def test_a_region_transforms_only_the_mcus_it_needs() -> None:
    data = pillow_jpeg(sample_image(512, 512, 3, "uint8"), subsampling="4:4:4")
    _, total, decoded = decode_counted(data, region=(200, 200, 64, 64))
    assert total == 64 * 64
    assert 64 <= decoded <= 12 * 12


@pytest.mark.parametrize("format_text", ["jpeg:optimize", "jpeg:progressive", "jpeg:restart", "jpeg:restart:optimize"])
def test_transcoding_keeps_pixels_and_metadata(format_text: str) -> None:
    exif = Image.Exif()
    exif[0x010E] = "a description"
    data = pillow_jpeg(sample_image(61, 83, 3, "uint8"), quality=85, exif=exif.tobytes(), icc_profile=b"profile" * 9)
    coded = transcode(data, parse_format(format_text))
    assert coded != data
    np.testing.assert_array_equal(penstock.decode(coded), penstock.decode(data))
    with Image.open(io.BytesIO(coded)) as image:
        assert image.getexif()[0x010E] == "a description"
        assert image.info["icc_profile"] == b"profile" * 9


@pytest.mark.parametrize("between", ["jpeg:progressive", "jpeg:restart", "jpeg:optimize"])
def test_transcoding_keeps_every_coefficient(between: str) -> None:
    data = pillow_jpeg(sample_image(61, 83, 3, "uint8"), quality=85, subsampling="4:2:0")
    straight = transcode(data, parse_format("jpeg:optimize"))
    roundabout = transcode(transcode(data, parse_format(between)), parse_format("jpeg:optimize"))
    assert roundabout == straight  # the bytes are a function of the coefficients alone


def first_scans(data: bytes, count: int) -> bytes:
    """A progressive JPEG that ends after some of its scans, with an end mark as if that were all of them."""
    places = [place.start() for place in re.finditer(b"\xff\xda", data)]
    return data[: places[count]] + b"\xff\xd9"


@pytest.mark.parametrize("format_text", ["jpeg:progressive", "jpeg:restart", "jpeg:optimize"])
@pytest.mark.parametrize("count", range(1, 10))
def test_a_transcode_refuses_a_file_whose_missing_scans_a_decoder_makes_up_for(count: int, format_text: str) -> None:
    data = first_scans(pillow_jpeg(sample_image(61, 83, 3, "uint8"), quality=85, progressive=True), count)
    with pytest.raises(penstock.CodecError, match=r"lacks scans[\s\S]*jpeg:q=95") as caught:
        transcode(data, parse_format(format_text))
    assert caught.value.code == 350


@pytest.mark.parametrize("format_text", ["jpeg:progressive", "jpeg:restart", "jpeg:optimize"])
@pytest.mark.parametrize("count", range(1, 10))
def test_a_transcode_takes_a_file_whose_missing_scans_change_no_pixel(count: int, format_text: str) -> None:
    data = first_scans(pillow_jpeg(np.full((61, 83, 3), 128, np.uint8), progressive=True), count)
    coded = transcode(data, parse_format(format_text))
    for scale in (1, 2, 4, 8):
        np.testing.assert_array_equal(penstock.decode(coded, scale=scale), penstock.decode(data, scale=scale))


def test_the_first_picture_of_a_multi_picture_file_is_decoded() -> None:
    first, second = sample_image(40, 56, 3, "uint8"), np.zeros((24, 32, 3), np.uint8)
    stream = io.BytesIO()
    Image.fromarray(first).save(stream, "MPO", save_all=True, append_images=[Image.fromarray(second)], quality=95)
    with Image.open(io.BytesIO(stream.getvalue())) as image:
        np.testing.assert_array_equal(penstock.decode(stream.getvalue()), np.asarray(image))


def test_a_scan_repeated_two_thousand_times_is_refused() -> None:
    data = pillow_jpeg(sample_image(64, 64, 3, "uint8"), progressive=True)
    last = data.rindex(b"\xff\xda")
    bomb = data[:last] + data[last:-2] * 2000 + data[-2:]
    with pytest.raises(penstock.CodecError, match=r"progression sequence|more than 100 scans"):
        penstock.decode(bomb)
