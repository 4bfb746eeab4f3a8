"""A chain of transforms step by step, in plain NumPy and Pillow: the twin of what the native core does in one pass.

Every operation is played on the whole image, one after the other, with the random numbers of its place in the chain.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageEnhance, ImageFilter, ImageOps

from penstock.transforms import (
    CenterCrop,
    ColorJitter,
    InterpolationMode,
    Letterbox,
    Pad,
    PadIfSmaller,
    PillowGaussianBlur,
    RandomAdjustSharpness,
    RandomAffine,
    RandomApply,
    RandomAutocontrast,
    RandomChoice,
    RandomCrop,
    RandomEqualize,
    RandomGrayscale,
    RandomHorizontalFlip,
    RandomInvert,
    RandomOrder,
    RandomPerspective,
    RandomPosterize,
    RandomResize,
    RandomResizedCrop,
    RandomRotation,
    RandomShortestSize,
    RandomSolarize,
    RandomVerticalFlip,
    RandomZoomOut,
    Remap,
    Resize,
    ScaleJitter,
    Sequential,
    Transform,
)
from penstock.types import Pixels
from tests import pillow_resize, plain_warps
from tests.plain_random import Random


@dataclass(frozen=True)
class Sample:
    """An image with a mask of its size and boxes in it."""

    image: Pixels
    mask: Pixels
    boxes: npt.NDArray[np.float64]

    @property
    def size(self) -> tuple[int, int]:
        return self.image.shape[0], self.image.shape[1]


def run(sample: Sample, transforms: Sequence[Transform], *, seed: int = 0, epoch: int = 0, index: int = 0) -> Sample:
    return Player(seed, epoch, index).play_all(sample, transforms, 0)


class Player:
    """Plays transforms, and the members of groups, each with the random numbers of its place."""

    def __init__(self, seed: int, epoch: int, index: int) -> None:
        self._key = (seed, epoch, index)

    def play_all(self, sample: Sample, transforms: Sequence[Transform], place: int) -> Sample:
        for transform in transforms:
            sample = self.play_one(sample, transform, place)
            place += len(transform.operations())
        return sample

    def play_one(self, sample: Sample, transform: Transform, place: int) -> Sample:
        random = Random(*self._key, place)
        match transform:
            case Sequential():
                return self.play_all(sample, transform.transforms, place)
            case RandomApply():
                applied = random.uniform(0, 1) < transform.p
                return self.play_all(sample, transform.transforms, place + 1) if applied else sample
            case RandomChoice():
                sums = np.cumsum(np.array(transform.p, float))[:-1]
                chosen = [int(np.searchsorted(sums, random.uniform(0, 1), side="right"))]
            case RandomOrder():
                chosen = list(range(len(transform.transforms)))
                for i in range(len(chosen) - 1, 0, -1):
                    j = random.below(i + 1)
                    chosen[i], chosen[j] = chosen[j], chosen[i]
            case _:
                return play(transform, sample, random)
        for member in chosen:
            before = sum(len(other.operations()) for other in transform.transforms[:member])
            sample = self.play_one(sample, transform.transforms[member], place + 1 + before)
        return sample


def play(transform: Transform, sample: Sample, random: Random) -> Sample:
    match transform:
        case Resize():
            return resized(sample, resize_size(transform, sample.size), transform.interpolation.filter)
        case CenterCrop(size=(int(height), int(width))):
            return center_cropped(sample, height, width, fills(transform.fill))
        case RandomCrop():
            return random_cropped(sample, transform, random)
        case RandomResizedCrop(size=(int(height), int(width))):
            box = random_box(transform, sample.size, random)
            modes = transform.interpolation
            mode = modes[random.below(len(modes))] if isinstance(modes, tuple) else modes
            assert isinstance(mode, InterpolationMode)
            return resized(cropped(sample, *box), (height, width), mode.filter)
        case Pad(padding=(int(), int(), int(), int()) as sides):
            return padded(sample, sides, transform.padding_mode, fills(transform.fill))
        case PadIfSmaller(size=(int(height), int(width))):
            missing = (0, 0, max(0, width - sample.size[1]), max(0, height - sample.size[0]))
            return padded(sample, missing, fill=fills(transform.fill))
        case Letterbox():
            return letterboxed(sample, transform)
        case RandomZoomOut():
            return zoomed_out(sample, transform, random)
        case RandomResize():
            size = transform.min_size + random.below(transform.max_size - transform.min_size)
            return resized(sample, resize_size(Resize(size), sample.size), transform.interpolation.filter)
        case RandomShortestSize():
            return resized(sample, shortest_size(transform, sample.size, random), transform.interpolation.filter)
        case RandomVerticalFlip():
            return upended(sample) if random.uniform(0, 1) < transform.p else sample
        case ScaleJitter():
            return resized(sample, jittered_size(transform, sample.size, random), transform.interpolation.filter)
        case RandomHorizontalFlip():
            return flipped(sample) if random.uniform(0, 1) < transform.p else sample
        case RandomRotation():
            return rotated(sample, transform, random)
        case RandomAffine():
            numbers = plain_warps.affine_map(transform, sample.size, random)
            return warped(sample, numbers, transform.interpolation.filter, transform.fill)
        case RandomPerspective():
            found = plain_warps.perspective_map(transform, sample.size, random)
            return sample if found is None else warped(sample, found, transform.interpolation.filter, transform.fill)
        case ColorJitter():
            return replace(sample, image=recolored(sample.image, transform, random))
        case (
            RandomGrayscale()
            | RandomInvert()
            | RandomPosterize()
            | RandomSolarize()
            | RandomAutocontrast()
            | RandomEqualize()
            | RandomAdjustSharpness()
            | PillowGaussianBlur()
        ):
            return replace(sample, image=changed(sample.image, transform, random))
        case Remap():
            return replace(sample, mask=remapped(sample.mask, transform))
        case _:
            raise NotImplementedError(transform)


def resize_size(transform: Resize, size: tuple[int, int]) -> tuple[int, int]:
    if isinstance(transform.size, tuple):
        return transform.size[0], transform.size[1]
    short, long = min(size), max(size)
    if transform.size is None:
        assert transform.max_size is not None
        new_short, new_long = int(transform.max_size * short / long), transform.max_size
    else:
        assert isinstance(transform.size, int)
        new_short, new_long = transform.size, int(transform.size * long / short)
        if transform.max_size is not None and new_long > transform.max_size:
            new_short, new_long = int(transform.max_size * new_short / new_long), transform.max_size
    new_short = max(new_short, 1)
    return (new_long, new_short) if size[1] <= size[0] else (new_short, new_long)


def resized(sample: Sample, size: tuple[int, int], interpolation: str) -> Sample:
    if size == sample.size:
        return sample
    scale_y, scale_x = size[0] / sample.size[0], size[1] / sample.size[1]
    return Sample(
        pillow_resize.resize(sample.image, size, interpolation),
        pillow_resize.resize(sample.mask, size, "nearest"),
        sample.boxes * [scale_x, scale_y, scale_x, scale_y],
    )


def cropped(sample: Sample, top: int, left: int, height: int, width: int) -> Sample:
    boxes = sample.boxes - [left, top, left, top]
    return Sample(
        sample.image[top : top + height, left : left + width],
        sample.mask[top : top + height, left : left + width],
        np.clip(boxes, 0, [width, height, width, height]),
    )


def padded(sample: Sample, padding: Sequence[int], mode: str = "constant", fill: tuple[Any, Any] = (0, 0)) -> Sample:
    left, top = padding[:2]
    return Sample(
        pad_pixels(sample.image, padding, mode, fill[0]),
        pad_pixels(sample.mask, padding, mode, fill[1]),
        sample.boxes + np.array([left, top, left, top]),
    )


def pad_pixels(pixels: Pixels, padding: Sequence[int], mode: str, fill: Any) -> Pixels:  # noqa: ANN401
    left, top, right, bottom = padding
    widths = [(top, bottom), (left, right), (0, 0)][: pixels.ndim]
    if mode != "constant":
        inner: Pixels = np.pad(pixels, widths, mode=mode)  # type: ignore[call-overload]
        return inner
    result = np.pad(np.asarray(pixels), widths)
    outside = np.pad(np.zeros(pixels.shape[:2], bool), widths[:2], constant_values=True)
    result[outside] = fill
    return result


def center_cropped(sample: Sample, height: int, width: int, fill: tuple[Any, Any]) -> Sample:
    missing = [max(0, height - sample.size[0]), max(0, width - sample.size[1])]
    sides = [missing[1] // 2, missing[0] // 2, (missing[1] + 1) // 2, (missing[0] + 1) // 2]
    sample = padded(sample, sides, fill=fill)
    top, left = round((sample.size[0] - height) / 2), round((sample.size[1] - width) / 2)
    return cropped(sample, top, left, height, width)


def random_cropped(sample: Sample, transform: RandomCrop, random: Random) -> Sample:
    assert isinstance(transform.size, tuple)
    height, width = transform.size
    left, top, right, bottom = transform.padding if isinstance(transform.padding, tuple) else (0, 0, 0, 0)
    if transform.pad_if_needed:
        missing = max(0, height - (sample.size[0] + top + bottom))
        top, bottom = top + missing, bottom + missing
        missing = max(0, width - (sample.size[1] + left + right))
        left, right = left + missing, right + missing
    fill = transform.fill if isinstance(transform.fill, dict) else {"image": transform.fill, "mask": transform.fill}
    sample = padded(sample, (left, top, right, bottom), transform.padding_mode, (fill["image"], fill["mask"]))
    y = random.below(sample.size[0] - height + 1)
    return cropped(sample, y, random.below(sample.size[1] - width + 1), height, width)


def random_box(transform: RandomResizedCrop, size: tuple[int, int], random: Random) -> tuple[int, int, int, int]:
    height, width = size
    logs = [math.log(ratio) for ratio in transform.ratio]
    for _ in range(10):
        area = height * width * random.uniform(*transform.scale)
        ratio = math.exp(random.uniform(logs[0], logs[1]))
        w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < w <= width and 0 < h <= height:
            y = random.below(height - h + 1)
            return y, random.below(width - w + 1), h, w
    h, w = height, width
    if width / height < transform.ratio[0]:
        h = min(height, max(1, round(width / transform.ratio[0])))
    elif width / height > transform.ratio[1]:
        w = min(width, max(1, round(height * transform.ratio[1])))
    return (height - h) // 2, (width - w) // 2, h, w


def jittered_size(transform: ScaleJitter, size: tuple[int, int], random: Random) -> tuple[int, int]:
    assert isinstance(transform.target_size, tuple)
    scale = random.uniform(*transform.scale_range)
    fit = min(transform.target_size[1] / size[0], transform.target_size[0] / size[1]) * scale
    return max(1, int(size[0] * fit)), max(1, int(size[1] * fit))


def flipped(sample: Sample) -> Sample:
    boxes = sample.boxes.copy()
    boxes[:, [0, 2]] = sample.size[1] - sample.boxes[:, [2, 0]]
    return Sample(sample.image[:, ::-1], sample.mask[:, ::-1], boxes)


def fills(fill: Any) -> tuple[Any, Any]:  # noqa: ANN401
    """Colours of image and mask."""
    if isinstance(fill, dict):
        return fill["image"], fill["mask"]
    return fill, 0 if isinstance(fill, tuple) else fill


def warped(sample: Sample, numbers: list[float], interpolation: str, fill: Any) -> Sample:  # noqa: ANN401
    image_fill, mask_fill = fills(fill)
    return Sample(
        plain_warps.warp_pixels(sample.image, sample.size, numbers, interpolation, image_fill),
        plain_warps.warp_pixels(sample.mask, sample.size, numbers, "nearest", mask_fill),
        plain_warps.warp_boxes(sample.boxes, numbers, sample.size),
    )


def rotated(sample: Sample, transform: RandomRotation, random: Random) -> Sample:
    assert isinstance(transform.degrees, tuple)
    degrees = random.uniform(*transform.degrees)
    image_fill, mask_fill = fills(transform.fill)
    image = plain_warps.rotated_pixels(sample.image, transform, degrees, transform.interpolation.filter, image_fill)
    mask = plain_warps.rotated_pixels(sample.mask, transform, degrees, "nearest", mask_fill)
    size = image.shape[0], image.shape[1]
    numbers = plain_warps.rotation_map(transform, sample.size, degrees, size)
    return Sample(image, mask, plain_warps.warp_boxes(sample.boxes, numbers, size))


def upended(sample: Sample) -> Sample:
    boxes = sample.boxes.copy()
    boxes[:, [1, 3]] = sample.size[0] - sample.boxes[:, [3, 1]]
    return Sample(sample.image[::-1], sample.mask[::-1], boxes)


def letterboxed(sample: Sample, transform: Letterbox) -> Sample:
    """As ultralytics' LetterBox, with our resize."""
    assert isinstance(transform.size, tuple)
    height, width = transform.size
    fit = min(height / sample.size[0], width / sample.size[1])
    fit = fit if transform.scaleup else min(fit, 1.0)
    inner = max(1, round(sample.size[0] * fit)), max(1, round(sample.size[1] * fit))
    sample = resized(sample, inner, transform.interpolation.filter)
    above, before = (height - inner[0]) / 2, (width - inner[1]) / 2
    top, left = round(above - 0.1), round(before - 0.1)
    sides = (left, top, width - inner[1] - left, height - inner[0] - top)
    return padded(sample, sides, fill=fills(transform.fill))


def zoomed_out(sample: Sample, transform: RandomZoomOut, random: Random) -> Sample:
    if random.uniform(0, 1) >= transform.p:
        return sample
    height, width = sample.size
    factor = random.uniform(transform.side_range[0], transform.side_range[1])
    canvas = int(height * factor), int(width * factor)
    left = int((canvas[1] - width) * random.uniform(0, 1))
    top = int((canvas[0] - height) * random.uniform(0, 1))
    sides = (left, top, canvas[1] - left - width, canvas[0] - top - height)
    return padded(sample, sides, fill=fills(transform.fill))


def shortest_size(transform: RandomShortestSize, size: tuple[int, int], random: Random) -> tuple[int, int]:
    assert isinstance(transform.min_size, tuple)
    factor = transform.min_size[random.below(len(transform.min_size))] / min(size)
    if transform.max_size is not None:
        factor = min(factor, transform.max_size / max(size))
    return max(1, int(size[0] * factor)), max(1, int(size[1] * factor))


def recolored(image: Pixels, transform: ColorJitter, random: Random) -> Pixels:
    names = ["brightness", "contrast", "saturation", "hue"]
    order = list(names)
    for i in (3, 2, 1):
        j = random.below(i + 1)
        order[i], order[j] = order[j], order[i]
    factors = {
        name: float(np.float32(random.uniform(*getattr(transform, name))))
        for name in names
        if getattr(transform, name) is not None
    }
    result = pillow_resize.to_image(image)
    for name in order:
        if name in factors:
            result = change_color(result, name, factors[name])
    return pillow_resize.to_pixels(result, image)


def changed(image: Pixels, transform: Transform, random: Random) -> Pixels:
    if random.uniform(0, 1) >= getattr(transform, "p", 1):
        return image
    pillow = pillow_resize.to_image(image)
    match transform:
        case RandomGrayscale():
            pillow = pillow.convert("L").convert(pillow.mode)
        case RandomInvert():
            pillow = ImageOps.invert(pillow)
        case RandomPosterize():
            pillow = ImageOps.posterize(pillow, transform.bits)
        case RandomSolarize():
            pillow = ImageOps.solarize(pillow, transform.threshold)  # type: ignore[arg-type]  # fractions work
        case RandomAutocontrast():
            pillow = ImageOps.autocontrast(pillow)
        case RandomEqualize():
            pillow = ImageOps.equalize(pillow)
        case RandomAdjustSharpness():
            pillow = ImageEnhance.Sharpness(pillow).enhance(transform.sharpness_factor)
        case PillowGaussianBlur(sigma=(float(low), float(high))):
            pillow = pillow.filter(ImageFilter.GaussianBlur(random.uniform(low, high)))
    return pillow_resize.to_pixels(pillow, image)


def change_color(image: Image.Image, name: str, factor: float) -> Image.Image:
    """As torchvision does it on Pillow's images."""
    enhancers = {
        "brightness": ImageEnhance.Brightness,
        "contrast": ImageEnhance.Contrast,
        "saturation": ImageEnhance.Color,
    }
    if name in enhancers:
        return enhancers[name](image).enhance(factor)
    if image.mode != "RGB":
        return image
    hsv = np.array(image.convert("HSV"))
    hsv[:, :, 0] += np.array(int(factor * 255)).astype(np.uint8)
    return Image.frombytes("HSV", image.size, hsv.tobytes()).convert("RGB")


def remapped(mask: Pixels, transform: Remap) -> Pixels:
    result = mask.copy() if transform.default is None else np.full_like(mask, transform.default)
    for old, new in transform.labels.items():
        result[mask == old] = new
    return result
