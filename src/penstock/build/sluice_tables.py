"""Training of the table set of a Sluice dataset, on a sample of its source."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from penstock import _native
from penstock.build.recipe import Recipe
from penstock.build.target import is_trained
from penstock.storage import is_file, read_file, write_file

FILE_NAME = "sluice.sltb"
MAX_IMAGES = 256
"""Images of the sample."""
MAX_SAMPLE_BYTES = 256 << 20
MIN_IMAGES = 64
"""Fewer JPEGs use the default set: an own one would take more bytes than it saves."""


def trained_tables(recipe: Recipe, work: Path, wait: Callable[[_native.Job, str], None]) -> _native.SluiceTables | None:
    """Train a table set for the JPEGs of a source; None if the default set is to be used.

    The result depends on the source alone. It is kept in the work folder, so that a build that continues uses the
    tables that it began with, whatever version of Penstock runs it.
    """
    formats = [number for number, format in enumerate(recipe.formats) if is_trained(format)]
    if not formats:
        return None
    path = work / FILE_NAME
    if not is_file(path):
        write_file(path, _train(recipe, np.flatnonzero(np.isin(recipe.assigned, formats)), wait), durable=True)
    data = read_file(path)
    return _native.SluiceTables(data) if data else None


def _train(recipe: Recipe, ranks: npt.NDArray[np.int64], wait: Callable[[_native.Job, str], None]) -> bytes:
    """Return the bytes of a table set; none if the sample has too few JPEGs."""
    place = recipe.index.locations("image")
    ranks = _sample(ranks[place.file[ranks] >= 0], place.length)
    if len(ranks) < MIN_IMAGES:
        return b""
    places = (place.file[ranks], place.offset[ranks], place.length[ranks])
    training = _native.train_on_sources(recipe.pool, recipe.files, places, recipe.options.max_pixels)
    wait(training.job, "training tables")
    return training.tables() if training.num_images >= MIN_IMAGES else b""


def _sample(ranks: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Select samples that are evenly spread over the keys, with a limited number of bytes."""
    chosen: npt.NDArray[np.int64] = ranks[
        np.unique(np.linspace(0, len(ranks) - 1, min(MAX_IMAGES, len(ranks))).astype(int))
    ]
    total = np.cumsum(np.maximum(lengths[chosen], 0))
    if len(total) and total[-1] > MAX_SAMPLE_BYTES:  # large images: fewer of them, still from everywhere
        chosen = chosen[:: -(-int(total[-1]) // MAX_SAMPLE_BYTES)]
    return chosen
