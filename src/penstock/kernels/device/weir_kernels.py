"""Weir decoder with one program per tile, directly from the bytes of the files. spec/weir.md defines the terms.

The planes of a tile are the rows of one tensor, padded to a power of two; a constant plane has no coded bit. Threads
share only the tensors, and no other memory. A damaged tile sets its status. It never reads outside its own bytes or
writes outside its own pixels.
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
    STATUS_AT,
    WIDTH,
    exclusive_cumsum,
    load_bytes,
    load_fields,
    load_u16,
    load_u32,
    pick_line,
    place_rows,
    store_row,
)

TILE = tl.constexpr(64)
GROUP = tl.constexpr(4)
BLOCKS = tl.constexpr(8)
CHUNK = tl.constexpr(8)
FIRST_CODE = tl.constexpr(4)
MAX_QUOTIENT = tl.constexpr(15)
HEADER_BYTES = tl.constexpr(32)

# Faults, the bits of a status; `status.py` has the words.
BAD_OFFSETS = tl.constexpr(1)
BAD_HEAD = tl.constexpr(2)
BAD_MODE = tl.constexpr(4)
BAD_CODE = tl.constexpr(8)
BAD_CONTROL = tl.constexpr(16)
BAD_PAYLOAD = tl.constexpr(32)
BAD_UNARY = tl.constexpr(64)
BAD_CHECKSUM = tl.constexpr(128)


@triton.jit
def weir_tiles(
    data, records, output, scale, bias, status,
    DENSE: tl.constexpr, CHANNELS: tl.constexpr, PLANES: tl.constexpr, BITS: tl.constexpr,
    NORMALISE: tl.constexpr, VERIFY: tl.constexpr,
):  # fmt: skip
    """Decode tile `program_id(0)` of record `program_id(1)`; `table.py` lays out `records`."""
    tile = tl.program_id(0)
    record = records + tl.program_id(1) * COLUMNS
    size = tl.load(record + DATA_BYTES).to(tl.int32)
    width = tl.load(record + WIDTH).to(tl.int32)
    height = tl.load(record + HEIGHT).to(tl.int32)
    across = (width + TILE - 1) // TILE
    num_tiles = across * ((height + TILE - 1) // TILE)
    if tile >= num_tiles:
        return
    data += tl.load(record + DATA_AT)
    x = tile % across * TILE
    y = tile // across * TILE
    rows = tl.minimum(height - y, TILE)

    channel = tl.arange(0, PLANES)[:, None]
    lane = tl.arange(0, TILE)[None, :]
    inside = (channel < CHANNELS) & (lane < width - x)
    pixels, offsets, row_stride = place_rows(output, record, y, x, channel, lane)
    scales = tl.load(scale + channel, mask=channel < CHANNELS, other=0.0) if NORMALISE else 0.0
    biases = tl.load(bias + channel, mask=channel < CHANNELS, other=0.0) if NORMALISE else 0.0

    begin, end, fault = read_range(data, tile, num_tiles, size)
    flags, coded, base, modes_at, control_at, payload_at, payload_end, unary_at, unary_end, head_fault = read_head(
        data, begin, end, rows, DENSE, CHANNELS, PLANES, BITS
    )
    fault |= head_fault
    if VERIFY:
        fault |= check_tile(data, tile, num_tiles, begin, end, size)
    num_groups = (rows + GROUP - 1) // GROUP
    groups_per_chunk: tl.constexpr = CHUNK if DENSE else CHUNK // GROUP
    num_chunks = (num_groups + groups_per_chunk - 1) // groups_per_chunk

    masks_at = 0
    if DENSE:
        masks_at, mask_fault = find_masks(data, control_at, payload_at, coded, num_groups, num_chunks, PLANES, BITS)
        fault |= mask_fault
    num_masks = 0
    control_bit = 0
    payload_used = 0
    unary_bit = tl.zeros([PLANES], tl.int32)
    line_above = tl.full([PLANES, BLOCKS], FIRST_CODE, tl.int32)
    above = tl.zeros([PLANES, TILE], tl.int32) + base[:, None]
    for chunk in range(num_chunks):
        codes, line_above, control_bit, code_fault = read_chunk(
            data, control_at, payload_at, control_bit, line_above, coded, DENSE, PLANES, BITS
        )
        fault |= code_fault
        first_group = chunk * groups_per_chunk
        for i in range(tl.minimum(groups_per_chunk, num_groups - first_group)):
            group = first_group + i
            group_rows = tl.minimum(rows - group * GROUP, GROUP)
            if DENSE:
                fields, even, odd, payload_used, unary_bit, num_masks = read_dense_group(
                    data, masks_at, payload_at, payload_end, unary_at, unary_end,
                    pick_line(codes, i), coded, group_rows, payload_used, unary_bit, num_masks, CHANNELS, PLANES, BITS,
                )  # fmt: skip
            else:
                fields, payload_used = read_fast_group(codes, i, coded, group_rows, payload_used, PLANES)
                even, odd = 0, 0
            mode, mode_fault = read_modes(data, modes_at, control_at, group, coded)
            fault |= mode_fault
            for r in range(group_rows):
                residuals = read_row(data, payload_at, payload_end, fields, even, odd, r, DENSE, PLANES, BITS)
                above = rebuild_row(above, residuals, mode, BITS)
                samples = colours(above, flags & 3, CHANNELS, BITS)
                store_row(pixels, offsets, samples, inside, scales, biases, NORMALISE)
                pixels += row_stride

    fault |= tl.where(payload_used == payload_end - payload_at, 0, BAD_PAYLOAD)
    if DENSE:
        fault |= check_unary(unary_bit, unary_end - unary_at, coded)
    else:
        fault |= tl.where((control_bit + 7) // 8 == payload_at - control_at, 0, BAD_CONTROL)
    tl.store(status + tl.load(record + STATUS_AT) + tile, fault.to(tl.uint8))


@triton.jit
def read_range(data, tile, num_tiles, size):
    """Read begin and end of a tile's bytes in its file; (0, 0) and a fault if the offsets are not in order."""
    entry_bytes = 4 + 4 * (load_bytes(data, 18, size) & 1)
    entry = HEADER_BYTES + tile * entry_bytes
    begin = load_u32(data, entry, size)
    end = load_u32(data, entry + entry_bytes, size)
    high = load_u32(data, entry + 4, size) | load_u32(data, entry + entry_bytes + 4, size)
    first_tile = HEADER_BYTES + entry_bytes * (num_tiles + 1) + 4 * num_tiles + load_u32(data, 20, size)
    ascending = (begin >= HEADER_BYTES) & (begin < end) & (end <= size)
    fits = ascending & ((entry_bytes == 4) | (high == 0))
    fits = fits & ((tile > 0) | (begin == first_tile)) & ((tile < num_tiles - 1) | (end == size))
    return tl.where(fits, begin, 0), tl.where(fits, end, 0), tl.where(fits, 0, BAD_OFFSETS)


@triton.jit
def check_tile(data, tile, num_tiles, begin, end, size):
    """Return a fault if the bytes of a tile do not match their checksum."""
    entry_bytes = 4 + 4 * (load_bytes(data, 18, size) & 1)
    stored = load_u32(data, HEADER_BYTES + entry_bytes * (num_tiles + 1) + 4 * tile, size)
    return tl.where(crc_finish(crc_bytes(data, begin, end, crc_start())) == stored, 0, BAD_CHECKSUM)


@triton.jit
def read_head(
    data, begin, end, rows, DENSE: tl.constexpr, CHANNELS: tl.constexpr, PLANES: tl.constexpr, BITS: tl.constexpr
):  # fmt: skip
    """Locate the parts of a tile. No part goes beyond `end`; a fault is set if one would."""
    p = tl.arange(0, PLANES)
    flags = load_bytes(data, begin, end)
    coded = ((flags >> (4 + p) & 1) ^ 1) & (p < CHANNELS)
    num_coded = tl.sum(coded, 0)
    sample_bytes: tl.constexpr = BITS // 8
    base_at = begin + 1 + p * sample_bytes
    base = load_bytes(data, base_at, end)
    if BITS == 16:
        base |= load_bytes(data, base_at + 1, end) << 8
    lengths_at = begin + 1 + CHANNELS * sample_bytes
    lengths_bytes: tl.constexpr = 2 + 2 * CHANNELS if DENSE else 2
    absent = num_coded == 0
    modes_at = lengths_at + tl.where(absent, 0, lengths_bytes)
    control_at = modes_at + ((rows + GROUP - 1) // GROUP * num_coded + 1) // 2
    payload_at = control_at + tl.where(absent, 0, load_u16(data, lengths_at, end))
    payload_end = end
    unary_at = tl.zeros([PLANES], tl.int32) + end
    unary_end = unary_at
    fits = payload_at <= end
    if DENSE:
        payload_end = payload_at + tl.where(absent, 0, load_u16(data, lengths_at + 2, end))
        unary_bytes = load_u16(data, lengths_at + 4 + 2 * p, end)
        unary_bytes = tl.where((p < CHANNELS - 1) & (num_coded > 0), unary_bytes, 0)
        unary_at = payload_end + exclusive_cumsum(unary_bytes, 0)
        unary_end = tl.where(p < CHANNELS - 1, unary_at + unary_bytes, end)
        fits = tl.max(tl.where(p < CHANNELS, unary_at, 0), 0) <= end
        fits = fits & (tl.sum(tl.where((p < CHANNELS) & (coded == 0), unary_end - unary_at, 0), 0) == 0)
    fits = fits & ((num_coded > 0) | (modes_at == end)) & ((flags & 12) == 0) & ((flags >> (4 + CHANNELS)) == 0)
    if CHANNELS < 3:
        fits = fits & ((flags & 3) == 0)
    return (
        flags, coded, base, modes_at, tl.minimum(control_at, end), tl.minimum(payload_at, end),
        tl.minimum(payload_end, end), tl.minimum(unary_at, end), tl.minimum(unary_end, end),
        tl.where(fits, 0, BAD_HEAD),
    )  # fmt: skip


@triton.jit
def num_ones(masks):
    """Count the set bits among eight, where bit j is bit 4j of a mask."""
    masks += masks >> 16
    masks += masks >> 8
    return (masks + (masks >> 4)) & 15


@triton.jit
def read_unary(data, at, end, bit, alive, limit):
    """Read values in transposed unary from bit `bit` of the bytes at `at`, and return the bit behind them.

    A level has one bit for each value that is still alive; a value counts its ones. Eight values share an element:
    value j is alive if bit 4j of `alive` is set. The counts are returned as bytes of two numbers, values 0 2 4 6 and
    1 3 5 7.
    """
    even = tl.zeros_like(alive)
    odd = tl.zeros_like(alive)
    level = 0
    num_alive = tl.sum(num_ones(alive), 0)
    while (num_alive > 0) & (level < limit):
        count = num_ones(alive)
        position = bit + exclusive_cumsum(count, 0)
        bits = load_u16(data, at + (position >> 3), tl.where(count > 0, end, 0)) >> (position & 7)
        ones = tl.zeros_like(alive)
        for j in tl.static_range(BLOCKS):
            is_alive = alive >> (4 * j) & 1
            ones |= (bits & is_alive) << (4 * j)
            bits = bits >> is_alive
        alive = ones
        even += ones & 0x01010101
        odd += ones >> 4 & 0x01010101
        bit += num_alive
        num_alive = tl.sum(num_ones(alive), 0)
        level += 1
    return even, odd, bit


@triton.jit
def count_of(even, odd, j):
    """Return value j of the result of `read_unary`."""
    return tl.where((j & 1) != 0, odd, even) >> (8 * (j >> 1)) & 255


@triton.jit
def read_chunk(
    data, control_at, control_end, control_bit, line_above, coded,
    DENSE: tl.constexpr, PLANES: tl.constexpr, BITS: tl.constexpr,
):  # fmt: skip
    """Read the codes [plane, line, block] of the next chunk, its last line, and the end of the chunk."""
    highest: tl.constexpr = BITS + 1 if DENSE else BITS
    alive = tl.broadcast_to(coded[:, None] * 0x11111111, [PLANES, CHUNK]).reshape([PLANES * CHUNK])
    even, odd, control_bit = read_unary(data, control_at, control_end, control_bit, alive, 2 * highest)
    values = count_of(even[:, None], odd[:, None], tl.arange(0, BLOCKS)[None, :])
    deltas = (values >> 1 ^ -(values & 1)).reshape([PLANES, CHUNK, BLOCKS])
    codes = tl.cumsum(deltas, 1) + line_above[:, None, :]
    legal = (codes >= 0) & (codes <= highest)
    fault = tl.max(tl.where(legal, 0, BAD_CODE).reshape([PLANES * CHUNK * BLOCKS]), 0)
    fault |= tl.where(control_bit <= 8 * (control_end - control_at), 0, BAD_CONTROL)
    codes = tl.where(legal, codes, 0)
    return codes, pick_line(codes, CHUNK - 1), control_bit, fault


@triton.jit
def find_masks(
    data, control_at, control_end, coded, num_groups, num_chunks, PLANES: tl.constexpr, BITS: tl.constexpr
):  # fmt: skip
    """Find the start of the row masks of a dense tile, which come after all codes; reads the codes once for this."""
    control_bit = 0
    num_sparse = 0
    fault = 0
    line_above = tl.full([PLANES, BLOCKS], FIRST_CODE, tl.int32)
    line = tl.arange(0, CHUNK)[None, :, None]
    for chunk in range(num_chunks):
        codes, line_above, control_bit, code_fault = read_chunk(
            data, control_at, control_end, control_bit, line_above, coded, True, PLANES, BITS
        )
        fault |= code_fault
        sparse = (codes == 1) & (coded[:, None, None] != 0) & (line < num_groups - chunk * CHUNK)
        num_sparse += tl.sum(sparse.to(tl.int32).reshape([PLANES * CHUNK * BLOCKS]), 0)
    masks_at = control_at + (control_bit + 7) // 8
    fault |= tl.where(masks_at + (num_sparse + 1) // 2 == control_end, 0, BAD_CONTROL)
    return masks_at, fault


@triton.jit
def read_modes(data, modes_at, modes_end, group, coded):
    """Read the mode of each plane; constant planes get 0, which leaves them unchanged."""
    index = group * tl.sum(coded, 0) + exclusive_cumsum(coded, 0)
    mode = load_bytes(data, modes_at + (index >> 1), modes_end) >> (4 * (index & 1)) & 15
    mode = tl.where(coded != 0, mode, 0)
    return mode[:, None], tl.where(tl.max(mode, 0) <= 7, 0, BAD_MODE)


@triton.jit
def read_fast_group(codes, half, coded, group_rows, payload_used, PLANES: tl.constexpr):
    """Compute payload offset and width of each field block [plane, row, block] of a group, as 32 * offset + width."""
    widths = pick_line(codes.reshape([PLANES, CHUNK // GROUP, GROUP * BLOCKS]), half)
    row = tl.arange(0, GROUP * BLOCKS)[None, :] // BLOCKS
    widths = tl.where((coded[:, None] != 0) & (row < group_rows), widths, 0).reshape([PLANES * GROUP * BLOCKS])
    fields = (payload_used + exclusive_cumsum(widths, 0)) * 32 + widths
    return fields.reshape([PLANES, GROUP, BLOCKS]), payload_used + tl.sum(widths, 0)


@triton.jit
def read_dense_group(
    data, masks_at, payload_at, payload_end, unary_at, unary_end, codes, coded, group_rows,
    payload_used, unary_bit, num_masks, CHANNELS: tl.constexpr, PLANES: tl.constexpr, BITS: tl.constexpr,
):  # fmt: skip
    """Compute the field blocks of a group like `read_fast_group`, and its quotients like `read_unary`."""
    index = tl.arange(0, PLANES)
    block = tl.arange(0, GROUP * BLOCKS) % BLOCKS
    row = tl.arange(0, GROUP * BLOCKS) // BLOCKS
    fields = tl.zeros([PLANES, GROUP * BLOCKS], tl.int32)
    even = tl.zeros([PLANES, GROUP * BLOCKS], tl.int32)
    odd = tl.zeros([PLANES, GROUP * BLOCKS], tl.int32)
    for p in range(CHANNELS):
        here = index == p
        is_coded = tl.sum(tl.where(here, coded, 0), 0)
        # A code for each row of each block, so that one prefix sum gives the offsets of all rows.
        code = tl.sum(tl.where(here[:, None], codes, 0), 0)
        code = tl.gather(code, block, 0) * is_coded
        exists = row < group_rows
        low_bits = tl.where(exists, tl.where(code == BITS + 1, BITS, tl.maximum(code - 2, 0)), 0)
        offsets = payload_used + exclusive_cumsum(low_bits, 0)
        fields = tl.where(here[:, None], (offsets * 32 + low_bits)[None, :], fields)
        payload_used += tl.sum(low_bits, 0)

        sparse = (code == 1).to(tl.int32)
        mask_index = num_masks + tl.gather(exclusive_cumsum(sparse, 0), block, 0)
        mask = load_bytes(data, masks_at + (mask_index >> 1), payload_at) >> (4 * (mask_index & 1)) >> row & 1
        num_masks += tl.sum(tl.where(row == 0, sparse, 0), 0)
        has_byte = tl.where(exists & ((code >= 2) & (code <= BITS) | (sparse & mask == 1)), 1, 0)
        byte_at = payload_at + payload_used + exclusive_cumsum(has_byte, 0)
        ones = load_bytes(data, byte_at, tl.where(has_byte != 0, payload_end, 0))
        payload_used += tl.sum(has_byte, 0)

        alive = tl.zeros_like(ones)
        for j in tl.static_range(BLOCKS):
            alive |= (ones >> j & 1) << (4 * j)
        at = tl.sum(tl.where(here, unary_at, 0), 0)
        end = tl.sum(tl.where(here, unary_end, 0), 0)
        bit = tl.sum(tl.where(here, unary_bit, 0), 0)
        more_even, more_odd, bit = read_unary(data, at, end, bit, alive, MAX_QUOTIENT - 1)
        unary_bit = tl.where(here, bit, unary_bit)
        even = tl.where(here[:, None], (more_even + (alive & 0x01010101))[None, :], even)
        odd = tl.where(here[:, None], (more_odd + (alive >> 4 & 0x01010101))[None, :], odd)
    shape: tl.constexpr = [PLANES, GROUP, BLOCKS]
    return fields.reshape(shape), even.reshape(shape), odd.reshape(shape), payload_used, unary_bit, num_masks


@triton.jit
def read_row(
    data, payload_at, payload_end, fields, even, odd, row,
    DENSE: tl.constexpr, PLANES: tl.constexpr, BITS: tl.constexpr,
):  # fmt: skip
    """Read the residuals [plane, lane] of one row of a group."""
    block = pick_line(fields, row)[:, :, None]
    width = block & 31
    lane = tl.arange(0, BLOCKS)[None, None, :]
    values = load_fields(data, payload_at + (block >> 5), lane * width, width, payload_end, BITS)
    if DENSE:
        quotients = count_of(pick_line(even, row)[:, :, None], pick_line(odd, row)[:, :, None], lane)
        values += quotients << width
    return (values & ((1 << BITS) - 1)).reshape([PLANES, TILE])


@triton.jit
def choose(mask, yes, no):
    """Select `yes` where the mask is all ones and `no` where it is 0, in one instruction without a predicate."""
    return no ^ ((yes ^ no) & mask)


@triton.jit
def check_unary(bits, num_bytes, coded):
    """Return a fault if the unary stream of a plane is not as long as its bits."""
    fits = (bits + 7) // 8 == num_bytes
    return tl.max(tl.where((coded != 0) & ~fits, BAD_UNARY, 0), 0)


@triton.jit
def rebuild_row(above, residuals, mode, BITS: tl.constexpr):
    """Rebuild the samples of a row from the row above. A plane without residuals in mode 0 does not change."""
    # Masks and shifts that change with the group only; a shift by 31 leaves nothing.
    is_smooth = -((mode == 1) | (mode >= 5)).to(tl.int32)
    is_running = -(mode >= 2).to(tl.int32)
    part = tl.where(mode == 2, 31, ((mode == 4) | (mode == 6)).to(tl.int32))
    quarter = tl.where(mode == 7, 2, 31)

    errors = residuals >> 1 ^ -(residuals & 1)
    lane = tl.arange(0, TILE)[None, :] + tl.zeros_like(above)
    neighbours = tl.gather(above, tl.maximum(lane - 1, 0), 1) + tl.gather(above, tl.minimum(lane + 1, TILE - 1), 1)
    f = choose(is_smooth, ((neighbours >> 1) + above + 1) >> 1, above)
    f = (f >> part) - (f >> quarter)
    # The sum carries T[0] - f[0] from lane 0 to all others.
    sums = tl.cumsum(errors + tl.where(lane == 0, above - f, 0), 1)
    return (f + choose(is_running, sums, errors)) & ((1 << BITS) - 1)


@triton.jit
def colours(planes, transform, CHANNELS: tl.constexpr, BITS: tl.constexpr):
    """Convert a row of planes to its channels [channel, lane]."""
    if CHANNELS < 3:
        return planes
    half: tl.constexpr = 1 << (BITS - 1)
    index = tl.arange(0, planes.shape[0])[:, None]
    p = tl.sum(tl.where(index == 0, planes, 0), 0)
    q = tl.sum(tl.where(index == 1, planes, 0), 0)
    s = tl.sum(tl.where(index == 2, planes, 0), 0)
    # Transforms 0, 1 and 3: green is plane 0.
    red = tl.where(transform == 0, q, (q + p - half) & ((1 << BITS) - 1))
    blue = tl.where(transform == 0, s, s - half + tl.where(transform == 1, p, (red + p) >> 1))
    # YCoCg-R. A sample less `half` is already the signed number of N bits that it stands for.
    t = p - ((s - half) >> 1)
    ycocg = transform == 2
    green = tl.where(ycocg, s - half + t, p)
    blue = tl.where(ycocg, t - ((q - half) >> 1), blue)
    red = tl.where(ycocg, blue + q - half, red)
    rgb = tl.where(index == 0, red[None, :], tl.where(index == 1, green[None, :], blue[None, :]))
    return tl.where(index == 3, planes, rgb) & ((1 << BITS) - 1)
