"""Resizes, crops, flips and pads of decoded images into a batch, with two kernels per pass: along x and along y.

The weights and the arithmetic are those of the native core: integers for 8-bit samples, doubles for 16-bit ones, each
pass rounded to samples. A crop or a flip is a resize with one tap of weight 1.
"""

from __future__ import annotations

import triton
import triton.language as tl

# The columns of an image's row: first what `native/pixels/pass_tables.h` says of the pass, then where its pixels are.
INPUT_HEIGHT = tl.constexpr(2)
OUTPUT_HEIGHT = tl.constexpr(4)
OUTPUT_WIDTH = tl.constexpr(5)
ROW_TAPS = tl.constexpr(6)
COLUMN_TAPS = tl.constexpr(7)
ROW_FIRST = tl.constexpr(8)
COLUMN_FIRST = tl.constexpr(9)
ROW_WEIGHTS = tl.constexpr(10)
COLUMN_WEIGHTS = tl.constexpr(11)
FILL = tl.constexpr(12)
SOURCE_AT = tl.constexpr(16)
SOURCE_ROW = tl.constexpr(17)
SOURCE_CHANNELS = tl.constexpr(18)
BETWEEN_AT = tl.constexpr(19)
OUTPUT_AT = tl.constexpr(20)
OUTPUT_ROW = tl.constexpr(21)
OUTPUT_COLUMN = tl.constexpr(22)
OUTPUT_CHANNEL = tl.constexpr(23)
COLUMNS = tl.constexpr(24)

ROWS = tl.constexpr(8)
LANES = tl.constexpr(128)
WEIGHT_BITS = tl.constexpr(22)
HALF = tl.constexpr(1 << 21)


@triton.jit
def filter_rows(
    source, images, first, weights, between,
    CHANNELS: tl.constexpr, WIDE: tl.constexpr, NARROW: tl.constexpr, GREY: tl.constexpr,
):  # fmt: skip
    """Filter along x: tile `program_id(0)` of image `program_id(1)`, from its source to rows of CHANNELS per pixel."""
    image = images + tl.program_id(1) * COLUMNS
    height = tl.load(image + INPUT_HEIGHT).to(tl.int32)
    width = tl.load(image + OUTPUT_WIDTH).to(tl.int32)
    across = (width * CHANNELS + LANES - 1) // LANES
    tile = tl.program_id(0)
    if tile >= across * ((height + ROWS - 1) // ROWS):
        return
    y = tile // across * ROWS + tl.arange(0, ROWS)
    lane = tile % across * LANES + tl.arange(0, LANES)
    x = lane // CHANNELS
    exists = (y < height)[:, None] & (x < width)[None, :]
    tap_at = tl.load(first + tl.load(image + COLUMN_FIRST) + x, mask=x < width, other=-1)
    channels = tl.load(image + SOURCE_CHANNELS).to(tl.int32)
    # Grey stands for every colour; alpha is left out.
    channel = tl.where((channels > 2) | (channels == CHANNELS), lane % CHANNELS, 0)
    rows = source + tl.load(image + SOURCE_AT) + y[:, None] * tl.load(image + SOURCE_ROW)
    weight_at = weights + tl.load(image + COLUMN_WEIGHTS) + x
    total = start(WIDE)
    for tap in range(tl.load(image + COLUMN_TAPS).to(tl.int32)):
        weight = tl.load(weight_at + tap * width, mask=tap_at >= 0, other=0)
        inside = exists & (weight != 0)[None, :]
        pixels = rows + ((tap_at + tap) * channels)[None, :]
        total += load_samples(pixels, channel[None, :], inside, NARROW, GREY) * weight[None, :]
    place = between + tl.load(image + BETWEEN_AT) + y[:, None].to(tl.int64) * (width * CHANNELS) + lane[None, :]
    tl.store(place, rounded(total, WIDE).to(between.dtype.element_ty), mask=exists)


@triton.jit
def filter_columns(
    between, images, first, weights, values, output,
    CHANNELS: tl.constexpr, WIDE: tl.constexpr, FLOATS: tl.constexpr, SHIFT: tl.constexpr,
):  # fmt: skip
    """Filter along y: tile `program_id(0)` of image `program_id(1)`. Pads, converts and writes to the batch.

    FLOATS looks up each sample in `values`; otherwise it is shifted left by SHIFT bits (right, if negative).
    """
    image = images + tl.program_id(1) * COLUMNS
    height = tl.load(image + OUTPUT_HEIGHT).to(tl.int32)
    width = tl.load(image + OUTPUT_WIDTH).to(tl.int32)
    across = (width * CHANNELS + LANES - 1) // LANES
    tile = tl.program_id(0)
    if tile >= across * ((height + ROWS - 1) // ROWS):
        return
    y = tile // across * ROWS + tl.arange(0, ROWS)
    lane = tile % across * LANES + tl.arange(0, LANES)
    x = lane // CHANNELS
    channel = lane % CHANNELS
    exists = (y < height)[:, None] & (x < width)[None, :]
    tap_at = tl.load(first + tl.load(image + ROW_FIRST) + y, mask=y < height, other=-1)
    column = tl.load(first + tl.load(image + COLUMN_FIRST) + x, mask=x < width, other=-1)
    has_source = (tap_at >= 0)[:, None] & (column >= 0)[None, :]
    samples = between + tl.load(image + BETWEEN_AT) + lane[None, :]
    weight_at = weights + tl.load(image + ROW_WEIGHTS) + y
    total = start(WIDE)
    for tap in range(tl.load(image + ROW_TAPS).to(tl.int32)):
        weight = tl.load(weight_at + tap * height, mask=tap_at >= 0, other=0)
        row = samples + (tap_at + tap)[:, None].to(tl.int64) * (width * CHANNELS)
        sample = tl.load(row, mask=has_source & (weight != 0)[:, None], other=0).to(tl.int32)
        total += sample * weight[:, None]
    fill = tl.load(image + FILL + channel).to(tl.int32)
    sample = tl.where(has_source, rounded(total, WIDE), fill[None, :])
    pixels = output + tl.load(image + OUTPUT_AT) + y[:, None] * tl.load(image + OUTPUT_ROW)
    pixels += (x * tl.load(image + OUTPUT_COLUMN) + channel * tl.load(image + OUTPUT_CHANNEL))[None, :]
    if FLOATS:
        levels: tl.constexpr = 65536 if WIDE else 256
        result = tl.load(values + channel[None, :] * levels + sample, mask=exists, other=0.0)
    elif SHIFT >= 0:
        result = sample << SHIFT
    else:
        result = sample >> -SHIFT
    tl.store(pixels, result.to(output.dtype.element_ty), mask=exists)


@triton.jit
def start(WIDE: tl.constexpr):
    """Return the sums before the first tap."""
    return tl.zeros([ROWS, LANES], tl.float64) if WIDE else tl.full([ROWS, LANES], HALF, tl.int32)


@triton.jit
def rounded(total, WIDE: tl.constexpr):
    """Round sums to samples."""
    if WIDE:
        sample = tl.minimum(tl.maximum(total + 0.5, 0.0), 65535.0).to(tl.int32)
    else:
        sample = tl.minimum(tl.maximum(total >> WEIGHT_BITS, 0), 255)
    return sample


@triton.jit
def load_samples(pixels, channel, inside, NARROW: tl.constexpr, GREY: tl.constexpr):
    """Load the samples of a channel, or the luma of red, green and blue as the native core computes it."""
    if GREY:
        red = tl.load(pixels, mask=inside, other=0).to(tl.int64)
        green = tl.load(pixels + 1, mask=inside, other=0).to(tl.int64)
        blue = tl.load(pixels + 2, mask=inside, other=0).to(tl.int64)
        sample = ((19595 * red + 38470 * green + 7471 * blue + 0x8000) >> 16).to(tl.int32)
    else:
        sample = tl.load(pixels + channel, mask=inside, other=0).to(tl.int32)
    if NARROW:
        sample = sample >> 8
    return sample
