"""FFCV on a file of raw pixels, its fastest. `--source` is a folder; the file is written beside it once."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path

import ffcv
import numpy as np
import numpy.typing as npt
from ffcv.fields import IntField, RGBImageField
from ffcv.fields.basics import IntDecoder
from ffcv.fields.rgb_image import RandomResizedCropRGBImageDecoder
from ffcv.loader import Loader, OrderOption
from ffcv.transforms import RandomHorizontalFlip, ToTensor, ToTorchImage
from ffcv.writer import DatasetWriter
from PIL import Image

from bench.peers.serving import arguments, image_files, serve

SIZE = 224
PAGE_BYTES = 1 << 25  # its writer waits for ever if an image is larger than a page


class Images:
    """What its writer asks for."""

    def __init__(self, files: list[str]) -> None:
        self.files = files

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> tuple[npt.NDArray[np.uint8], int]:
        return np.array(Image.open(self.files[index]).convert("RGB")), index


def written(folder: Path) -> Path:
    """The file made of a folder."""
    path = folder.with_suffix(".beton")
    if not path.exists():
        fields = {"image": RGBImageField(write_mode="raw"), "label": IntField()}
        writer = DatasetWriter(str(path), fields, num_workers=2, page_size=PAGE_BYTES)
        writer.from_indexed_dataset(Images(image_files(folder)))
    return path


def main() -> None:
    """Serve epochs."""
    wishes = arguments()
    path = written(wishes.source)
    began = time.perf_counter()
    images = [RandomResizedCropRGBImageDecoder((SIZE, SIZE), scale=(0.08, 1)), RandomHorizontalFlip()]
    loader = Loader(
        str(path),
        batch_size=wishes.batch_size,
        num_workers=wishes.threads,
        order=OrderOption.RANDOM,
        os_cache=True,
        drop_last=False,
        pipelines={"image": [*images, ToTensor(), ToTorchImage()], "label": [IntDecoder(), ToTensor()]},
    )

    def epoch() -> Iterable[tuple[int, float]]:
        for index, (batch, _) in enumerate(loader):
            yield len(batch), float(batch.float().mean()) if index == 0 else 0.0

    serve(epoch, began=began, antialias=True, ffcv=ffcv.__version__)


if __name__ == "__main__":
    main()
