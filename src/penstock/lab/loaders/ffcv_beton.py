"""FFCV on a file of raw pixels, its fastest. The file is written once, beside the run's datasets."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from penstock.lab.jobs.contract import LeftOut
from penstock.lab.loaders.contract import LoaderSpec
from penstock.lab.loaders.files import beton_of, labelled_files

PAGE_BYTES = 1 << 25  # its writer waits for ever if an image is larger than a page


class Images:
    """What its writer asks for."""

    def __init__(self, files: list[tuple[str, int]]) -> None:
        self._files = files

    def __len__(self) -> int:
        return len(self._files)

    def __getitem__(self, index: int) -> tuple[npt.NDArray[np.uint8], int]:
        path, label = self._files[index]
        return np.array(Image.open(path).convert("RGB")), label


class BetonLoader:
    """Batches of FFCV's loader."""

    def __init__(self, spec: LoaderSpec) -> None:
        # Rarely installed.
        from ffcv.fields.basics import IntDecoder
        from ffcv.fields.rgb_image import RandomResizedCropRGBImageDecoder
        from ffcv.loader import Loader, OrderOption
        from ffcv.transforms import RandomHorizontalFlip, ToTensor, ToTorchImage

        files = labelled_files(spec)
        self.num_images = len(files)
        path = _written(beton_of(spec), files)
        crop = [RandomResizedCropRGBImageDecoder((spec.size, spec.size), scale=(0.08, 1)), RandomHorizontalFlip()]
        reads_disk = spec.cache == "none"
        self._loader = Loader(
            str(path),
            batch_size=spec.batch_size,
            num_workers=spec.threads or len(os.sched_getaffinity(0)),
            # Past memory it is meant to read whole pages of its file, in an order that lets it.
            order=OrderOption.QUASI_RANDOM if reads_disk else OrderOption.RANDOM,
            os_cache=not reads_disk,
            drop_last=False,
            seed=spec.seed,
            pipelines={"image": [*crop, ToTensor(), ToTorchImage()], "label": [IntDecoder(), ToTensor()]},
        )

    def epoch(self) -> Iterator[tuple[Any, Any, int]]:
        """The next epoch."""
        for images, labels in self._loader:
            yield images, labels.flatten(), len(images)

    def facts(self) -> dict[str, float]:
        """It counts nothing."""
        return {}

    def close(self) -> None:
        """Its threads end with the process."""


def _written(path: Path, files: list[tuple[str, int]]) -> Path:
    """The file of raw pixels, made if it is not there."""
    from ffcv.fields import IntField, RGBImageField
    from ffcv.writer import DatasetWriter

    if not path.exists():
        fields = {"image": RGBImageField(write_mode="raw"), "label": IntField()}
        DatasetWriter(str(path), fields, num_workers=1, page_size=PAGE_BYTES).from_indexed_dataset(Images(files))
    return path


def open_loader(spec: LoaderSpec) -> BetonLoader:
    """As the contract says."""
    if spec.target == "mask" or spec.crop != "resized":
        raise LeftOut("this loader is measured on labelled images and random resized crops alone")
    return BetonLoader(spec)
