"""PNG pixels equal those of libpng (through imagecodecs) and Pillow: real files, and every kind the format has."""

from __future__ import annotations

import io
import itertools
import struct
from collections.abc import Iterator
from pathlib import Path

import imagecodecs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

import penstock
from penstock.codecs import DecodeOptions, find
from penstock.types import Pixels
from tests.png_writer import DEPTHS, GREY, PALETTE, RGB, SAMPLES, Png, Samples

FILTERS = ((0,), (1,), (2,), (3,), (4,), (4, 1, 2, 3, 0, 4))
SIZES = ((1, 1), (1, 9), (9, 1), (5, 7), (19, 37))


def samples_of(height: int, width: int, color: int, depth: int, seed: int = 0) -> Samples:
    """Smooth enough to meet every branch of Paeth, with noise and full swings."""
    rng = np.random.default_rng([height, width, color, depth, seed])
    y, x, c = np.mgrid[0:height, 0:width, 0 : SAMPLES[color]]
    wave = (y * 7 + x * 5 + c * 60) / 255 * 2**depth
    noise = rng.normal(0, 2**depth / 16, wave.shape)
    swings = (rng.random(wave.shape) < 0.1) * 2 ** (depth - 1)
    samples: Samples = ((wave + noise + swings) % 2**depth).astype(np.uint16)
    return samples


def palette_of(num_colors: int) -> bytes:
    return np.random.default_rng(num_colors).integers(0, 256, num_colors * 3, np.uint8).tobytes()


def transparencies(samples: Samples, color: int) -> Iterator[bytes | None]:
    """None, and a colour key that the image has; for palettes alphas of some or all entries."""
    yield None
    if color == PALETTE:
        yield from (bytes([0]), bytes(255 - i for i in range(int(samples.max()) + 1)))
    if color in (GREY, RGB):
        yield struct.pack(f">{SAMPLES[color]}H", *(int(v) for v in samples[-1, -1]))


def kinds() -> Iterator[tuple[int, int, bool]]:
    for color, depths in DEPTHS.items():
        yield from itertools.product((color,), depths, (False, True))


def pillow_pixels(data: bytes, channels: int) -> Pixels:
    image = Image.open(io.BytesIO(data))
    return np.asarray(image.convert(("L", "LA", "RGB", "RGBA")[channels - 1]))


def expected_pixels(image: Png) -> Pixels:
    """From the samples that were written: what the specification says they mean."""
    samples, top = image.samples.astype(np.uint32), 2**image.depth - 1
    if image.color == PALETTE:
        colors = np.zeros((256, 4), np.uint8)
        colors[:, 3] = 255
        colors[: len(image.palette) // 3, :3] = np.frombuffer(image.palette, np.uint8).reshape(-1, 3)
        alphas = np.frombuffer(image.transparency or b"", np.uint8)
        colors[: len(alphas), 3] = alphas
        return colors[samples[:, :, 0], : 3 if image.transparency is None else 4]
    if image.transparency is not None:
        key = struct.unpack(f">{samples.shape[2]}H", image.transparency)
        opaque = (samples != np.array(key)).any(2)
        samples = np.dstack([samples, opaque * top])
    scaled = samples if image.depth == 16 else samples * 255 // top
    shaped = scaled[:, :, 0] if scaled.shape[2] == 1 else scaled
    return shaped.astype(np.uint16) if image.depth == 16 else shaped.astype(np.uint8)


@pytest.mark.parametrize(("color", "depth", "interlaced"), list(kinds()))
def test_every_kind_of_png_decodes_to_what_was_written(color: int, depth: int, interlaced: bool) -> None:
    for (height, width), filters in itertools.product(SIZES, FILTERS):
        samples = samples_of(height, width, color, depth)
        palette = palette_of(2**depth) if color == PALETTE else b""
        for transparency in transparencies(samples, color):
            image = Png(samples, color, depth, interlaced, filters, palette, transparency)
            data, expected = image.encode(), expected_pixels(image)
            decoded = penstock.decode(data)
            np.testing.assert_array_equal(decoded, expected)
            assert decoded.dtype == expected.dtype
            assert penstock.inspect(data).shape == expected.shape


@pytest.mark.parametrize(("color", "depth", "interlaced"), list(kinds()))
def test_every_kind_of_png_equals_libpng_and_pillow(color: int, depth: int, interlaced: bool) -> None:
    samples = samples_of(19, 37, color, depth, seed=1)
    palette = palette_of(2**depth) if color == PALETTE else b""
    for transparency in transparencies(samples, color):
        data = Png(samples, color, depth, interlaced, (4, 3, 1, 2), palette, transparency).encode()
        decoded = penstock.decode(data)
        np.testing.assert_array_equal(decoded, imagecodecs.png_decode(data))
        # Pillow has no 16-bit colours, and compares a colour key of few bits with samples it has already stretched.
        if depth == 8 or (depth < 8 and (color == PALETTE or transparency is None)):
            channels = 1 if decoded.ndim == 2 else decoded.shape[2]
            np.testing.assert_array_equal(decoded, pillow_pixels(data, channels))


@pytest.mark.parametrize("num_colors", [1, 2, 3, 15, 16, 17, 128, 255, 256])
def test_indices_beyond_a_short_palette_are_black_as_in_pillow(num_colors: int) -> None:
    samples = np.arange(256, dtype=np.uint16).reshape(16, 16, 1)
    data = Png(samples, PALETTE, 8, palette=palette_of(num_colors)).encode()
    np.testing.assert_array_equal(penstock.decode(data), pillow_pixels(data, 3))


@pytest.mark.parametrize("interlaced", [False, True])
@pytest.mark.parametrize("depth", DEPTHS[PALETTE])
def test_palette_masks_keep_their_indices(depth: int, interlaced: bool) -> None:
    samples = samples_of(19, 37, PALETTE, depth)
    data = Png(samples, PALETTE, depth, interlaced, (4, 1), palette_of(2**depth), b"\x00").encode()
    indices = find("png").decode(data, DecodeOptions(palette="indices"))
    np.testing.assert_array_equal(indices, samples[:, :, 0])
    np.testing.assert_array_equal(indices, np.asarray(Image.open(io.BytesIO(data))))


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_region_of_any_kind_equals_the_crop(data: st.DataObject) -> None:
    color, depth, interlaced = data.draw(st.sampled_from(list(kinds())))
    height, width = data.draw(st.integers(1, 40)), data.draw(st.integers(1, 40))
    filters = data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=5))
    samples = samples_of(height, width, color, depth)
    transparency = data.draw(st.sampled_from(list(transparencies(samples, color))))
    palette = palette_of(2**depth) if color == PALETTE else b""
    file = Png(samples, color, depth, interlaced, filters, palette, transparency).encode()
    full = penstock.decode(file)
    y, x = data.draw(st.integers(0, height - 1)), data.draw(st.integers(0, width - 1))
    h, w = data.draw(st.integers(1, height - y)), data.draw(st.integers(1, width - x))
    np.testing.assert_array_equal(penstock.decode(file, region=(y, x, h, w)), full[y : y + h, x : x + w])


@pytest.mark.parametrize("folder", ["cityscapes/leftImg8bit", "cityscapes/gtFine", "cityscapes-full"])
def test_every_png_of_cityscapes_equals_pillow(shared_data: Path, folder: str) -> None:
    files = sorted((shared_data / folder).rglob("*.png"))
    assert files
    for file in files:
        decoded = penstock.decode(file.read_bytes())
        np.testing.assert_array_equal(decoded, np.asarray(Image.open(file)), err_msg=file.name)
