"""Draws as tables: whoever computes the passes they name gets the pixels of the native core."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import PenstockError
from penstock.transforms import (
    CenterCrop,
    ColorJitter,
    InterpolationMode,
    Letterbox,
    RandomCrop,
    RandomHorizontalFlip,
    RandomResizedCrop,
    RandomVerticalFlip,
    Resize,
    ScaleJitter,
    Transform,
    apply,
    split,
)

Array = npt.NDArray[Any]
SIDE = st.integers(1, 24)
FILTERS = st.sampled_from([mode for mode in InterpolationMode if mode is not InterpolationMode.NEAREST])
STEPS = st.one_of(
    st.builds(lambda h, w, mode: Resize((h, w), interpolation=mode), SIDE, SIDE, FILTERS),
    st.builds(lambda h, w: CenterCrop((h, w)), SIDE, SIDE),
    st.builds(lambda h, w, mode: RandomResizedCrop((h, w), interpolation=mode), SIDE, SIDE, FILTERS),
    st.builds(
        lambda h, w, mode, fill: RandomCrop((h, w), pad_if_needed=True, padding=1, fill=fill, padding_mode=mode),
        SIDE,
        SIDE,
        st.sampled_from(["constant", "edge", "reflect", "symmetric"]),
        st.integers(0, 255),
    ),
    st.builds(lambda h, w: ScaleJitter((h, w), (0.3, 1.8)), SIDE, SIDE),
    st.builds(RandomHorizontalFlip, st.sampled_from([0.0, 1.0])),
    st.builds(RandomVerticalFlip, st.sampled_from([0.0, 1.0])),
    st.builds(Letterbox, st.tuples(SIDE, SIDE)),
)

ROW_TAPS, COLUMN_TAPS, ROW_FIRST, COLUMN_FIRST, ROW_WEIGHTS, COLUMN_WEIGHTS, FILL = range(6, 13)


def along_rows(samples: Array, first: Array, weights: Array) -> Array:
    """Output i of the first axis: samples from first[i] on, weighed and rounded to samples."""
    is_wide = weights.dtype == np.float64
    sums = np.zeros((len(first), *samples.shape[1:])) if is_wide else np.full((len(first), *samples.shape[1:]), 1 << 21)
    for tap, row in enumerate(weights):
        at = np.clip(first + tap, 0, len(samples) - 1)
        sums = sums + samples[at].astype(sums.dtype) * row.reshape(-1, *[1] * (samples.ndim - 1))
    rounded = np.clip(sums + 0.5, 0, 65535) if is_wide else np.clip(sums >> 22, 0, 255)
    return np.asarray(rounded.astype(samples.dtype))


def run_pass(pixels: Array, row: list[int], first: Array, weights: Array) -> Array:
    top, left, height, width, out_height, out_width = row[:6]
    source = pixels[top : top + height, left : left + width]
    sides = []
    for taps, begin, weight_at, count in (
        (row[ROW_TAPS], row[ROW_FIRST], row[ROW_WEIGHTS], out_height),
        (row[COLUMN_TAPS], row[COLUMN_FIRST], row[COLUMN_WEIGHTS], out_width),
    ):
        sides.append((first[begin : begin + count], weights[weight_at : weight_at + taps * count].reshape(taps, count)))
    (rows, row_weights), (columns, column_weights) = sides
    between = along_rows(source.swapaxes(0, 1), columns, column_weights).swapaxes(0, 1)
    result = along_rows(between, rows, row_weights)
    result[(rows < 0)[:, None] | (columns < 0)[None, :]] = row[FILL]
    return result


@given(
    st.lists(STEPS, min_size=1, max_size=4),
    st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), min_size=1, max_size=3),
    st.sampled_from([np.uint8, np.uint16]),
    st.integers(0, 2**32),
)
def test_the_passes_of_any_chain_give_its_pixels(
    chain: list[Transform], sizes: list[tuple[int, int]], dtype: type[np.unsignedinteger[Any]], seed: int
) -> None:
    ids = np.arange(len(sizes), dtype=np.uint64) + 3
    item_bytes = np.dtype(dtype).itemsize
    passes = split(chain).program().passes(np.array(sizes, np.uint32), ids, seed, 2, item_bytes)

    for number, size in enumerate(sizes):
        pixels = np.random.default_rng(number).integers(0, 256**item_bytes, size, dtype=dtype)
        expected = apply(pixels, chain, seed=seed, epoch=2, id=int(ids[number]))
        for rows, first, weights in passes:
            pixels = run_pass(pixels, rows[number].tolist(), first, weights)
        np.testing.assert_array_equal(pixels, expected)


def test_colours_are_no_table() -> None:
    program = split([CenterCrop(4), ColorJitter(0.5)]).program()
    with pytest.raises(PenstockError, match="change of colours"):
        program.passes(np.array([[8, 8]], np.uint32), np.zeros(1, np.uint64), 0, 0, 1)
