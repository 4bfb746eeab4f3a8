"""What `webp` promises beyond the shared suite."""

from __future__ import annotations

import io
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

import penstock
from penstock.codecs import DecodeOptions, decode_counted, find, parse_format
from penstock.testing.codec import sample_image
from penstock.types import Pixels

LOSSY = ["webp", "webp:q=0", "webp:q=30:method=0", "webp:q=100:method=6"]


def pillow_webp(pixels: Pixels, **options: object) -> bytes:
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "WEBP", **options)
    return file.getvalue()


@pytest.mark.parametrize("channels", [3, 4])
@pytest.mark.parametrize("format", LOSSY)
def test_region_equals_the_crop_at_every_alignment(format: str, channels: int) -> None:
    data = penstock.encode(sample_image(21, 22, channels, "uint8"), format)
    full = penstock.decode(data)
    for y, x, end_y, end_x in itertools.product(range(0, 5), range(0, 5), range(16, 22), range(17, 23)):
        crop = penstock.decode(data, region=(y, x, end_y - y, end_x - x))
        np.testing.assert_array_equal(crop, full[y:end_y, x:end_x])


@settings(deadline=None, max_examples=40)
@given(st.data())
def test_region_of_any_scale_equals_the_crop(data: st.DataObject) -> None:
    height, width = data.draw(st.integers(1, 70)), data.draw(st.integers(1, 70))
    channels, scale = data.draw(st.sampled_from([3, 4])), data.draw(st.sampled_from([1, 2, 4, 8]))
    format = data.draw(st.sampled_from([*LOSSY, "webp:lossless"]))
    encoded = penstock.encode(sample_image(height, width, channels, "uint8"), format)
    full = penstock.decode(encoded, scale=scale)
    y, x = data.draw(st.integers(0, full.shape[0] - 1)), data.draw(st.integers(0, full.shape[1] - 1))
    h, w = data.draw(st.integers(1, full.shape[0] - y)), data.draw(st.integers(1, full.shape[1] - x))
    np.testing.assert_array_equal(
        penstock.decode(encoded, region=(y, x, h, w), scale=scale), full[y : y + h, x : x + w]
    )


def test_fast_is_near_and_its_regions_equal_its_crop() -> None:
    data = penstock.encode(sample_image(60, 50, 3, "uint8"), "webp")
    exact, fast = (penstock.decode(data, options=DecodeOptions(fast=fast)) for fast in (False, True))
    assert 0 < np.abs(exact.astype(int) - fast).mean() < 8
    for y, x in itertools.product(range(4), range(4)):
        part = penstock.decode(data, options=DecodeOptions(fast=True, region=(y, x, 31, 32)))
        np.testing.assert_array_equal(part, fast[y : y + 31, x : x + 32])


@pytest.mark.parametrize("scale", [2, 4, 8])
@pytest.mark.parametrize("format", ["webp", "webp:lossless"])
def test_scaled_decode_is_near_the_mean_of_what_it_covers(format: str, scale: int) -> None:
    smooth = np.indices((64, 128, 3)).sum(0).astype(np.uint8)
    small = penstock.decode(penstock.encode(smooth, format), scale=scale)
    means = smooth.reshape(64 // scale, scale, 128 // scale, scale, 3).mean((1, 3))
    assert np.abs(small - means).max() < 6


@pytest.mark.parametrize("method", range(7))
def test_lossless_keeps_colours_under_alpha_zero(method: int) -> None:
    pixels = sample_image(40, 50, 4, "uint8")
    pixels[10:30, :, 3] = 0
    np.testing.assert_array_equal(penstock.decode(penstock.encode(pixels, f"webp:lossless:method={method}")), pixels)


@pytest.mark.parametrize("format", ["webp", "webp:lossless"])
@pytest.mark.parametrize("size", [(1, 1), (17, 31), (300, 200)])
def test_opaque_rgba_comes_back_as_rgba(size: tuple[int, int], format: str) -> None:
    opaque: Pixels = sample_image(*size, 4, "uint8")
    opaque[:, :, 3] = 255
    data = penstock.encode(opaque, format)
    decoded = penstock.decode(data)
    assert decoded.shape == opaque.shape
    assert (decoded[:, :, 3] == 255).all()
    without_alpha = penstock.encode(opaque[:, :, :3].copy(), format)
    assert len(data) <= len(without_alpha) + 32
    np.testing.assert_array_equal(decoded[:, :, :3], penstock.decode(without_alpha))
    with Image.open(io.BytesIO(data)) as image:
        np.testing.assert_array_equal(np.asarray(image), decoded)


@pytest.mark.parametrize(
    ("pixels", "what", "fix"),
    [
        (np.zeros((4, 4), np.uint8), r"not 1 channel\(s\) of 8 bits", "numpy.stack"),
        (np.zeros((4, 4, 2), np.uint8), r"not 2 channel\(s\) of 8 bits", "png"),
        (np.zeros((4, 4, 3), np.uint16), r"not 3 channel\(s\) of 16 bits", "convert to 8 bits"),
        (np.zeros((1, 16384, 3), np.uint8), "16384x1 pixels is larger than webp's 16383", "png"),
    ],
)
def test_what_webp_cannot_hold_is_refused_by_name(pixels: Pixels, what: str, fix: str) -> None:
    with pytest.raises(penstock.CodecError, match=what) as caught:
        penstock.encode(pixels, "webp")
    assert fix in caught.value.fix


def test_widest_image_round_trips() -> None:
    pixels = sample_image(2, 16383, 3, "uint8")
    np.testing.assert_array_equal(penstock.decode(penstock.encode(pixels, "webp:lossless:method=0")), pixels)


def test_quality_and_lossless_exclude_each_other() -> None:
    assert str(parse_format("webp:q=lossless:method=4")) == "webp:lossless"
    assert str(parse_format("webp:q=090:method=06")) == "webp:method=6"
    with pytest.raises(penstock.ArgumentError, match="sets q twice"):
        parse_format("webp:lossless:q=85")
    with pytest.raises(penstock.ArgumentError, match="q=101 is not a whole number from 0 to 100"):
        parse_format("webp:q=101")


def test_animation_is_refused_by_name() -> None:
    frames = [Image.fromarray(sample_image(8, 8, 3, "uint8", seed)) for seed in (0, 1)]
    file = io.BytesIO()
    frames[0].save(file, "WEBP", save_all=True, append_images=frames[1:])
    for verb in (penstock.inspect, penstock.decode):
        with pytest.raises(penstock.CodecError, match="animated webp is not supported"):
            verb(file.getvalue())


@pytest.mark.parametrize("channels", [3, 4])
@pytest.mark.parametrize("lossless", [False, True])
def test_inspect_tells_lossless_and_alpha(lossless: bool, channels: int) -> None:
    info = penstock.inspect(pillow_webp(sample_image(9, 12, channels, "uint8"), lossless=lossless))
    assert (info.width, info.height, info.channels, info.dtype) == (12, 9, channels, "uint8")
    assert info.lossless is lossless
    assert info.variant == ("lossless" if lossless else "lossy")
    assert info.color == ("rgb+alpha" if channels == 4 else "rgb")


@pytest.mark.parametrize("byte_order", ["<", ">"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_orientation_is_told_and_applied_on_request(orientation: int, byte_order: str) -> None:
    exif = Image.Exif()
    exif.endian = byte_order
    exif[0x010E] = "a field before it"
    exif[0x0112] = orientation
    data = pillow_webp(sample_image(10, 13, 3, "uint8"), lossless=True, exif=exif)
    assert penstock.inspect(data).orientation == orientation
    with Image.open(io.BytesIO(data)) as image:
        np.testing.assert_array_equal(penstock.decode(data), np.asarray(image))
        upright = np.asarray(_exif_transpose(image, orientation))
    np.testing.assert_array_equal(penstock.decode(data, options=DecodeOptions(orient=True)), upright)


def _exif_transpose(image: Image.Image, orientation: int) -> Image.Image:
    turn = Image.Transpose
    turns = (
        None,
        turn.FLIP_LEFT_RIGHT,
        turn.ROTATE_180,
        turn.FLIP_TOP_BOTTOM,
        turn.TRANSPOSE,
        turn.ROTATE_270,
        turn.TRANSVERSE,
        turn.ROTATE_90,
    )
    wanted = turns[orientation - 1]
    return image if wanted is None else image.transpose(wanted)


@pytest.mark.parametrize(
    "exif",
    [
        b"",
        b"Exif\0\0",
        b"II*\0\xff\xff\xff\xff",
        b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x09\0\0\0",
        b"II*\0\x08\0\0\0\x01\0\x12\x01\x04\0\x01\0\0\0\x06\0\0\0",
        b"MM\0*\0\0\0\x08\xff\xff",
        b"XX*\0\x08\0\0\0",
    ],
    ids=["empty", "prefix", "far directory", "orientation 9", "wrong type", "cut off", "no byte order"],
)
def test_damaged_exif_counts_as_upright(exif: bytes) -> None:
    image = penstock.encode(sample_image(5, 6, 3, "uint8"), "webp")
    payload = b"VP8X\x0a\0\0\0\x08\0\0\0\x05\0\0\x04\0\0" + image[12:]
    payload += b"EXIF" + len(exif).to_bytes(4, "little") + exif + bytes(len(exif) % 2)
    data = b"RIFF" + (4 + len(payload)).to_bytes(4, "little") + b"WEBP" + payload
    assert penstock.inspect(data).orientation == 1
    np.testing.assert_array_equal(penstock.decode(data), penstock.decode(image))


@pytest.mark.parametrize("format", ["webp", "webp:lossless"])
@pytest.mark.parametrize("channels", [3, 4])
def test_every_cut_is_found(format: str, channels: int) -> None:
    data = penstock.encode(sample_image(23, 31, channels, "uint8"), format)
    for cut in range(12, len(data)):
        with pytest.raises(penstock.CodecError, match="ends before the image does") as caught:
            find("webp").decode(data[:cut], DecodeOptions())
        assert caught.value.where == f"byte {cut} of the webp data"


def test_counter_shows_the_rows_a_region_needed() -> None:
    pixels = sample_image(200, 64, 3, "uint8")
    lossy, lossless = penstock.encode(pixels, "webp"), penstock.encode(pixels, "webp:lossless")
    assert decode_counted(lossless, region=(10, 5, 30, 20))[1:] == (200, 40)
    assert decode_counted(lossy, region=(10, 5, 30, 20))[1:] == (200, 64)
    assert decode_counted(lossy)[1:] == (200, 200)
    assert decode_counted(lossy, region=(0, 0, 1, 1), scale=2)[1:] == (200, 200)
