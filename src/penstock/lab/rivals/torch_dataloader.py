"""Run torch's DataLoader with worker processes, as most training scripts have it.

Variants: `pillow` does everything with Pillow, `simplejpeg` decodes with libjpeg-turbo and resizes with OpenCV. The
usual settings: persistent workers, default prefetching, uint8 tensors; the crop is torchvision's.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset

from .rival import RivalSpec

CROPS = ("resized", "plain", "stretch")
VARIANTS = ("pillow", "simplejpeg")
Box = tuple[int, int, int, int]


class Files(Dataset[tuple[torch.Tensor, int]]):
    """Image files as tensors, with their labels."""

    def __init__(self, spec: RivalSpec) -> None:
        self._spec = spec
        self._load = self._with_simplejpeg if spec.variant == "simplejpeg" else self._with_pillow

    def __len__(self) -> int:
        return len(self._spec.files)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        path, label = self._spec.files[index]
        pixels = self._load(path)
        if self._spec.size and self._spec.crop in ("resized", "plain") and random.random() < 0.5:
            pixels = pixels[:, ::-1]
        return torch.from_numpy(np.ascontiguousarray(pixels.transpose(2, 0, 1))), label

    def _with_pillow(self, path: str) -> npt.NDArray[np.uint8]:
        """Decode exactly, and resize with Pillow's antialiased bilinear filter."""
        image = Image.open(path).convert("RGB")
        size = self._spec.size
        if size == 0:
            return np.asarray(image)
        left, top, width, height = self._box(*image.size)
        image = image.crop((left, top, left + width, top + height))
        if image.size != (size, size):
            image = image.resize((size, size), Image.Resampling.BILINEAR)
        return np.asarray(image)

    def _with_simplejpeg(self, path: str) -> npt.NDArray[np.uint8]:
        """Decode to the same pixels with libjpeg-turbo, and shrink with OpenCV's area filter."""
        import cv2
        import simplejpeg  # type: ignore[import-untyped]  # it ships no types

        cv2.setNumThreads(0)
        with open(path, "rb") as file:  # noqa: PTH123  # as fast as it goes
            pixels: npt.NDArray[np.uint8] = simplejpeg.decode_jpeg(file.read(), "RGB")
        size = self._spec.size
        if size == 0:
            return pixels
        left, top, width, height = self._box(pixels.shape[1], pixels.shape[0])
        shrinks = width > size or height > size
        crop = pixels[top : top + height, left : left + width]
        filter_number = cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR
        return np.asarray(cv2.resize(crop, (size, size), interpolation=filter_number))

    def _box(self, width: int, height: int) -> Box:
        """Draw (left, top, width, height) of the crop."""
        if self._spec.crop == "stretch":
            return 0, 0, width, height
        if self._spec.crop == "resized":
            return random_box(width, height)
        size = self._spec.size
        return random.randint(0, width - size), random.randint(0, height - size), size, size


class TorchLoader:
    """Batches of a DataLoader."""

    def __init__(self, spec: RivalSpec) -> None:
        self.num_images = len(spec.files)
        self.about = {"antialias": True, "torch": torch.__version__}
        torch.manual_seed(spec.seed)
        self._loader: DataLoader[tuple[torch.Tensor, int]] = DataLoader(
            Files(spec), spec.batch_size, shuffle=True, num_workers=spec.num_threads, persistent_workers=True
        )

    def epoch(self) -> Iterator[tuple[Any, Any, int]]:
        """Yield the batches of the next epoch."""
        for images, labels in self._loader:
            yield images, labels, len(images)

    def settle(self) -> None:
        """Do nothing: it loads nothing between epochs."""


def open_rival(spec: RivalSpec) -> TorchLoader:
    """Open the loader."""
    return TorchLoader(spec)


def random_box(width: int, height: int) -> Box:
    """Draw (left, top, width, height) as torchvision's RandomResizedCrop does."""
    for _ in range(10):
        area = width * height * random.uniform(0.08, 1.0)
        ratio = math.exp(random.uniform(math.log(3 / 4), math.log(4 / 3)))
        wide, high = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < wide <= width and 0 < high <= height:
            return random.randint(0, width - wide), random.randint(0, height - high), wide, high
    side = min(width, height)
    return (width - side) // 2, (height - side) // 2, side, side
