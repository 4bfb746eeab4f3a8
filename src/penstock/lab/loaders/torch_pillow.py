"""torch's DataLoader with worker processes and Pillow, as most training scripts have it. Reads the folder of images.

The usual settings: persistent workers, default prefetching, uint8 tensors; the crop is torchvision's.
"""

from __future__ import annotations

import math
import os
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset

from penstock.lab.jobs.contract import LeftOut
from penstock.lab.loaders.contract import LoaderSpec
from penstock.lab.loaders.files import labelled_files


class Files(Dataset[tuple[torch.Tensor, int]]):
    """Image files with the label of their folder."""

    def __init__(self, spec: LoaderSpec) -> None:
        self._files = labelled_files(spec)
        self._spec = spec

    def __len__(self) -> int:
        return len(self._files)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        path, label = self._files[index]
        image = _cropped(Image.open(path).convert("RGB"), self._spec)
        pixels = np.asarray(image)
        if self._spec.crop in ("resized", "plain") and random.random() < 0.5:
            pixels = pixels[:, ::-1]
        return torch.from_numpy(np.ascontiguousarray(pixels.transpose(2, 0, 1))), label


class TorchLoader:
    """Batches of a DataLoader."""

    def __init__(self, spec: LoaderSpec) -> None:
        files = Files(spec)
        self.num_images = len(files)
        torch.manual_seed(spec.seed)
        workers = spec.threads or len(os.sched_getaffinity(0))
        self._loader: DataLoader[tuple[torch.Tensor, int]] = DataLoader(
            files, spec.batch_size, shuffle=True, num_workers=workers, persistent_workers=True
        )

    def epoch(self) -> Iterator[tuple[Any, Any, int]]:
        """The next epoch."""
        for images, labels in self._loader:
            yield images, labels, len(images)

    def facts(self) -> dict[str, float]:
        """It counts nothing."""
        return {}

    def close(self) -> None:
        """Workers end with the process."""


def open_loader(spec: LoaderSpec) -> TorchLoader:
    """As the contract says."""
    if spec.target == "mask" or spec.is_encoded or spec.crop not in ("resized", "plain", "stretch"):
        raise LeftOut("this loader is measured on labelled images, on crops of training alone")
    return TorchLoader(spec)


def _cropped(image: Image.Image, spec: LoaderSpec) -> Image.Image:
    size = spec.size
    if size == 0:
        return image
    if spec.crop == "stretch":
        return image.resize((size, size), Image.Resampling.BILINEAR)
    if spec.crop == "resized":
        left, top, width, height = _random_box(*image.size)
        return image.crop((left, top, left + width, top + height)).resize((size, size), Image.Resampling.BILINEAR)
    left, top = random.randint(0, image.width - size), random.randint(0, image.height - size)
    return image.crop((left, top, left + size, top + size))


def _random_box(width: int, height: int) -> tuple[int, int, int, int]:
    """(left, top, width, height) as torchvision's RandomResizedCrop draws it."""
    for _ in range(10):
        area = width * height * random.uniform(0.08, 1.0)
        ratio = math.exp(random.uniform(math.log(3 / 4), math.log(4 / 3)))
        wide, high = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < wide <= width and 0 < high <= height:
            return random.randint(0, width - wide), random.randint(0, height - high), wide, high
    side = min(width, height)
    return (width - side) // 2, (height - side) // 2, side, side
