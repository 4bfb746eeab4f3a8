"""The forms that a sample takes on its way through functions in Python: Pillow images, arrays, tensors."""

from __future__ import annotations

import sys
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from penstock.errors import ArgumentError

Value = Any
"""A field of a sample in whatever form a function takes or gives."""
Array = npt.NDArray[Any]


class Forms(Protocol):
    """What the functions of a loader know: arrays alone, or tensors as well. Goes to worker processes."""

    def own(self, pixels: Array) -> Value:
        """Pixels as a function of the user's own gets them."""
        ...

    def as_tensor(self, image: Value, axes: str) -> Value:
        """An image as torchvision's own objects take it: C×H×W, as tv_tensors know it."""
        ...

    def wrap(self, role: str, value: Array, size: tuple[int, int]) -> Value:
        """A mask, boxes or points as a function of whole samples gets them, of an image of `size` (height, width)."""
        ...

    def unwrap(self, value: Value) -> Value:
        """An array of what has numbers; other things as they are."""
        ...


class Arrays:
    """Forms without tensors."""

    def own(self, pixels: Array) -> Value:
        """The array itself."""
        return pixels

    def as_tensor(self, image: Value, axes: str) -> Value:
        """Nobody asks for one here: forms are chosen by the functions there are."""
        raise NotImplementedError

    def wrap(self, role: str, value: Array, size: tuple[int, int]) -> Value:
        """The array itself."""
        return value

    def unwrap(self, value: Value) -> Value:
        """A tensor that a function made becomes an array, as everything in the batch is."""
        torch = sys.modules.get("torch")
        return value.detach().cpu().numpy() if torch is not None and isinstance(value, torch.Tensor) else value


def as_pillow(pixels: Array) -> Value:
    """A Pillow image of H×W×C pixels, as a loader that opens files with Pillow would have given."""
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
    """Whether something is a Pillow image."""
    image = sys.modules.get("PIL.Image")
    return image is not None and isinstance(value, image.Image)


def to_axes(array: Array, axes: str, wanted: str) -> Array:
    """An image with its axes in another order: "HWC" or "CHW". What is no image of three axes stays."""
    if array.ndim != 3 or axes == wanted:
        return array
    return np.ascontiguousarray(array.transpose((2, 0, 1) if wanted == "CHW" else (1, 2, 0)))


def size_of(image: Value, axes: str) -> tuple[int, int]:
    """(height, width) of an image in any form."""
    if is_pillow(image):
        return int(image.size[1]), int(image.size[0])
    shape = tuple(image.shape)
    if len(shape) == 2:
        return int(shape[0]), int(shape[1])
    return (int(shape[-2]), int(shape[-1])) if axes == "CHW" else (int(shape[0]), int(shape[1]))
