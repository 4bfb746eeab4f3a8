#!/usr/bin/env python3
"""Fuzz a whole tiny dataset through the loader: manifest, index and shards change, every checksum is made right.

Two readers must agree: what the loader's native pipeline delivers is what `penstock.open` gives one by one. A hang is a
finding after `-timeout` seconds.
"""

from __future__ import annotations

import shutil
import zlib
from typing import Any

from fuzz.python.harness import check_error, fuzz, instrumented, memory_folder, mutate_json

with instrumented("penstock.records", "penstock.load"):
    import numpy as np

    import penstock
    from penstock.errors import PenstockError
    from penstock.records.check import verify

from fuzz.packed import UnpackError, unpack

FOLDER = memory_folder() / "data.pen"


def check_input(data: bytes) -> None:
    """Check that both readers give the same pixels for any dataset, or errors of Penstock."""
    try:
        files = unpack(data)
    except UnpackError:
        return
    shutil.rmtree(FOLDER, ignore_errors=True)
    try:
        files.write(FOLDER)
    except (OSError, ValueError):
        return  # a shard that no file system can hold
    draw = zlib.crc32(data)
    try:
        expected = read_alone()
        delivered = load(draw)
        if draw % 4 == 0:
            verify(FOLDER)
    except PenstockError as error:
        check_error(error)
        return
    for sample_id, pixels in delivered.items():
        if sample_id in expected:
            np.testing.assert_array_equal(pixels, expected[sample_id])


def read_alone() -> dict[int, Any]:
    """Read the pixels of every readable sample, by id."""
    dataset = penstock.open(FOLDER)
    found = {}
    for sample_id in range(len(dataset)):
        try:
            found[sample_id] = dataset[sample_id]["image"]
        except PenstockError as error:
            check_error(error)
    return found


def load(draw: int) -> dict[int, Any]:
    """Load the pixels of every sample that the loader delivers, by id; damaged ones are skipped."""
    options: dict[str, Any] = {
        "cache": ("none", "system", "rolling", "pinned")[draw // 4 % 4],
        "verify": ("always", "first")[draw // 16 % 2],
    }
    found: dict[int, Any] = {}
    with penstock.Loader(
        FOLDER, batch_size=3, threads=2, memory="256MB", on_error="skip", channels="unchanged", **options
    ) as loader:
        for batch in loader:
            for sample_id, image in zip(batch["id"], batch["image"], strict=True):
                found[int(sample_id)] = image
    return found


if __name__ == "__main__":
    fuzz(check_input, mutate_json)
