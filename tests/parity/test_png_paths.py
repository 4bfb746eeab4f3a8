"""Every vector path of PNG decoding gives the pixels of the plain one."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock
from penstock import _native
from penstock.types import Pixels
from tests.png_writer import GREY, GREY_ALPHA, RGB, RGB_ALPHA, SAMPLES, Png, filter_rows, predict, write_chunks
from tests.simd import PATHS

KINDS = [(GREY, 8), (GREY_ALPHA, 8), (RGB, 8), (RGB_ALPHA, 8), (RGB, 16), (RGB_ALPHA, 16)]
"""Their filters reach over 1, 2, 3, 4, 6 and 8 bytes."""


@pytest.fixture(autouse=True)
def restored_path() -> Iterator[None]:
    yield
    _native.force_simd_path(_native.best_simd_path())


def png_of_filtered_bytes(color: int, depth: int, width: int, filters: list[int], values: Pixels) -> bytes:
    """A file whose filtered bytes are `values`: any bytes are the filtered form of some image."""
    samples = np.zeros((len(filters), width, SAMPLES[color]), np.uint16)
    rows = [bytes([kind]) + row.tobytes() for kind, row in zip(filters, values, strict=True)]
    stream = zlib.compress(b"".join(rows), 1)
    return write_chunks([(b"IHDR", Png(samples, color, depth).header()), (b"IDAT", stream), (b"IEND", b"")])


def decode_on_every_path(data: bytes) -> dict[str, Pixels]:
    decoded = {}
    for path in PATHS:
        _native.force_simd_path(path)
        decoded[path] = penstock.decode(data)
    return decoded


def assert_paths_agree(data: bytes) -> None:
    decoded = decode_on_every_path(data)
    for path, pixels in decoded.items():
        np.testing.assert_array_equal(pixels, decoded["portable"], err_msg=path)


@pytest.mark.parametrize(("color", "depth"), KINDS)
def test_paths_agree_at_every_width_around_a_vector(color: int, depth: int) -> None:
    rng = np.random.default_rng(color)
    filters = [4, 3, 1, 2, 0, 4, 4, 3, 3]
    for width in [*range(1, 70), *range(155, 165), *range(315, 325), *range(955, 970), 1023]:
        values = rng.integers(0, 256, (len(filters), width * SAMPLES[color] * depth // 8), np.uint8)
        assert_paths_agree(png_of_filtered_bytes(color, depth, width, filters, values))


@settings(deadline=None, max_examples=40)
@given(st.data())
def test_paths_agree_on_any_filtered_bytes(data: st.DataObject) -> None:
    color, depth = data.draw(st.sampled_from(KINDS))
    width = data.draw(st.integers(1, 700))
    filters = data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=12))
    spread = data.draw(st.sampled_from([2, 6, 40, 256]))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    row_bytes = width * SAMPLES[color] * depth // 8
    values = ((rng.integers(0, spread, (len(filters), row_bytes)) - spread // 2) % 256).astype(np.uint8)
    assert_paths_agree(png_of_filtered_bytes(color, depth, width, filters, values))


@pytest.mark.parametrize("path", PATHS)
def test_paeth_is_right_for_every_left_up_and_corner(path: str) -> None:
    """Pairs of pixels: the first sets left and corner, the second is predicted from them and `up`."""
    _native.force_simd_path(path)
    left, up = (values.reshape(-1).astype(np.int32) for values in np.mgrid[0:256, 0:256])
    for value in range(0, 256, 5 if path == PATHS[-1] else 15):
        corner = np.full_like(left, value)
        above = np.stack([corner, up], 1).reshape(-1)
        image = np.stack([left, predict(4, left, up, corner)], 1).reshape(-1).astype(np.uint8)
        filtered = np.frombuffer(filter_rows(np.stack([above, image]).astype(np.uint8), 1, [0, 4]), np.uint8)
        rows = filtered.reshape(2, -1)[:, 1:]
        assert not rows[1, 1::2].any(), "the second of each pair is its own prediction"
        data = png_of_filtered_bytes(GREY, 8, rows.shape[1], [0, 4], rows)
        np.testing.assert_array_equal(penstock.decode(data)[1], image)


@pytest.mark.parametrize("path", PATHS)
def test_no_path_writes_outside_a_window(path: str) -> None:
    _native.force_simd_path(path)
    rng = np.random.default_rng(0)
    for color, width in [(GREY, 961), (RGB, 321), (RGB, 5), (RGB_ALPHA, 243)]:
        channels = SAMPLES[color]
        values = rng.integers(0, 256, (6, width * channels), np.uint8)
        data = png_of_filtered_bytes(color, 8, width, [4, 3, 1, 2, 0, 4], values)
        frame = np.full((8, width + 2, channels), 77, np.uint8)
        window = frame[1:-1, 1:-1] if channels > 1 else frame[1:-1, 1:-1, 0]
        penstock.decode(data, out=window)
        np.testing.assert_array_equal(window, penstock.decode(data))
        window[...] = 77
        assert (frame == 77).all()
