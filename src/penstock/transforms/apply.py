"""Transforms of single images from Python: to inspect them, for tests, and for your own pipelines."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.errors import ArgumentError
from penstock.transforms.chain import AnyTransform, split
from penstock.types import Pixels

Transforms = AnyTransform | Iterable[AnyTransform] | None


def apply(
    pixels: Pixels,
    transforms: Transforms,
    *,
    seed: int = 0,
    epoch: int = 0,
    id: int = 0,  # noqa: A002 - the word for it everywhere
    field: str = "image",
    layout: str = "NHWC",
) -> npt.NDArray[Any]:
    """Transform one image as a loader with this seed does for sample `id` in this epoch.

    Args:
        pixels: An image or mask, H×W or H×W×C.
        transforms: A transform, a list of them, or a torchvision Compose.
        seed: Seed of the random choices.
        epoch: Epoch of the random choices.
        id: Sample of the random choices.
        field: "image", or "mask" to use the nearest pixel, the fill for masks, and Remap. A mask gets the same crop and
            flip as an image of the same size, seed, epoch and id.
        layout: "NHWC", or "NCHW" to put channels first.

    Returns:
        The transformed array.

    >>> from penstock.transforms import CenterCrop, Resize
    >>> apply(np.zeros((300, 400, 3), np.uint8), [Resize(256), CenterCrop(224)]).shape
    (224, 224, 3)
    """
    chain = split(transforms)
    if chain.python_transforms:
        raise ArgumentError(
            f"{chain.python_transforms[0]!r} does not run natively", where="apply", fix="call it on the result"
        )
    program = chain.program()
    if field == "mask":
        program = program.for_masks()
    elif field != "image":
        raise ArgumentError(f"no field is called {field!r}", where="apply", fix="choose 'image' or 'mask'")
    draw = program.draw((pixels.shape[0], pixels.shape[1]), seed, epoch, id)
    channels = pixels.shape[2] if pixels.ndim == 3 else 1
    shape = (*draw.output, channels) if layout == "NHWC" else (channels, *draw.output)
    out = np.empty(shape, program.output_type or pixels.dtype)
    y, x, height, width = program.region(draw)
    region = pixels[y : y + height, x : x + width].copy()  # rows of any array become contiguous
    program.apply(region, draw, out, layout)
    return out if pixels.ndim == 3 else out.reshape(draw.output)


def apply_boxes(
    boxes: npt.ArrayLike,
    transforms: Transforms,
    *,
    size: tuple[int, int],
    seed: int = 0,
    epoch: int = 0,
    id: int = 0,  # noqa: A002 - the word for it everywhere
) -> npt.NDArray[np.float32]:
    """Move boxes (left, top, right, bottom) of an image of `size` (height, width) with its pixels.

    Boxes are clipped to the image at every crop. A box that is cropped away stays with zero area, because only the
    caller knows whether to drop it with its label (torchvision: SanitizeBoundingBoxes).

    >>> from penstock.transforms import CenterCrop
    >>> apply_boxes([[0, 0, 50, 50]], CenterCrop(60), size=(100, 100))
    array([[ 0.,  0., 30., 30.]], dtype=float32)
    """
    program = split(transforms).program()
    moved = np.array(boxes, np.float32).reshape(-1, 4)
    program.apply_boxes(program.draw(size, seed, epoch, id), moved)
    return moved


def apply_points(
    points: npt.ArrayLike,
    transforms: Transforms,
    *,
    size: tuple[int, int],
    seed: int = 0,
    epoch: int = 0,
    id: int = 0,  # noqa: A002 - the word for it everywhere
) -> npt.NDArray[np.float32]:
    """Move points (x, y) of an image of `size` (height, width) with its pixels, as torchvision does.

    A flip moves x to width - 1 - x. Points that are cropped away keep their position outside of the image.

    >>> from penstock.transforms import RandomHorizontalFlip
    >>> apply_points([[0, 5]], RandomHorizontalFlip(1.0), size=(10, 20))
    array([[19.,  5.]], dtype=float32)
    """
    program = split(transforms).program()
    moved = np.array(points, np.float32).reshape(-1, 2)
    program.apply_points(program.draw(size, seed, epoch, id), moved)
    return moved
