"""Three decoders of l3 agree: the plain-Python one of the spec, plain C++, and every SIMD path."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

import penstock
from penstock import _native
from penstock.types import Pixels
from spec.reference import l3 as reference
from tests import published_l3
from tests.simd import PATHS

OWN_PATHS = [path for path in PATHS if path not in ("baseline", "neon")]
"""Those with code of their own; the others run the plain one."""


@pytest.fixture(params=OWN_PATHS)
def simd_path(request: pytest.FixtureRequest) -> Iterator[str]:
    _native.force_simd_path(request.param)
    yield request.param
    _native.force_simd_path(_native.best_simd_path())


@st.composite
def images(draw: st.DrawFn, max_side: int = 300) -> Pixels:
    """Noise, constants, gradients, checkerboards and single outliers, 1 to 4 channels."""
    height, width = draw(st.integers(1, max_side)), draw(st.integers(1, max_side))
    channels = draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    y, x, c = np.mgrid[0:height, 0:width, 0:channels]
    candidates = {
        "noise": rng.integers(0, 256, y.shape),
        "constant": np.full(y.shape, rng.integers(256)),
        "gradient": y * int(rng.integers(8)) + x * int(rng.integers(8)) + c * 31,
        "checkerboard": (x + y + c) % 2 * int(rng.integers(256)),
        "outlier": np.where((y == height // 2) & (x == width // 3), 255, 7),
        "dark": rng.integers(0, 3, y.shape),
    }
    pixels = candidates[draw(st.sampled_from(sorted(candidates)))]
    finished: Pixels = (pixels % 256).astype(np.uint8)
    return finished[:, :, 0] if channels == 1 else finished


@settings(max_examples=25, deadline=None)
@given(pixels=images(max_side=40), patch=st.sampled_from([8, 13, 16, 32]))
def test_reference_decodes_what_penstock_encodes(pixels: Pixels, patch: int) -> None:
    header, decoded = reference.decode(penstock.encode(pixels, f"l3:patch={patch}"))
    assert (header.height, header.width, header.patch) == (*pixels.shape[:2], patch)
    assert decoded == pixels.tobytes()


def test_reference_decodes_published_files() -> None:
    pixels = published_l3.image(64, 64)
    assert reference.decode(published_l3.write(pixels))[1] == pixels.tobytes()


@pytest.mark.parametrize("patch", [8, 9, 31, 32, 33, 63, 64, 65, 96, 127, 128])
def test_every_path_is_exact_at_every_patch_side(simd_path: str, patch: int) -> None:
    rng = np.random.default_rng(patch)
    for channels in (1, 2, 3, 4):
        smooth = rng.integers(0, 40, (patch + 5, 2 * patch + 7, channels)).cumsum(axis=1) // 9
        noise = rng.integers(0, 256, smooth.shape)
        pixels = np.where(np.arange(smooth.shape[1])[None, :, None] < patch, smooth, noise).astype(np.uint8)
        pixels = pixels[:, :, 0] if channels == 1 else pixels
        np.testing.assert_array_equal(penstock.decode(penstock.encode(pixels, f"l3:patch={patch}")), pixels)


def test_every_path_decodes_published_files(simd_path: str) -> None:
    pixels = published_l3.image(64, 192, seed=5)
    np.testing.assert_array_equal(penstock.decode(published_l3.write(pixels)), pixels)


def test_every_path_predicts_from_extreme_neighbours_as_the_reference(simd_path: str) -> None:
    values = [0, 1, 2, 127, 128, 253, 254, 255]
    above = [value for triple in itertools.product(values, repeat=3) for value in triple]
    pixels = np.array([above, [77] * len(above), above], np.uint8)
    data = penstock.encode(pixels, "l3:patch=128")
    assert reference.decode(data)[1] == pixels.tobytes()
    np.testing.assert_array_equal(penstock.decode(data), pixels)


@pytest.mark.parametrize(("width", "match"), [(9, "more than 8 bits"), (8, "shorter than"), (0, "longer than")])
def test_every_path_finds_the_same_faults(simd_path: str, width: int, match: str) -> None:
    pixels = published_l3.image(64, 64)
    data = bytearray(published_l3.write(pixels))
    blue = pixels[:, :, 2].astype(int).tolist()
    last_row_bytes = len(published_l3.write_cell(blue)) - len(published_l3.write_cell(blue[:-1]))
    data[-last_row_bytes] = data[-last_row_bytes] & 0xF0 | width
    with pytest.raises(penstock.CodecError, match=rf"plane 2 of patch 0 \(row 0, column 0\).* {match}"):
        penstock.decode(data)


@settings(max_examples=60, deadline=None)
@given(pixels=images(), patch=st.integers(8, 128))
def test_any_image_comes_back_exactly(pixels: Pixels, patch: int) -> None:
    np.testing.assert_array_equal(penstock.decode(penstock.encode(pixels, f"l3:patch={patch}")), pixels)


def test_every_tenth_real_image_comes_back_exactly(shared_data: Path) -> None:
    files = sorted([*shared_data.glob("cityscapes/**/*.png"), *shared_data.glob("imagenet/*.JPEG")])
    assert files
    check_round_trip(files[::10])


@pytest.mark.long
def test_every_real_image_comes_back_exactly(shared_data: Path, simd_path: str) -> None:
    check_round_trip(sorted([*shared_data.glob("cityscapes*/**/*.png"), *shared_data.glob("imagenet/*.JPEG")]))


def check_round_trip(files: list[Path]) -> None:
    for file in files:
        with Image.open(file) as opened:
            pixels = np.asarray(opened)
        if pixels.dtype != np.uint8:
            continue
        np.testing.assert_array_equal(penstock.decode(penstock.encode(pixels, "l3")), pixels, err_msg=str(file))
