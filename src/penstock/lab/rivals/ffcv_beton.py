"""Run FFCV on a file of raw pixels, its fastest format. The file is written once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from .rival import RivalSpec

CROPS = ("resized",)
VARIANTS = ("",)
PAGE_BYTES = 1 << 25  # its writer waits for ever if an image is larger than a page
WRITERS = 2  # processes that write the file


class Images:
    """Images and labels by index, as FFCV's writer asks for them."""

    def __init__(self, files: list[tuple[str, int]]) -> None:
        self._files = files

    def __len__(self) -> int:
        return len(self._files)

    def __getitem__(self, index: int) -> tuple[npt.NDArray[np.uint8], int]:
        path, label = self._files[index]
        return np.array(Image.open(path).convert("RGB")), label


class BetonLoader:
    """Batches of FFCV's loader."""

    def __init__(self, spec: RivalSpec) -> None:
        # Rarely installed.
        import ffcv
        from ffcv.fields.basics import IntDecoder
        from ffcv.fields.rgb_image import RandomResizedCropRGBImageDecoder
        from ffcv.loader import Loader, OrderOption
        from ffcv.transforms import RandomHorizontalFlip, ToTensor, ToTorchImage

        make_file(spec)
        self.num_images = len(spec.files)
        self.about = {"antialias": True, "ffcv": ffcv.__version__}
        crop = [RandomResizedCropRGBImageDecoder((spec.size, spec.size), scale=(0.08, 1)), RandomHorizontalFlip()]
        self._loader = Loader(
            spec.made_file,
            batch_size=spec.batch_size,
            num_workers=spec.num_threads,
            # Past memory it is meant to read whole pages of its file, in an order that lets it.
            order=OrderOption.QUASI_RANDOM if spec.reads_disk else OrderOption.RANDOM,
            os_cache=not spec.reads_disk,
            drop_last=False,
            seed=spec.seed,
            pipelines={"image": [*crop, ToTensor(), ToTorchImage()], "label": [IntDecoder(), ToTensor()]},
        )

    def epoch(self) -> Iterator[tuple[Any, Any, int]]:
        """Yield the batches of the next epoch."""
        for images, labels in self._loader:
            yield images, labels.flatten(), len(images)

    def settle(self) -> None:
        """Do nothing: it loads nothing between epochs."""


def make_file(spec: RivalSpec) -> None:
    """Write the file of raw pixels unless it is there."""
    if not Path(spec.made_file).exists():
        write_beton(spec.made_file, spec.files)


def write_beton(path: str, files: list[tuple[str, int]]) -> None:
    """Write images as a file of raw pixels with FFCV's writer."""
    from ffcv.fields import IntField, RGBImageField
    from ffcv.writer import DatasetWriter

    fields = {"image": RGBImageField(write_mode="raw"), "label": IntField()}
    DatasetWriter(path, fields, num_workers=WRITERS, page_size=PAGE_BYTES).from_indexed_dataset(Images(files))


def open_rival(spec: RivalSpec) -> BetonLoader:
    """Open the loader; its file is written first if it is not there."""
    return BetonLoader(spec)
