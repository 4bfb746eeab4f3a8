"""Layout, type and normalisation of decoded pixels, and the memory for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Literal

import torch

from penstock.codecs.contract import ImageInfo
from penstock.errors import ArgumentError

Layout = Literal["NCHW", "NHWC"]
FLOATS = (torch.float16, torch.bfloat16, torch.float32)


@dataclass(frozen=True, slots=True)
class Output:
    """Requested form of a batch. `dtype` None keeps samples as stored; a float type normalises them.

    Normalised means (sample / largest sample - mean) / std, computed in float32 as sample * scale + bias.
    """

    layout: Layout = "NCHW"
    dtype: torch.dtype | None = None
    mean: tuple[float, ...] = (0.0,)
    std: tuple[float, ...] = (1.0,)

    def __post_init__(self) -> None:
        if self.layout not in ("NCHW", "NHWC"):
            raise ArgumentError(f"layout {self.layout!r} does not exist", where="layout", fix="choose NCHW or NHWC")
        if self.dtype is not None and self.dtype not in FLOATS:
            raise ArgumentError(
                f"dtype {self.dtype} is neither None nor a float type",
                where="dtype",
                fix="leave it out for samples as stored, or choose torch.float16, bfloat16 or float32",
            )
        if self.dtype is None and (self.mean, self.std) != ((0.0,), (1.0,)):
            raise ArgumentError("mean and std need a float dtype", where="dtype", fix="for example torch.float16")
        if 0.0 in self.std:
            raise ArgumentError("std has a zero", where="std", fix="give the deviation of each channel")

    @property
    def normalises(self) -> bool:
        """True if samples become floats."""
        return self.dtype is not None

    def dtype_of(self, info: ImageInfo) -> torch.dtype:
        """Return the type of an image's samples in the output."""
        return self.dtype or (torch.uint16 if info.dtype == "uint16" else torch.uint8)

    def shape_of(self, info: ImageInfo) -> tuple[int, int, int]:
        """Return the shape of an image in the output; one channel also has an axis."""
        if self.layout == "NCHW":
            return info.channels, info.height, info.width
        return info.height, info.width, info.channels

    def affine(self, info: ImageInfo) -> tuple[torch.Tensor, torch.Tensor]:
        """Return scale and bias of each channel as float32."""
        for name, values in (("mean", self.mean), ("std", self.std)):
            if len(values) not in (1, info.channels):
                raise ArgumentError(
                    f"{name} has {len(values)} values, the image {info.channels} channels",
                    where=name,
                    fix="give one value, or one for each channel",
                )
        largest = 65535.0 if info.dtype == "uint16" else 255.0
        mean = torch.tensor(self.mean, dtype=torch.float64).expand(info.channels)
        std = torch.tensor(self.std, dtype=torch.float64).expand(info.channels)
        return (1.0 / (largest * std)).float(), (-mean / std).float()


@dataclass(frozen=True, slots=True)
class Canvas:
    """Uninitialised memory for a batch: one tensor if all images are alike, else one per image.

    Images of one type share a storage, so that one launch reaches all of them.
    """

    images: list[torch.Tensor]
    batch: torch.Tensor | None

    @classmethod
    def allocate(cls, infos: Sequence[ImageInfo], output: Output, device: torch.device) -> Canvas:
        """Allocate memory for these images."""
        return cls.of([(output.shape_of(info), output.dtype_of(info)) for info in infos], device)

    @classmethod
    def of(cls, places: Sequence[tuple[tuple[int, int, int], torch.dtype]], device: torch.device) -> Canvas:
        """Allocate memory for images of these shapes and types."""
        if len(set(places)) == 1:
            shape, dtype = places[0]
            batch = torch.empty((len(places), *shape), dtype=dtype, device=device)
            return cls(list(batch), batch)
        images: list[torch.Tensor | None] = [None] * len(places)
        for wanted in {dtype for _, dtype in places}:
            members = [index for index, (_, dtype) in enumerate(places) if dtype == wanted]
            shapes = [places[index][0] for index in members]
            parts = torch.split(
                torch.empty(sum(map(prod, shapes)), dtype=wanted, device=device), [prod(shape) for shape in shapes]
            )
            for index, part, shape in zip(members, parts, shapes, strict=True):
                images[index] = part.view(shape)
        return cls([image for image in images if image is not None], None)

    @property
    def result(self) -> torch.Tensor | list[torch.Tensor]:
        """Batch as one tensor, or a list of images."""
        return self.images if self.batch is None else self.batch
