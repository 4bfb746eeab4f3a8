"""Samples in the form of torchvision's transforms: tensors of C×H×W, and tv_tensors.

This module never imports torchvision; its transforms are used only if the program has imported it.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import torch

from penstock.functions.forms import Array, Value, to_axes


class Tensors:
    """Forms with tensors, for `penstock.torch.Loader` and for chains with objects of torchvision."""

    def __init__(self, *, own_arrays: bool = False) -> None:
        """Make the forms; `own_arrays` gives arrays to functions outside torchvision, as in `penstock.Loader`."""
        self._own_arrays = own_arrays

    def own(self, pixels: Value) -> Value:
        """Return a tensor that shares the memory of the pixels, or the pixels."""
        return pixels if self._own_arrays or isinstance(pixels, torch.Tensor) else torch.from_numpy(pixels)

    def as_tensor(self, image: Value, axes: str) -> Value:
        """Convert an image to C×H×W; a tv_tensors.Image if torchvision is imported."""
        if isinstance(image, np.ndarray):
            found = to_axes(image, axes, "CHW")
            image = torch.from_numpy(found[None] if found.ndim == 2 else found)
        elif axes == "HWC" and image.ndim == 3:
            image = image.permute(2, 0, 1)
        tensors = _tv_tensors()
        return image if tensors is None or type(image) is not torch.Tensor else tensors.Image(image)

    def wrap(self, role: str, value: Value, size: tuple[int, int]) -> Value:
        """Make a Mask, BoundingBoxes or KeyPoints of an image of `size`; other lists of numbers are plain tensors."""
        tensor = value if isinstance(value, torch.Tensor) else torch.from_numpy(np.ascontiguousarray(value))
        tensors = _tv_tensors()
        if tensors is None or role == "list" or isinstance(value, tensors.TVTensor):
            return tensor
        if role == "boxes":
            return tensors.BoundingBoxes(tensor, format="XYXY", canvas_size=size)
        if role == "points":
            return tensors.KeyPoints(tensor, canvas_size=size)
        return tensors.Mask(tensor) if role == "mask" else tensors.Image(tensor)

    def unwrap(self, value: Value) -> Value:
        """Return the array of a CPU tensor; return other values unchanged."""
        if not isinstance(value, torch.Tensor):
            return value
        plain = value.detach().as_subclass(torch.Tensor)
        return plain if plain.device.type != "cpu" else _array(plain)


def _array(tensor: torch.Tensor) -> Array:
    return np.asarray(tensor.contiguous().numpy())


def _tv_tensors() -> Any:  # noqa: ANN401  # a module that may not be there
    return sys.modules.get("torchvision.tv_tensors")
