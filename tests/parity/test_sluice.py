"""Sluice decodes to the JPEG's own pixels on every SIMD path: whole, by region, at every scale."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

import penstock
from penstock import _native
from penstock.codecs.sluice import default_tables, from_jpeg, to_jpeg
from penstock.types import Pixels
from spec.reference import sluice as reference
from tests.golden import images
from tests.simd import PATHS

SCALES = (1, 2, 4, 8)
DECODERS = [(path, gather) for path in PATHS for gather in (0, 1) if gather == 0 or path.startswith("avx")]
"""SIMD paths, and whether they look tables up by gathers."""


def jpeg_of(pixels: Pixels, quality: int, subsampling: int) -> bytes:
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "JPEG", quality=quality, subsampling=subsampling)
    return file.getvalue()


@st.composite
def jpegs(draw: st.DrawFn, max_side: int = 330) -> bytes:
    """Photographs, noise, constants and checkerboards; grey or colour, of any quality."""
    height, width = draw(st.integers(1, max_side)), draw(st.integers(1, max_side))
    channels = draw(st.sampled_from([1, 3]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    y, x, c = np.mgrid[0:height, 0:width, 0:channels]
    candidates = {
        "noise": rng.integers(0, 256, y.shape),
        "constant": np.full(y.shape, rng.integers(256)),
        "gradient": y * int(rng.integers(9)) + x * int(rng.integers(9)) + c * 31,
        "checkerboard": (x + y + c) % 2 * 255,
        "edges": (x // 23 + y // 17) % 2 * 255,
        "photo": images.photo(height, width, channels).reshape(y.shape).astype(np.int64),
    }
    pixels = (candidates[draw(st.sampled_from(sorted(candidates)))] % 256).astype(np.uint8)
    quality, subsampling = draw(st.integers(1, 100)), draw(st.sampled_from([0, 1, 2]))
    return jpeg_of(pixels[:, :, 0] if channels == 1 else pixels, quality, subsampling)


@settings(max_examples=30, deadline=None)
@given(jpeg=jpegs(), data=st.data())
def test_any_jpeg_decodes_alike_on_every_path(jpeg: bytes, data: st.DataObject) -> None:
    sluice = from_jpeg(jpeg)
    assert to_jpeg(sluice) == jpeg
    expected = {scale: penstock.decode(jpeg, scale=scale) for scale in SCALES}
    height, width = expected[1].shape[:2]
    y, x = data.draw(st.integers(0, height - 1)), data.draw(st.integers(0, width - 1))
    region = (y, x, data.draw(st.integers(1, height - y)), data.draw(st.integers(1, width - x)))
    try:
        for path, gather in DECODERS:
            _native.force_simd_path(path)
            _native.force_sluice_gather(gather)
            for scale in SCALES:
                np.testing.assert_array_equal(penstock.decode(sluice, scale=scale), expected[scale])
            crop = penstock.decode(sluice, region=region)
            np.testing.assert_array_equal(crop, expected[1][y : y + region[2], x : x + region[3]])
    finally:
        _native.force_sluice_gather(-1)
        _native.force_simd_path(_native.best_simd_path())


@pytest.mark.usefixtures("simd_path")
def test_photographs_decode_to_the_pixels_of_their_jpegs(shared_data: Path) -> None:
    for file in sorted((shared_data / "photos").glob("*"))[:40]:
        jpeg = file.read_bytes()
        np.testing.assert_array_equal(penstock.decode(from_jpeg(jpeg)), penstock.decode(jpeg))


@pytest.mark.usefixtures("simd_path")
@pytest.mark.parametrize("subsampling", [0, 1, 2])
def test_regions_and_scales_go_together(subsampling: int) -> None:
    jpeg = jpeg_of(images.photo(301, 277, 3), 88, subsampling)
    sluice = from_jpeg(jpeg)
    rng = np.random.default_rng(subsampling)
    for scale in SCALES:
        whole = penstock.decode(jpeg, scale=scale)
        for _ in range(12):
            y, x = int(rng.integers(whole.shape[0])), int(rng.integers(whole.shape[1]))
            h, w = int(rng.integers(1, whole.shape[0] - y + 1)), int(rng.integers(1, whole.shape[1] - x + 1))
            crop = penstock.decode(sluice, region=(y, x, h, w), scale=scale)
            np.testing.assert_array_equal(crop, whole[y : y + h, x : x + w])


@settings(max_examples=12, deadline=None)
@given(jpeg=jpegs(max_side=90))
def test_reference_reads_the_coefficients_of_the_jpeg(jpeg: bytes) -> None:
    image = reference.decode(from_jpeg(jpeg), default_tables())
    expected: dict[str, Any] = _native.jpeg_read_coefficients(jpeg)
    assert (image.width, image.height, image.color) == tuple(expected[key] for key in ("width", "height", "color"))
    for component, (across, down, quantization, blocks) in zip(image.components, expected["components"], strict=True):
        assert (component.across, component.down, component.quantization) == (across, down, list(quantization))
        np.testing.assert_array_equal(np.array(component.blocks), blocks.reshape(-1, 64))
