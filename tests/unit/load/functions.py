"""Functions that go to worker processes: those must be able to import them."""

from __future__ import annotations

import os
import random
from typing import Any

import numpy as np
import numpy.typing as npt

Pixels = npt.NDArray[Any]


def noisy(image: Pixels) -> Pixels:
    """Draws from `random` and NumPy."""
    noise = np.random.normal(0, 10, image.shape)
    return np.clip(image + noise + random.randint(0, 20), 0, 255).astype(np.uint8)


def negative(image: Pixels) -> Pixels:
    """No chance, no change of place."""
    return np.asarray(255 - image, np.uint8)


def two_views(image: Pixels) -> list[Pixels]:
    """What multi-crop transforms give."""
    return [image[:4, :4].astype(np.float32), image[:6, :6]]


def die(image: Pixels) -> Pixels:
    """Takes its process with it."""
    os._exit(7)


def late_torch(image: Pixels) -> Pixels:
    """Draws from torch, which nobody has imported before."""
    import torch

    image[...] = 0
    return np.asarray(image + torch.rand(image.shape).numpy())


class FailsFor:
    """Fails for some images, told by the sum of their first pixel."""

    def __init__(self, values: tuple[int, ...]) -> None:
        self.values = values

    def __call__(self, image: Pixels) -> Pixels:
        """The image, but for those."""
        if int(image[0, 0].sum()) in self.values:
            raise ValueError("not this one")
        return image


class Touch:
    """Leaves a file for every sample that it has seen."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, image: Pixels) -> Pixels:
        """The image as it is."""
        with open(os.path.join(self.folder, f"{random.getrandbits(60)}"), "w"):  # noqa: PTH118, PTH123
            return image
