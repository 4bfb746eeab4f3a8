"""Forms of a sample between Python functions: Pillow images, arrays, tensors."""

from __future__ import annotations

import sys
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from penstock.errors import ArgumentError

Value = Any
"""Field of a sample, in any form that a function takes or returns."""
Array = npt.NDArray[Any]


class Forms(Protocol):
    """Conversions that the functions of a loader need: arrays only, or also tensors. Sent to worker processes."""

    def own(self, pixels: Array) -> Value:
        """Convert pixels to the form that a user's own function gets."""
        ...

    def as_tensor(self, image: Value, axes: str) -> Value:
        """Convert an image to the form that torchvision's objects take: C×H×W, as tv_tensors."""
        ...

    def wrap(self, role: str, value: Array, size: tuple[int, int]) -> Value:
        """Convert a mask, boxes or points of an image of `size` (height, width) for a function of whole samples."""
        ...

    def unwrap(self, value: Value) -> Value:
        """Convert a value with numbers to an array; return other values unchanged."""
        ...


class Arrays:
    """Conversions without tensors."""

    def own(self, pixels: Array) -> Value:
        """Return the array unchanged."""
        return pixels

    def as_tensor(self, image: Value, axes: str) -> Value:
        """Raise NotImplementedError: forms without tensors are chosen only if no function needs them."""
        raise NotImplementedError

    def wrap(self, role: str, value: Array, size: tuple[int, int]) -> Value:
        """Return the array unchanged."""
        return value

    def unwrap(self, value: Value) -> Value:
        """Convert a tensor that a function made to an array, like everything in the batch."""
        torch = sys.modules.get("torch")
        return value.detach().cpu().numpy() if torch is not None and isinstance(value, torch.Tensor) else value


def as_pillow(pixels: Array) -> Value:
    """Convert H×W×C pixels to the Pillow image that Pillow itself would have opened."""
    from PIL import Image

    flat = pixels[..., 0] if pixels.ndim == 3 and pixels.shape[-1] == 1 else pixels
    if flat.dtype == np.uint8 and (flat.ndim == 2 or flat.shape[-1] in (3, 4)):
        return Image.fromarray(np.ascontiguousarray(flat))
    if flat.dtype == np.uint16 and flat.ndim == 2:
        return Image.fromarray(np.ascontiguousarray(flat))
    raise ArgumentError(
        f"Pillow has no images of {'×'.join(map(str, pixels.shape))} {pixels.dtype}",
        where="transform",
        fix="make them 8-bit first: start the chain with penstock.transforms.ToDtype('uint8', scale=True); or put "
        "ToImage before the functions, which then get tensors",
        code=100,
    )


def is_pillow(value: object) -> bool:
    """Return whether a value is a Pillow image."""
    image = sys.modules.get("PIL.Image")
    return image is not None and isinstance(value, image.Image)


def to_axes(array: Array, axes: str, wanted: str) -> Array:
    """Reorder the axes of an image to "HWC" or "CHW". Arrays without three axes stay unchanged."""
    if array.ndim != 3 or axes == wanted:
        return array
    return np.ascontiguousarray(array.transpose((2, 0, 1) if wanted == "CHW" else (1, 2, 0)))


def size_of(image: Value, axes: str) -> tuple[int, int]:
    """Return (height, width) of an image in any form."""
    if is_pillow(image):
        return int(image.size[1]), int(image.size[0])
    shape = tuple(image.shape)
    if len(shape) == 2:
        return int(shape[0]), int(shape[1])
    return (int(shape[-2]), int(shape[-1])) if axes == "CHW" else (int(shape[0]), int(shape[1]))
