"""torch's DataLoader with worker processes. Variants: pil (Pillow does it all), simplejpeg (with OpenCV's resize).

Settings are the usual ones: persistent workers, default prefetching, uint8 tensors; the crop is torchvision's.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Iterable

import cv2
import numpy as np
import numpy.typing as npt
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset

from bench.peers.serving import arguments, image_files, serve

Box = tuple[int, int, int, int]
SIZE = 224


def random_box(width: int, height: int) -> Box:
    """(left, top, width, height) as torchvision's RandomResizedCrop draws it."""
    for _ in range(10):
        area = width * height * random.uniform(0.08, 1.0)
        ratio = math.exp(random.uniform(math.log(3 / 4), math.log(4 / 3)))
        wide, high = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < wide <= width and 0 < high <= height:
            return random.randint(0, width - wide), random.randint(0, height - high), wide, high
    side = min(width, height)
    return (width - side) // 2, (height - side) // 2, side, side


class Images(Dataset[tuple[torch.Tensor, int]]):
    """Files to tensors."""

    def __init__(self, files: list[str], variant: str, job: str) -> None:
        self.files = files
        self.load = {"pil": self.with_pillow, "simplejpeg": self.with_simplejpeg}[variant]
        self.crops = job == "train224"

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        pixels = self.load(self.files[index])
        if self.crops and random.random() < 0.5:
            pixels = pixels[:, ::-1]
        return torch.from_numpy(np.ascontiguousarray(pixels.transpose(2, 0, 1))), index

    def with_pillow(self, path: str) -> npt.NDArray[np.uint8]:
        """Accurate transform, antialiased bilinear resize."""
        image = Image.open(path).convert("RGB")
        if self.crops:
            left, top, width, height = random_box(*image.size)
            image = image.crop((left, top, left + width, top + height))
            image = image.resize((SIZE, SIZE), Image.Resampling.BILINEAR)
        return np.asarray(image)

    def with_simplejpeg(self, path: str) -> npt.NDArray[np.uint8]:
        """The same pixels from libjpeg-turbo; shrinking by OpenCV's area filter."""
        import simplejpeg  # type: ignore[import-untyped]  # it ships no types

        with open(path, "rb") as file:  # noqa: PTH123  # as fast as it goes
            pixels = simplejpeg.decode_jpeg(file.read(), "RGB")
        left, top, width, height = random_box(pixels.shape[1], pixels.shape[0])
        shrinks = width > SIZE or height > SIZE
        crop = pixels[top : top + height, left : left + width]
        filter_number = cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR
        return np.asarray(cv2.resize(crop, (SIZE, SIZE), interpolation=filter_number))


def main() -> None:
    """Serve epochs."""
    wishes = arguments()
    cv2.setNumThreads(0)
    torch.set_num_threads(1)
    began = time.perf_counter()
    images = Images(image_files(wishes.source), wishes.variant or "pil", wishes.job)
    loader = DataLoader(images, wishes.batch_size, shuffle=True, num_workers=wishes.threads, persistent_workers=True)

    def epoch() -> Iterable[tuple[int, float]]:
        for index, (batch, _) in enumerate(loader):
            yield len(batch), float(batch.float().mean()) if index == 0 else 0.0

    serve(epoch, began=began, antialias=True, torch=torch.__version__)


if __name__ == "__main__":
    main()
