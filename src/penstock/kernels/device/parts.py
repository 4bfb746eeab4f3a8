"""Functions that both formats use. Every load is checked against the end of its range."""

from __future__ import annotations

import triton
import triton.language as tl

# The columns of a record's row in the table that the host lays out (`table.py`).
COLUMNS = tl.constexpr(10)
DATA_AT = tl.constexpr(0)
DATA_BYTES = tl.constexpr(1)
WIDTH = tl.constexpr(2)
HEIGHT = tl.constexpr(3)
OUTPUT_AT = tl.constexpr(4)
ROW_STRIDE = tl.constexpr(5)
COLUMN_STRIDE = tl.constexpr(6)
CHANNEL_STRIDE = tl.constexpr(7)
STATUS_AT = tl.constexpr(8)
SCRATCH_AT = tl.constexpr(9)


@triton.jit
def is_within(at, end):
    """Return whether 0 <= at < end, in one comparison; either may be a plain number."""
    zero = tl.zeros([], tl.int32)
    return (zero + at).to(tl.uint32) < (zero + end).to(tl.uint32)


@triton.jit
def load_bytes(data, at, end):
    """Load the bytes at positions `at` as numbers; 0 below 0 and from `end` on, even if the file is damaged."""
    return tl.load(data + at, mask=is_within(at, end), other=0).to(tl.int32)


@triton.jit
def load_next(data, at, step: tl.constexpr, end):
    """Load the bytes at `at + step`; the step is part of the instruction's address."""
    return tl.load(data + at + step, mask=is_within(at + step, end), other=0).to(tl.int32)


@triton.jit
def load_u16(data, at, end):
    """Load little-endian numbers of two bytes."""
    return load_bytes(data, at, end) | load_next(data, at, 1, end) << 8


@triton.jit
def load_u32(data, at, end):
    """Load little-endian numbers of four bytes; from 2^31 on they are negative, which every check refuses."""
    return load_u16(data, at, end) | load_u16(data, at + 2, end) << 16


@triton.jit
def load_fields(data, at, bit, width, end, MAX_WIDTH: tl.constexpr):
    """Load fields of `width` bits that begin at bit `bit` of the bytes at `at`, least significant bit first."""
    first = at + (bit >> 3)
    word = load_u16(data, first, end)
    if MAX_WIDTH > 8:
        word |= load_next(data, first, 2, end) << 16
    return (word >> (bit & 7)) & ((1 << width) - 1)


@triton.jit
def place_rows(output, record, y, x, channel, lane):
    """Return the place of row `y` from column `x` on: a pointer, offsets of channels and lanes, and the row stride."""
    row_stride = tl.load(record + ROW_STRIDE)
    column_stride = tl.load(record + COLUMN_STRIDE)
    pixels = output + tl.load(record + OUTPUT_AT) + y * row_stride + x * column_stride
    offsets = channel * tl.load(record + CHANNEL_STRIDE).to(tl.int32) + lane * column_stride.to(tl.int32)
    return pixels, offsets, row_stride


@triton.jit
def store_row(pixels, offsets, samples, inside, scale, bias, NORMALISE: tl.constexpr):
    """Store `samples` at `pixels + offsets` where `inside`; normalised as samples * scale + bias in float32."""
    if NORMALISE:
        samples = samples.to(tl.float32) * scale + bias
    tl.store(pixels + offsets, samples.to(pixels.dtype.element_ty), mask=inside)


@triton.jit
def exclusive_cumsum(values, axis: tl.constexpr):
    """Sum the values before each value."""
    return tl.cumsum(values, axis) - values


@triton.jit
def pick_line(values, index):
    """Return values[:, index, :] for an index that is known only at run time."""
    line = tl.arange(0, values.shape[1])[None, :, None]
    return tl.sum(tl.where(line == index, values, 0), 1)
