"""Writes L3 files as the authors' published code does, independently of spec and decoder.

Follows the published layout and predictor literally, quirks included, and refuses what the published encoder gets
wrong: rows of 0, 6 or 8 bits, sizes that are not whole patches.
"""

from __future__ import annotations

import struct

import numpy as np
import numpy.typing as npt

from penstock.types import Pixels

PATCH = 64
RIGHT_WIDTHS = (1, 2, 3, 4, 5, 7)


def write(pixels: Pixels) -> bytes:
    """The file of an RGB image."""
    height, width, channels = pixels.shape
    assert channels == 3
    assert height % PATCH == 0
    assert width % PATCH == 0
    header = b"LLL." + struct.pack("<iib", width, height, PATCH)
    sizes, payload = b"", b""
    for plane in range(3):
        for y in range(0, height, PATCH):
            for x in range(0, width, PATCH):
                cell = write_cell(pixels[y : y + PATCH, x : x + PATCH, plane].astype(int).tolist())
                sizes += struct.pack("<H", len(cell))
                payload += cell
    return header + sizes + payload


def write_cell(rows: list[list[int]]) -> bytes:
    cell = b""
    for index, row in enumerate(rows):
        predictions = [0] * PATCH if index == 0 else predict(rows[index - 1])
        residuals = [(pixel - p + 128) % 256 - 128 for pixel, p in zip(row, predictions, strict=True)]
        cell += write_row(residuals)
    return cell


def write_row(residuals: list[int]) -> bytes:
    base = min(residuals)
    width = (max(residuals) - base).bit_length()
    assert width in RIGHT_WIDTHS, f"the published encoder damages rows of {width} bits"
    text = "".join(f"{residual - base:0{width}b}" for residual in reversed(residuals))
    bits = int(text, 2) << 12 | (base & 255) << 4 | width
    return bits.to_bytes(2 + 8 * width, "little")


def predict(above: list[int]) -> list[int]:
    last = len(above) - 1
    return [paeth(above[i - 1] if i > 0 else 0, above[i], above[i + 1] if i < last else 0) for i in range(len(above))]


def paeth(left: int, top: int, right: int) -> int:
    point = left + right - top
    from_left, from_top, from_right = abs(point - left), abs(point - top), abs(point - right)
    if left == 0:
        return top if from_top <= from_right else right
    if right == 0:
        return left if from_left <= from_top else top
    if from_left <= from_top and from_left <= from_right:
        return left
    return top if from_left <= from_right else right  # the published comparison, wrong pair included


def image(height: int, width: int, seed: int = 0) -> Pixels:
    """An RGB image whose rows all have widths that the published encoder writes correctly, every one of them used."""
    rng = np.random.default_rng(seed)
    pixels = np.zeros((height, width, 3), np.uint8)
    for y in range(0, height, PATCH):
        for x in range(0, width, PATCH):
            for plane in range(3):
                pixels[y : y + PATCH, x : x + PATCH, plane] = _random_cell(rng)
    return pixels


def _random_cell(rng: np.random.Generator) -> npt.NDArray[np.uint8]:
    cell = np.zeros((PATCH, PATCH), np.uint8)
    for r in range(PATCH):
        width = int(rng.choice(RIGHT_WIDTHS))
        deltas = rng.integers(0, 1 << width, PATCH)
        deltas[rng.choice(PATCH, 2, replace=False)] = 0, (1 << width) - 1
        base = int(rng.integers(-128, 129 - (1 << width)))
        above = [0] * PATCH if r == 0 else predict(cell[r - 1].astype(int).tolist())
        cell[r] = (np.array(above) + deltas + base) % 256
    return cell
