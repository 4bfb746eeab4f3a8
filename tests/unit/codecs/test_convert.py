"""From any format to any: exact where the two allow it."""

from __future__ import annotations

import numpy as np
import pytest

import penstock
from penstock.codecs import DecodeOptions, convert, find_by_extension, names
from penstock.errors import ArgumentError, CodecError
from penstock.testing.codec import sample_image

PIXELS = sample_image(40, 48, 3, "uint8")
PHOTO = penstock.encode(PIXELS, "jpeg:q=90")


@pytest.mark.parametrize("source", ["png", "raw", "webp:lossless"])
@pytest.mark.parametrize("target", ["png", "raw", "webp:lossless", "l3", "weir"])
def test_lossless_formats_hand_pixels_on(source: str, target: str) -> None:
    done = convert(penstock.encode(PIXELS, source), target)

    assert done.source.codec == source.partition(":")[0]
    assert not done.transcoded
    np.testing.assert_array_equal(penstock.decode(done.data), PIXELS)


def test_a_bare_jpeg_keeps_the_bytes_of_a_jpeg() -> None:
    done = convert(PHOTO, "jpeg")

    assert done.data == PHOTO
    assert done.transcoded


@pytest.mark.parametrize("format_text", ["jpeg:progressive", "jpeg:restart", "jpeg:optimize"])
def test_a_jpeg_is_recoded_with_the_same_pixels(format_text: str) -> None:
    done = convert(PHOTO, format_text)

    assert done.transcoded
    assert done.data != PHOTO
    np.testing.assert_array_equal(penstock.decode(done.data), penstock.decode(PHOTO))


@pytest.mark.parametrize("format_text", ["jpeg:q=90", "jpeg:subsampling=444"])
def test_a_jpeg_is_encoded_anew_when_its_loss_is_named(format_text: str) -> None:
    assert not convert(PHOTO, format_text).transcoded


@pytest.mark.parametrize("options", [DecodeOptions(region=(0, 0, 16, 16)), DecodeOptions(scale=2)])
def test_a_jpeg_is_encoded_anew_when_its_pixels_change(options: DecodeOptions) -> None:
    done = convert(PHOTO, "jpeg", options)

    assert not done.transcoded
    assert penstock.decode(done.data).shape == penstock.decode(PHOTO, region=options.region, scale=options.scale).shape


def test_max_pixels_holds_for_a_transcode_as_well() -> None:
    with pytest.raises(CodecError, match="max_pixels=99"):
        convert(PHOTO, "jpeg:progressive", DecodeOptions(max_pixels=99))


def test_an_ending_finds_the_codec_that_writes_it() -> None:
    assert find_by_extension("a/b.c/x.PNG").name == "png"
    assert find_by_extension("x.jpeg").name == "jpeg"


@pytest.mark.parametrize("path", ["x.bmp", "x", "x.", ".png"])
def test_an_ending_that_no_codec_writes_is_refused(path: str) -> None:
    with pytest.raises(ArgumentError) as raised:
        find_by_extension(path)

    assert ".png" in raised.value.fix
    assert "bmp" in names()
