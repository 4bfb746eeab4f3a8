"""CRC-32C of a range of bytes. 64 lanes take one word each of every 256 bytes, and are joined in pairs at the end.

A checksum is a polynomial, and advancing it by n bits multiplies it by x^n. Here n is always known in advance: a lane
advances by 2048 bits from row to row, and the left of two neighbours by the words of the right one. Such a product is
an exclusive or of 32 constants. Bytes before the first count as zero, so that every row is full.
"""

from __future__ import annotations

import triton
import triton.language as tl

from penstock.kernels.device.parts import load_bytes

POLYNOMIAL = 0x82F63B78  # reflected: bit 31 is x^0
LANES = tl.constexpr(64)
LEVELS = tl.constexpr(6)
WORD_BITS = 32
ROW_BYTES = tl.constexpr(256)
ALL_ONES = tl.constexpr(0xFFFFFFFF)


def factors(power: int) -> tuple[int, ...]:
    """Compute what bits 0 … 31 of a polynomial become when it is multiplied by x^power."""
    value, products = 1 << 31, []
    for exponent in range(power + WORD_BITS):
        if exponent >= power:
            products.append(value)
        value = value >> 1 ^ (POLYNOMIAL if value & 1 else 0)
    return tuple(reversed(products))


BY_ROW = tl.constexpr(factors(8 * 256))
BY_LEVEL = tl.constexpr(tuple(factors(WORD_BITS << level) for level in range(6)))


@triton.jit
def crc_start():
    """Return the state before the first byte."""
    return tl.full([], ALL_ONES, tl.uint32)


@triton.jit
def crc_finish(state):
    """Return the checksum as the signed number that `load_u32` returns for it."""
    return (state ^ ALL_ONES).to(tl.int32, bitcast=True)


@triton.jit
def crc_bytes(data, begin, end, state):
    """Update the state with the bytes from `begin` to `end`; the range may be empty."""
    num_bytes = end - begin
    num_rows = (num_bytes + ROW_BYTES - 1) // ROW_BYTES
    first = end - num_rows * ROW_BYTES + 4 * tl.arange(0, LANES)
    words = tl.zeros([LANES], tl.uint32)
    for row in range(num_rows):
        words = multiply(words, BY_ROW)
        for i in tl.static_range(4):
            at = first + row * ROW_BYTES + i
            byte = load_bytes(data, tl.where(at >= begin, at, -1), end).to(tl.uint32)
            # The state so far is added to the first four bytes.
            inside = (at >= begin) & (at < begin + 4)
            byte ^= tl.where(inside, state >> (8 * (at - begin) & 31).to(tl.uint32), 0) & 255
            words ^= byte << (8 * i)
    for level in tl.static_range(LEVELS):
        left, right = tl.split(words.reshape([LANES >> (level + 1), 2]))
        words = multiply(left, BY_LEVEL[level]) ^ right
    joined = tl.sum(multiply(words, BY_LEVEL[0]), 0)
    rest = tl.where(num_bytes < 4, state >> (8 * num_bytes & 31).to(tl.uint32), 0)
    return (joined ^ rest).to(tl.uint32)


@triton.jit
def multiply(values, products: tl.constexpr):
    """Multiply values by the power of x whose `factors` are given."""
    result = tl.zeros_like(values)
    for bit in tl.static_range(32):
        result ^= tl.where((values >> bit & 1) != 0, products[bit], 0).to(tl.uint32)
    return result
