"""Images for golden files: integer formulas only, so that no random generator's next release changes them."""

from __future__ import annotations

import numpy as np

from penstock.types import Pixels


def hashed(height: int, width: int, channels: int, seed: int) -> np.ndarray[tuple[int, ...], np.dtype[np.uint64]]:
    """A pseudo-random 64-bit number per sample."""
    index = np.arange(height * width * channels, dtype=np.uint64).reshape(height, width, channels)
    mixed = (index + np.uint64(seed)) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    return mixed ^ (mixed >> np.uint64(32))


def photo(height: int, width: int, channels: int, bits: int = 8, seed: int = 1) -> Pixels:
    """Slopes, an edge, and noise that grows to the right."""
    y, x, c = np.mgrid[0:height, 0:width, 0:channels]
    top = (1 << bits) - 1
    slope = (y * 2 + x * 3 + c * 29) * top // 600 + (x > width // 2) * (top // 4)
    noise = hashed(height, width, channels, seed) % np.uint64(1 << (bits - 4)) * (x * 8 // width).astype(np.uint64) // 8
    return finish(slope + noise.astype(np.int64), bits)


def noise(height: int, width: int, channels: int, bits: int = 8, seed: int = 2) -> Pixels:
    """White noise: nothing compresses it."""
    return finish(hashed(height, width, channels, seed).astype(np.int64), bits)


def flat(height: int, width: int, channels: int, bits: int = 8) -> Pixels:
    """One colour, with a single outlier in the middle of the first channel."""
    pixels = np.full((height, width, channels), 1 << (bits - 1)) + np.arange(channels)
    pixels[height // 2, width // 2, 0] = 0
    return finish(pixels, bits)


def finish(values: np.ndarray[tuple[int, ...], np.dtype[np.int64]], bits: int) -> Pixels:
    """Values cut to their bits, H×W for one channel."""
    kept = values & ((1 << bits) - 1)
    pixels: Pixels = kept.astype(np.uint8) if bits == 8 else kept.astype(np.uint16)
    return pixels[:, :, 0] if pixels.shape[2] == 1 else pixels
