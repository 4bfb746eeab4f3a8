"""Weir is decoded alike by the plain-Python reader of the spec, plain C++ and every SIMD path, and encoded alike."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

import penstock
from penstock import _native
from penstock.codecs import DecodeOptions
from penstock.types import Pixels
from spec.reference import weir as reference
from tests.simd import PATHS
from tests.weir_files import encode_split

VARIANTS = ["fast", "dense"]
SPEC = Path(__file__).parents[2] / "spec" / "weir.md"


@pytest.fixture(autouse=True)
def restored_path() -> Iterator[None]:
    yield
    _native.force_simd_path(_native.best_simd_path())


@st.composite
def images(draw: st.DrawFn, max_side: int = 300) -> Pixels:
    """Noise, constants, gradients, checkerboards, outliers, labels; 1 to 4 channels, 8 or 16 bit."""
    height, width = draw(st.integers(1, max_side)), draw(st.integers(1, max_side))
    channels, bits = draw(st.integers(1, 4)), draw(st.sampled_from([8, 16]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    y, x, c = np.mgrid[0:height, 0:width, 0:channels]
    top = 2**bits
    faint = int(rng.integers(1, bits))
    candidates = {
        "noise": rng.integers(0, top, y.shape),
        "faint noise": y + x + rng.integers(0, 2**faint, y.shape),
        "constant": np.full(y.shape, rng.integers(top)),
        "constant but one channel": np.where(c == channels - 1, rng.integers(0, top, y.shape), 9),
        "gradient": y * int(rng.integers(top // 32)) + x * int(rng.integers(top // 32)) + c * 31,
        "checkerboard": (x + y + c) % 2 * int(rng.integers(top)),
        "outlier": np.where((y == height // 2) & (x == width // 3), top - 1, 7),
        "rare outliers": np.where(rng.random(y.shape) < 0.01, rng.integers(0, top, y.shape), y // 4),
        "labels": (x // 23 + y // 17) % 5 * 7,
    }
    pixels = candidates[draw(st.sampled_from(sorted(candidates)))] % top
    finished: Pixels = pixels.astype(np.uint8) if bits == 8 else pixels.astype(np.uint16)
    return finished[:, :, 0] if channels == 1 else finished


def encode_on_every_path(pixels: Pixels, format: str) -> dict[str, bytes]:
    encoded = {}
    for path in PATHS:
        _native.force_simd_path(path)
        encoded[path] = penstock.encode(pixels, format)
    return encoded


def reference_pixels(data: bytes, like: Pixels) -> Pixels:
    rows = np.array(reference.decode(data).rows).reshape(like.shape)
    return rows.astype(np.uint8) if like.dtype == np.uint8 else rows.astype(np.uint16)


@settings(max_examples=25, deadline=None)
@given(pixels=images(max_side=80), variant=st.sampled_from(VARIANTS))
def test_reference_decodes_what_penstock_encodes(pixels: Pixels, variant: str) -> None:
    decoded = reference_pixels(penstock.encode(pixels, f"weir:{variant}"), pixels)
    np.testing.assert_array_equal(decoded, pixels)


@settings(max_examples=60, deadline=None)
@given(pixels=images(), variant=st.sampled_from(VARIANTS), effort=st.integers(1, 3))
def test_any_image_is_written_alike_and_comes_back_exactly_on_every_path(
    pixels: Pixels, variant: str, effort: int
) -> None:
    encoded = encode_on_every_path(pixels, f"weir:{variant}:effort={effort}")
    for path, data in encoded.items():
        assert data == encoded["portable"], path
        _native.force_simd_path(path)
        np.testing.assert_array_equal(penstock.decode(data), pixels, err_msg=path)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("bits", [8, 16])
def test_every_tile_size_comes_back_exactly_on_every_path(variant: str, bits: int) -> None:
    rng = np.random.default_rng(bits)
    for side in range(1, 65):
        height, width, channels = side, 65 - side, side % 4 + 1
        smooth = rng.integers(-3, 4, (height, width, channels)).cumsum(axis=1).cumsum(axis=0)
        pixels: Pixels = smooth.astype(np.uint8) if bits == 8 else smooth.astype(np.uint16)
        pixels = pixels[:, :, 0] if channels == 1 else pixels
        data = penstock.encode(pixels, f"weir:{variant}")
        for path in PATHS:
            _native.force_simd_path(path)
            np.testing.assert_array_equal(penstock.decode(data), pixels, err_msg=f"{path} {pixels.shape}")


def outcome(data: bytes) -> str | bytes:
    """Pixels, or a refusal; which fault a path names first may differ."""
    try:
        return penstock.decode(data, options=DecodeOptions(verify=False)).tobytes()
    except penstock.CodecError:
        return "refused"


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("channels", [1, 3, 4])
def test_every_path_accepts_the_same_damaged_tiles(variant: str, dtype: type[np.uint8], channels: int) -> None:
    rng = np.random.default_rng(channels)
    smooth = rng.integers(-3, 4, (37, 64, channels)).cumsum(axis=1).cumsum(axis=0).astype(dtype)
    file = encode_split(smooth[:, :, 0] if channels == 1 else smooth, variant)
    accepted = 0
    for i in range(150):
        tile = bytearray(file.tiles[0])
        tile[int(rng.integers(len(tile) if i % 2 else 160))] ^= 1 << int(rng.integers(8))
        data = file.with_tile(0, bytes(tile)).data()
        outcomes = {}
        for path in PATHS:
            _native.force_simd_path(path)
            outcomes[path] = outcome(data)
        assert set(outcomes.values()) == {outcomes["portable"]}, bytes(tile).hex()
        accepted += outcomes["portable"] != "refused"
    assert 0 < accepted < 150


def test_reference_refuses_what_penstock_refuses() -> None:
    rng = np.random.default_rng(5)
    file = encode_split(rng.integers(-3, 4, (21, 30)).cumsum(axis=1).astype(np.uint8), "dense")
    for _ in range(150):
        tile = bytearray(file.tiles[0])
        tile[int(rng.integers(len(tile)))] ^= 1 << int(rng.integers(8))
        data = file.with_tile(0, bytes(tile)).data()
        ours = outcome(data)
        try:
            theirs: str | bytes = np.array(reference.decode(data).rows, np.uint8).tobytes()
        except reference.WeirError:
            theirs = "refused"
        assert ours == theirs, bytes(tile).hex()


def test_example_of_the_specification_is_an_image() -> None:
    text = SPEC.read_text().partition("## Example")[2]
    block = text.split("```")[1]
    rows = re.findall(r"^ ?\d+  ((?:[0-9a-f]{2} )*[0-9a-f]{2})\b", block, re.MULTILINE)
    data = bytes.fromhex(" ".join(rows))
    assert len(data) == 69
    np.testing.assert_array_equal(penstock.decode(data), [[10, 12, 14], [10, 13, 15]])
    assert reference.decode(data).rows == [[10, 12, 14], [10, 13, 15]]


def test_every_twentieth_real_image_comes_back_exactly(shared_data: Path) -> None:
    check_round_trip(real_images(shared_data)[::20])


@pytest.mark.long
@pytest.mark.parametrize("path", PATHS)
def test_every_real_image_comes_back_exactly(shared_data: Path, path: str) -> None:
    _native.force_simd_path(path)
    check_round_trip(real_images(shared_data))


def real_images(shared_data: Path) -> list[Path]:
    places = ("cityscapes*/**/*.png", "imagenet/*.JPEG", "pcr-fixture/*.jpg")
    files = [file for place in places for file in shared_data.glob(place)]
    assert len(files) > 600
    return sorted(files)


def check_round_trip(files: list[Path]) -> None:
    for file in files:
        with Image.open(file) as opened:
            pixels = np.asarray(opened)
        for variant in VARIANTS:
            decoded = penstock.decode(penstock.encode(pixels, f"weir:{variant}"))
            np.testing.assert_array_equal(decoded, pixels, err_msg=f"{variant} {file}")


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("bits", [8, 16])
def test_regions_are_cut_from_tiles_alike_on_every_path(variant: str, channels: int, bits: int) -> None:
    rng = np.random.default_rng(channels + bits)
    ramp = np.add.outer(np.arange(150), np.arange(170))[:, :, None]
    pixels = ((ramp + rng.integers(0, 9, (150, 170, channels))) % 2**bits).astype(np.uint8 if bits == 8 else np.uint16)
    data = penstock.encode(pixels, f"weir:{variant}")
    whole = penstock.decode(data)
    for y, x, h, w in [
        (0, 0, 1, 1),
        (0, 64, 66, 65),
        (64, 0, 67, 63),
        (61, 62, 5, 70),
        (127, 127, 23, 43),
        (64, 64, 2, 9),
    ]:
        for path in PATHS:
            _native.force_simd_path(path)
            crop = penstock.decode(data, region=(y, x, h, w))
            np.testing.assert_array_equal(crop, whole[y : y + h, x : x + w], err_msg=path)
