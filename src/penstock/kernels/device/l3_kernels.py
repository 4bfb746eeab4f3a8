"""L3 decoder with one program per cell (a plane of a patch). spec/l3.md defines the terms.

A file stores sizes, not offsets. So `l3_offsets` sums them first, with one program per file, into a table that only
`l3_cells` reads. A damaged cell sets its status, and never reads outside its own bytes.
"""

from __future__ import annotations

import triton
import triton.language as tl

from penstock.kernels.device.crc import crc_bytes, crc_finish, crc_start
from penstock.kernels.device.parts import (
    COLUMNS,
    DATA_AT,
    DATA_BYTES,
    HEIGHT,
    SCRATCH_AT,
    STATUS_AT,
    WIDTH,
    exclusive_cumsum,
    load_bytes,
    load_fields,
    load_u16,
    load_u32,
    place_rows,
    store_row,
)

MIN_PATCH = tl.constexpr(8)
MAX_DELTA_BITS = tl.constexpr(8)
PUBLISHED_HEADER_BYTES = tl.constexpr(13)
HEADER_BYTES = tl.constexpr(20)
CHECKSUM_AT = tl.constexpr(16)
SUMS = tl.constexpr(256)

# Faults, the bits of a status; `status.py` has the words.
BAD_TABLES = tl.constexpr(1)
BAD_TABLES_CHECKSUM = tl.constexpr(2)
BAD_WIDTH = tl.constexpr(4)
BAD_SIZE = tl.constexpr(8)
BAD_CHECKSUM = tl.constexpr(16)


@triton.jit
def l3_offsets(data, records, offsets, status, CHANNELS: tl.constexpr, LANES: tl.constexpr, VERIFY: tl.constexpr):
    """Write the start of each cell of file `program_id(0)`; its status is the last one of the file."""
    record = records + tl.program_id(0) * COLUMNS
    size = tl.load(record + DATA_BYTES).to(tl.int32)
    data += tl.load(record + DATA_AT)
    offsets += tl.load(record + SCRATCH_AT)
    repaired, _, _, num_patches = read_header(data, record, size, LANES)
    num_cells = CHANNELS * num_patches
    sizes_at = tl.where(repaired, HEADER_BYTES, PUBLISHED_HEADER_BYTES)
    cells_at = sizes_at + 2 * num_cells + tl.where(repaired, 4 * num_patches, 0)
    offset = cells_at
    for first in range(0, num_cells, SUMS):
        cell = first + tl.arange(0, SUMS)
        sizes = load_u16(data, sizes_at + 2 * cell, tl.where(cell < num_cells, size, 0))
        tl.store(offsets + cell, tl.minimum(offset + exclusive_cumsum(sizes, 0), size), mask=cell < num_cells)
        offset = tl.minimum(offset + tl.sum(sizes, 0), size + 1)
    fault = tl.where(offset == size, 0, BAD_TABLES)
    if VERIFY:
        if repaired:
            state = crc_bytes(data, 0, CHECKSUM_AT, crc_start())
            crc = crc_finish(crc_bytes(data, HEADER_BYTES, tl.minimum(cells_at, size), state))
            fault |= tl.where(crc == load_u32(data, CHECKSUM_AT, size), 0, BAD_TABLES_CHECKSUM)
    tl.store(status + tl.load(record + STATUS_AT) + num_cells, fault.to(tl.uint8))


@triton.jit
def l3_cells(
    data, records, offsets, output, scale, bias, status,
    CHANNELS: tl.constexpr, LANES: tl.constexpr, NORMALISE: tl.constexpr, VERIFY: tl.constexpr,
):  # fmt: skip
    """Decode cell `program_id(0)` of file `program_id(1)`; `table.py` lays out `records`."""
    cell = tl.program_id(0)
    record = records + tl.program_id(1) * COLUMNS
    size = tl.load(record + DATA_BYTES).to(tl.int32)
    data += tl.load(record + DATA_AT)
    repaired, patch, across, num_patches = read_header(data, record, size, LANES)
    if cell >= CHANNELS * num_patches:
        return
    offsets += tl.load(record + SCRATCH_AT)
    sizes_at = tl.where(repaired, HEADER_BYTES, PUBLISHED_HEADER_BYTES)
    at = tl.load(offsets + cell)
    end = tl.minimum(at + load_u16(data, sizes_at + 2 * cell, size), size)
    plane = cell // num_patches
    x = cell % num_patches % across * patch
    y = cell % num_patches // across * patch
    columns = tl.minimum(tl.load(record + WIDTH).to(tl.int32) - x, patch)
    rows = tl.minimum(tl.load(record + HEIGHT).to(tl.int32) - y, patch)

    lane = tl.arange(0, LANES)
    pixels, pixel_offsets, row_stride = place_rows(output, record, y, x, plane, lane)
    plane_scale = tl.load(scale + plane) if NORMALISE else 0.0
    plane_bias = tl.load(bias + plane) if NORMALISE else 0.0

    fault = 0
    above = tl.zeros([LANES], tl.int32)
    for row in range(rows):
        head = load_u16(data, at, end)
        width = head & 15
        fault |= tl.where(width <= MAX_DELTA_BITS, 0, BAD_WIDTH)
        width = tl.minimum(width, MAX_DELTA_BITS)
        deltas = load_fields(data, at + 1, 4 + lane * width, width, tl.where(lane < columns, end, 0), MAX_DELTA_BITS)
        prediction = tl.where(row > 0, predict(above, lane, columns, repaired), tl.where(repaired, 128, 0))
        above = (prediction + deltas + (head >> 4)) & 255
        store_row(pixels, pixel_offsets, above, lane < columns, plane_scale, plane_bias, NORMALISE)
        pixels += row_stride
        at += (12 + columns * width + 7) // 8
    fault |= tl.where(at == end, 0, BAD_SIZE)
    if VERIFY:
        # One program checks its patch for all planes: their cells share a checksum.
        if repaired & (plane == 0):
            fault |= check_patch(data, offsets, sizes_at, cell, num_patches, size, CHANNELS)
    tl.store(status + tl.load(record + STATUS_AT) + cell, fault.to(tl.uint8))


@triton.jit
def read_header(data, record, size, LANES: tl.constexpr):
    """Read version, patch side, and the patches per row and in total of a file that the host has checked."""
    side = load_bytes(data, 12, size)
    repaired = side == 0
    patch = tl.where(repaired, load_bytes(data, 14, size), side)
    patch = tl.minimum(tl.maximum(patch, MIN_PATCH), LANES)
    across = (tl.load(record + WIDTH).to(tl.int32) + patch - 1) // patch
    down = (tl.load(record + HEIGHT).to(tl.int32) + patch - 1) // patch
    return repaired, patch, across, across * down


@triton.jit
def predict(above, lane, columns, repaired):
    """Predict a row from the row above it."""
    left = tl.where(lane > 0, tl.gather(above, tl.maximum(lane - 1, 0), 0), 0)
    right = tl.gather(above, tl.minimum(lane + 1, above.shape[0] - 1), 0)
    right = tl.where(lane < columns - 1, right, 0)
    a = tl.abs(right - above)
    b = tl.abs(left + right - 2 * above)
    c = tl.abs(left - above)
    top_or_right = tl.where(b <= c, above, right)
    otherwise = tl.where(repaired, top_or_right, tl.where(a <= c, above, right))
    choice = tl.where((a <= b) & (a <= c), left, otherwise)
    choice = tl.where(right == 0, tl.where(a <= b, left, above), choice)
    return tl.where(left == 0, top_or_right, choice)


@triton.jit
def check_patch(data, offsets, sizes_at, patch_index, num_patches, size, CHANNELS: tl.constexpr):
    """Return a fault if the bytes of a patch do not match their checksum."""
    state = crc_start()
    for plane in range(CHANNELS):
        cell = plane * num_patches + patch_index
        begin = tl.load(offsets + cell)
        end = tl.minimum(begin + load_u16(data, sizes_at + 2 * cell, size), size)
        state = crc_bytes(data, begin, end, state)
    stored = load_u32(data, sizes_at + 2 * CHANNELS * num_patches + 4 * patch_index, size)
    return tl.where(crc_finish(state) == stored, 0, BAD_CHECKSUM)
