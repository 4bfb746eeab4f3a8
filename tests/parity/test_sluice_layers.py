"""Two layers of Sluice are the same on every SIMD path: the whole file, and the prefix that holds the first layer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock
from penstock import _native
from penstock.codecs.sluice import default_tables, first_layer_bytes, from_jpeg, to_jpeg
from spec.reference import sluice as reference
from tests.golden import images
from tests.parity.test_sluice import DECODERS, SCALES, jpeg_of, jpegs


@settings(max_examples=25, deadline=None)
@given(jpeg=jpegs(), bits=st.integers(1, 3), data=st.data())
def test_any_jpeg_decodes_alike_on_every_path(jpeg: bytes, bits: int, data: st.DataObject) -> None:
    sluice = from_jpeg(jpeg, bits=bits)
    assert to_jpeg(sluice) == jpeg
    prefix = sluice[: first_layer_bytes(sluice)]
    expected = penstock.decode(jpeg)
    height, width = expected.shape[:2]
    y, x = data.draw(st.integers(0, height - 1)), data.draw(st.integers(0, width - 1))
    region = (y, x, data.draw(st.integers(1, height - y)), data.draw(st.integers(1, width - x)))
    coarse: dict[int, Any] = {}
    try:
        for path, gather in DECODERS:
            _native.force_simd_path(path)
            _native.force_sluice_gather(gather)
            np.testing.assert_array_equal(penstock.decode(sluice), expected)
            for scale in SCALES:
                found = penstock.decode(prefix, scale=scale)
                np.testing.assert_array_equal(found, coarse.setdefault(scale, found))
            crop = penstock.decode(prefix, region=region)
            np.testing.assert_array_equal(crop, coarse[1][y : y + region[2], x : x + region[3]])
    finally:
        _native.force_sluice_gather(-1)
        _native.force_simd_path(_native.best_simd_path())


@pytest.mark.usefixtures("simd_path")
@pytest.mark.parametrize("bits", [1, 2, 3])
def test_regions_and_scales_of_both_layers_go_together(bits: int) -> None:
    jpeg = jpeg_of(images.photo(201, 177, 3), 93, bits % 3)
    sluice = from_jpeg(jpeg, bits=bits)
    prefix = sluice[: first_layer_bytes(sluice)]
    rng = np.random.default_rng(bits)
    for scale in SCALES:
        for data, whole in (
            (sluice, penstock.decode(jpeg, scale=scale)),
            (prefix, penstock.decode(prefix, scale=scale)),
        ):
            for _ in range(4):
                y, x = int(rng.integers(whole.shape[0])), int(rng.integers(whole.shape[1]))
                h, w = int(rng.integers(1, whole.shape[0] - y + 1)), int(rng.integers(1, whole.shape[1] - x + 1))
                crop = penstock.decode(data, region=(y, x, h, w), scale=scale)
                np.testing.assert_array_equal(crop, whole[y : y + h, x : x + w])


@pytest.mark.usefixtures("simd_path")
def test_first_layer_of_photographs_is_closer_the_fewer_bits_it_lacks(shared_data: Path) -> None:
    for file in sorted((shared_data / "photos").glob("*"))[:8]:
        jpeg = file.read_bytes()
        whole = penstock.decode(jpeg)
        errors = []
        for bits in (1, 3):
            sluice = from_jpeg(jpeg, bits=bits)
            np.testing.assert_array_equal(penstock.decode(sluice), whole)
            coarse = penstock.decode(sluice[: first_layer_bytes(sluice)])
            errors.append(np.square(whole.astype(float) - coarse).mean())
        assert errors[0] < errors[1]


@settings(max_examples=10, deadline=None)
@given(jpeg=jpegs(max_side=70), bits=st.integers(1, 3))
def test_reference_reads_both_layers(jpeg: bytes, bits: int) -> None:
    sluice = from_jpeg(jpeg, bits=bits)
    image = reference.decode(sluice, default_tables(bits))
    expected: dict[str, Any] = _native.jpeg_read_coefficients(jpeg)
    for component, (_, _, _, blocks) in zip(image.components, expected["components"], strict=True):
        np.testing.assert_array_equal(np.array(component.blocks), blocks.reshape(-1, 64))
