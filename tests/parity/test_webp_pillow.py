"""WebP pixels equal Pillow's, which brings a libwebp of its own."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import penstock

QUALITIES: list[dict[str, object]] = [
    {"quality": 90, "method": 0},
    {"quality": 30, "method": 2},
    {"lossless": True, "quality": 0, "method": 0},
]


@pytest.fixture(scope="module")
def photographs(shared_data: Path) -> list[Image.Image]:
    paths = sorted((shared_data / "imagenet").iterdir())[::25]
    return [Image.open(path).convert("RGB") for path in paths]


@pytest.mark.parametrize("options", QUALITIES, ids=str)
@pytest.mark.parametrize("alpha", [False, True])
def test_decode_equals_pillow(photographs: list[Image.Image], options: dict[str, object], alpha: bool) -> None:
    for photograph in photographs:
        image = photograph.copy()
        if alpha:
            image.putalpha(photograph.convert("L"))
        file = io.BytesIO()
        image.save(file, "WEBP", **options)
        with Image.open(file) as expected:
            np.testing.assert_array_equal(penstock.decode(file.getvalue()), np.asarray(expected))


@pytest.mark.parametrize("format", ["webp:method=0", "webp:lossless:method=0"])
def test_pillow_decodes_what_we_encode(photographs: list[Image.Image], format: str) -> None:
    for photograph in photographs[:4]:
        data = penstock.encode(np.asarray(photograph), format)
        with Image.open(io.BytesIO(data)) as image:
            np.testing.assert_array_equal(np.asarray(image), penstock.decode(data))
