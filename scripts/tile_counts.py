"""Counts, on real images, what decides how long a kernel's loops run; and how small the formats make them.

Uses the decoder of spec/reference, whose parts are watched while it works. Called by `scripts/kernels.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import penstock
from penstock.types import Pixels
from spec.reference import weir

FORMATS = ("weir:fast", "weir:dense", "l3")
TILE = 64


def ratios(files: Sequence[Path]) -> dict[str, float]:
    """Compute the bytes of pixels per byte of file, over all images."""
    images = [rgb(file) for file in files]
    num_bytes = sum(image.nbytes for image in images)
    return {f: num_bytes / sum(len(penstock.encode(image, f)) for image in images) for f in FORMATS}


def counts(files: Sequence[Path], seed: int = 0) -> dict[str, dict[str, float]]:
    """Compute means over a tile of each image: bytes, levels of control, levels of unary streams."""
    rng = np.random.default_rng(seed)
    tiles = [tile_of(rgb(file), rng) for file in files]
    return {format_text: _means([count_tile(tile, format_text) for tile in tiles]) for format_text in FORMATS}


def count_tile(tile: Pixels, format_text: str) -> dict[str, float]:
    """Count the work of one tile."""
    data = penstock.encode(tile, format_text)
    if format_text == "l3":
        return {"bytes": len(data) - 20 - 2 * 3 - 4}
    header = weir.read_header(data)
    with watched("read_codes") as codes, watched("read_dense") as residuals:
        weir.decode_tile(data[header.first_tile :], header, TILE, TILE)
    levels = sum(_control_levels(found[0], header.highest_code) for _, found in codes)
    unary = sum(_unary_levels(arguments[2], found) for arguments, found in residuals)
    return {"bytes": len(data) - header.first_tile, "levels": levels, "unary": unary}


@contextmanager
def watched(name: str) -> Iterator[list[tuple[tuple[Any, ...], Any]]]:
    """Collect arguments and result of each call of a function of the reference decoder."""
    function: Callable[..., Any] = getattr(weir, name)
    calls: list[tuple[tuple[Any, ...], Any]] = []

    def call(*arguments: object) -> object:
        calls.append((arguments, function(*arguments)))
        return calls[-1][1]

    with mock.patch.object(weir, name, call):
        yield calls


def _control_levels(codes: weir.Codes, highest: int) -> int:
    lines = np.array(codes)
    deltas = np.diff(lines, axis=1, prepend=weir.FIRST_CODE)
    values = np.where(deltas < 0, -2 * deltas - 1, 2 * deltas)
    chunks = [values[:, first : first + weir.CHUNK] for first in range(0, lines.shape[1], weir.CHUNK)]
    return sum(min(int(chunk.max()) + 1, 2 * highest) for chunk in chunks)


def _unary_levels(codes: weir.Codes, residuals: weir.Residuals) -> int:
    code = np.repeat(np.repeat(np.array(codes), weir.GROUP, axis=1), weir.BLOCK, axis=2)
    quotients = np.where(code <= 8, np.array(residuals) >> np.maximum(code - 2, 0), 0)
    groups = quotients.reshape(len(codes), -1, weir.GROUP * weir.LANES).max(axis=2)
    return int(np.minimum(groups, weir.MAX_QUOTIENT - 1).sum())


def _means(rows: list[dict[str, float]]) -> dict[str, float]:
    return {key: round(float(np.mean([row[key] for row in rows])), 1) for key in rows[0]}


def rgb(file: Path) -> Pixels:
    """Return the pixels of an image with three channels; grey ones are repeated."""
    pixels = penstock.decode(file.read_bytes())
    return pixels if pixels.ndim == 3 else np.dstack([pixels] * 3).astype(np.uint8)


def tile_of(image: Pixels, rng: np.random.Generator) -> Pixels:
    """Return a whole tile of an image."""
    y, x = (int(rng.integers(side // TILE)) * TILE for side in image.shape[:2])
    return image[y : y + TILE, x : x + TILE].copy()
