"""JPEGs of any sampling factors: our tables, a header made by hand, and noise for coefficients."""

from __future__ import annotations

import struct
from itertools import product

import numpy as np

import penstock

Factors = tuple[tuple[int, int], ...]
"""Across and down, of each component."""

MAX_BLOCKS = 10
"""In an MCU, by the standard."""


def all_samplings() -> list[Factors]:
    """Those of three components with factors 1, 2 and 4 that an MCU has room for."""
    sides = [(across, down) for across in (1, 2, 4) for down in (1, 2, 4)]
    return [
        factors for factors in product(sides, repeat=3) if sum(across * down for across, down in factors) <= MAX_BLOCKS
    ]


def noise_jpeg(width: int, height: int, factors: Factors, seed: int = 0) -> bytes:
    """A baseline file; some samplings are refused by libjpeg (a component with two thirds of another's samples)."""
    ids = range(len(factors))
    frame = struct.pack(">BHHB", 8, height, width, len(factors))
    frame += b"".join(bytes([i + 1, factors[i][0] << 4 | factors[i][1], min(i, 1)]) for i in ids)
    scan = bytes([len(factors)]) + b"".join(bytes([i + 1, 0x11 * min(i, 1)]) for i in ids) + b"\0\x3f\0"
    # Bytes below 128: no code of our tables is longer than their runs of ones, so that each one exists.
    coefficients = np.random.default_rng(seed).integers(0, 128, width * height * 4 + 4096, np.uint8).tobytes()
    return b"\xff\xd8" + _tables() + _segment(0xC0, frame) + _segment(0xDA, scan) + coefficients + b"\xff\xd9"


def _segment(marker: int, content: bytes) -> bytes:
    return bytes([0xFF, marker]) + struct.pack(">H", len(content) + 2) + content


def _tables() -> bytes:
    data = penstock.encode(np.zeros((8, 8, 3), np.uint8), "jpeg:q=90")
    tables, at = b"", 2
    while data[at + 1] != 0xDA:
        length = 2 + int.from_bytes(data[at + 2 : at + 4], "big")
        if data[at + 1] in (0xDB, 0xC4):
            tables += data[at : at + length]
        at += length
    return tables
