"""Summary of an image file from its header."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np

from penstock.codecs import ImageInfo, inspect
from penstock.codecs.sluice import SluiceFacts, sluice_facts
from penstock.errors import CodecError
from penstock.storage import read_input


@dataclass(frozen=True, slots=True)
class ImageSummary:
    """Header, size and compression ratio of an image file."""

    path: str
    image: ImageInfo
    file_bytes: int
    pixel_bytes: int
    sluice: SluiceFacts | None = None
    """Content of a Sluice file; None for other codecs."""

    @property
    def ratio(self) -> float:
        """Bytes of decoded pixels per byte of the file."""
        return self.pixel_bytes / self.file_bytes


def describe_image(path: str | os.PathLike[str]) -> ImageSummary:
    """Read the header of an image file; its codec is detected from its content."""
    name = os.fsdecode(path)
    data = read_input(name)
    try:
        info = inspect(data)
    except CodecError as error:
        raise error.within(name) from error
    pixel_bytes = int(np.prod(info.shape)) * np.dtype(info.dtype).itemsize
    return ImageSummary(name, info, len(data), pixel_bytes, sluice_facts(data) if info.codec == "sluice" else None)
