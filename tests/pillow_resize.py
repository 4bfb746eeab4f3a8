"""What Pillow makes of pixels: the reference of our resizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from penstock.types import Pixels

FILTERS = {
    "nearest": Image.Resampling.NEAREST,
    "box": Image.Resampling.BOX,
    "bilinear": Image.Resampling.BILINEAR,
    "hamming": Image.Resampling.HAMMING,
    "bicubic": Image.Resampling.BICUBIC,
    "lanczos": Image.Resampling.LANCZOS,
}
MODES = {1: "L", 3: "RGB", 4: "CMYK"}


def to_image(pixels: Pixels) -> Image.Image:
    """8-bit pixels of 1, 3 or 4 channels (no alpha: Pillow would multiply by it), or 16-bit grey."""
    height, width = pixels.shape[:2]
    channels = 1 if pixels.ndim == 2 else pixels.shape[2]
    mode = MODES[channels] if pixels.dtype == np.uint8 else "I;16"
    return Image.frombytes(mode, (width, height), np.ascontiguousarray(pixels).tobytes())


def to_pixels(image: Image.Image, like: Pixels) -> Pixels:
    """An array with the type and number of dimensions of `like`."""
    array: npt.NDArray[Any] = np.frombuffer(image.tobytes(), like.dtype)
    return array.reshape(image.height, image.width, *like.shape[2:])


def resize(pixels: Pixels, size: tuple[int, int], interpolation: str = "bilinear") -> Pixels:
    """Rows are filtered first, then columns, as Pillow did in every case before version 13.

    Since then it may filter columns first, where that is cheaper; two calls keep the order.
    """
    image, (height, width) = to_image(pixels), size
    method = FILTERS[interpolation]
    if interpolation != "nearest":
        image = image.resize((width, image.height), method)
    return to_pixels(image.resize((width, height), method), pixels)


def resize_in_one(pixels: Pixels, size: tuple[int, int], interpolation: str = "bilinear") -> Pixels:
    """What the Pillow at hand does in one call."""
    return to_pixels(to_image(pixels).resize(size[::-1], FILTERS[interpolation]), pixels)
