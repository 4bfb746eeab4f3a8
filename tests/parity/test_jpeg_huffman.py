"""Our Huffman decoder against libjpeg's own: images large enough for it, at every scale, whole and damaged."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from PIL import Image

import penstock
from penstock import _native
from penstock.codecs import transcode
from penstock.errors import ArgumentError, CodecError, PenstockError
from penstock.types import Pixels, Region


def draw_region(rng: np.random.Generator, height: int, width: int) -> Region:
    y, x = int(rng.integers(height)), int(rng.integers(width))
    return y, x, int(rng.integers(1, height - y + 1)), int(rng.integers(1, width - x + 1))


def textured(height: int, width: int, channels: int = 3) -> Pixels:
    rng = np.random.default_rng([height, width])
    slope = np.arange(width)[None, :, None] % 170
    pixels: Pixels = (slope + rng.integers(0, 80, (height, width, channels))).astype(np.uint8)
    return pixels


def save(pixels: Pixels, mode: str | None = None, **options: Any) -> bytes:  # noqa: ANN401  # whatever Pillow takes
    file = io.BytesIO()
    image = Image.fromarray(pixels) if mode is None else Image.fromarray(pixels).convert(mode)
    image.save(file, "JPEG", **options)
    return file.getvalue()


@pytest.mark.usefixtures("simd_path")
@pytest.mark.parametrize("subsampling", [0, 1, 2])
@pytest.mark.parametrize(
    "options", [{}, {"progressive": True}, {"restart_marker_rows": 1}, {"restart_marker_blocks": 3}], ids=str
)
def test_regions_at_every_scale_equal_the_crop(subsampling: int, options: dict[str, Any]) -> None:
    rng = np.random.default_rng(6)
    for height, width in ((1, 1), (17, 33), (90, 111)):
        data = save(textured(height, width), quality=96, subsampling=subsampling, **options)
        for scale in (1, 2, 4, 8):
            full = penstock.decode(data, scale=scale)
            for _ in range(20):
                y, x, h, w = region = draw_region(rng, *full.shape[:2])
                crop = penstock.decode(data, region=region, scale=scale)
                np.testing.assert_array_equal(crop, full[y : y + h, x : x + w])


def outcome(data: bytes, plain: bool) -> Pixels | int:
    try:
        return _native.decode_counted(data, None, 1, plain)[0]
    except PenstockError as error:
        return error.code


@pytest.mark.usefixtures("simd_path")
@pytest.mark.parametrize("quality", [60, 96, 100], ids="q{}".format)
@pytest.mark.parametrize("options", [{}, {"restart_marker_rows": 1}, {"optimize": True}], ids=str)
def test_every_path_gives_the_pixels_of_libjpegs_own_decoder(options: dict[str, Any], quality: int) -> None:
    data = save(textured(200, 230), quality=quality, **options)

    np.testing.assert_array_equal(outcome(data, plain=False), outcome(data, plain=True))


@pytest.mark.usefixtures("simd_path")
@pytest.mark.parametrize("options", [{}, {"restart_marker_rows": 1}, {"optimize": True}], ids=str)
def test_damaged_data_gives_the_pixels_of_libjpegs_own_decoder_or_an_error(options: dict[str, Any]) -> None:
    rng = np.random.default_rng(7)
    data = save(textured(90, 110), quality=96, **options)
    for _ in range(80):
        damaged = bytearray(data)
        damaged[int(rng.integers(700, len(data)))] ^= 1 << int(rng.integers(8))
        ours = outcome(bytes(damaged), plain=False)
        if isinstance(ours, int):
            assert 300 <= ours < 400
            continue
        np.testing.assert_array_equal(ours, outcome(bytes(damaged), plain=True))


def test_transcoding_refuses_what_changes_pixels_and_cut_data() -> None:
    data = save(textured(70, 90))
    assert transcode(data, "jpeg") == data
    with pytest.raises(ArgumentError, match="changes pixels"):
        transcode(data, "jpeg:q=50")
    with pytest.raises(CodecError):
        transcode(data[: len(data) // 2], "jpeg:progressive")
