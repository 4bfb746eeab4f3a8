"""Warps in plain Python and Pillow, as torchvision's Pillow backend makes them: the twins of the native ones."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from penstock.transforms import RandomAffine, RandomPerspective, RandomRotation
from penstock.types import Pixels
from tests import pillow_resize
from tests.plain_random import Random

FILTERS = {
    "nearest": Image.Resampling.NEAREST,
    "bilinear": Image.Resampling.BILINEAR,
    "bicubic": Image.Resampling.BICUBIC,
}
Map = list[float]
Boxes = npt.NDArray[np.float64]


def warp_pixels(pixels: Pixels, size: tuple[int, int], numbers: Map, interpolation: str, fill: Any) -> Pixels:  # noqa: ANN401
    """`Image.transform` to `size` (height, width) with six or eight numbers."""
    image = pillow_resize.to_image(pixels)
    method = Image.Transform.AFFINE if len(numbers) == 6 else Image.Transform.PERSPECTIVE
    color = color_of(image, fill)
    return pillow_resize.to_pixels(
        image.transform((size[1], size[0]), method, numbers, FILTERS[interpolation], fillcolor=color), pixels
    )


def color_of(image: Image.Image, fill: Any) -> Any:  # noqa: ANN401
    bands = len(image.getbands())
    return fill if bands == 1 or isinstance(fill, tuple) else (fill,) * bands


def rotated_pixels(pixels: Pixels, transform: RandomRotation, degrees: float, interpolation: str, fill: Any) -> Pixels:  # noqa: ANN401
    image = pillow_resize.to_image(pixels)
    center = None if transform.center is None else (transform.center[0], transform.center[1])
    turned = image.rotate(degrees, FILTERS[interpolation], transform.expand, center, fillcolor=color_of(image, fill))
    return pillow_resize.to_pixels(turned, pixels)


def rotation_map(transform: RandomRotation, size: tuple[int, int], degrees: float, output: tuple[int, int]) -> Map:
    """The map of a rotation for boxes: about the centre, and to the middle of a larger result."""
    angle = -math.radians(degrees)
    x, y = (size[1] / 2, size[0] / 2) if transform.center is None else transform.center
    cos, sin = math.cos(angle), math.sin(angle)
    numbers = [cos, sin, x - cos * x - sin * y, -sin, cos, y + sin * x - cos * y]
    if transform.expand:
        shift = np.array([(size[1] - output[1]) / 2, (size[0] - output[0]) / 2])
        numbers[2] += cos * shift[0] + sin * shift[1]
        numbers[5] += -sin * shift[0] + cos * shift[1]
    return numbers


def affine_map(transform: RandomAffine, size: tuple[int, int], random: Random) -> Map:
    """The `_get_inverse_affine_matrix` of torchvision's v2 with the draws of RandomAffine."""
    height, width = size
    assert isinstance(transform.degrees, tuple)
    angle = random.uniform(*transform.degrees)
    shift = (0, 0)
    if transform.translate is not None:
        farthest = transform.translate[0] * width, transform.translate[1] * height
        shift = (round(random.uniform(-farthest[0], farthest[0])), round(random.uniform(-farthest[1], farthest[1])))
    scale = 1.0 if transform.scale is None else random.uniform(transform.scale[0], transform.scale[1])
    shears = [0.0, 0.0]
    if transform.shear is not None:
        assert isinstance(transform.shear, tuple)
        for axis in range(len(transform.shear) // 2):
            shears[axis] = random.uniform(*transform.shear[2 * axis : 2 * axis + 2])
    cx, cy = (width * 0.5, height * 0.5) if transform.center is None else transform.center
    rot, sx, sy = math.radians(angle), math.radians(shears[0]), math.radians(shears[1])
    a = math.cos(rot - sy) / math.cos(sy)
    b = -(a * math.tan(sx) + math.sin(rot))
    c = math.sin(rot - sy) / math.cos(sy)
    d = math.cos(rot) - c * math.tan(sx)
    numbers = [d / scale, -b / scale, 0.0, -c / scale, a / scale, 0.0]
    numbers[2] += cx - numbers[0] * (cx + shift[0]) - numbers[1] * (cy + shift[1])
    numbers[5] += cy - numbers[3] * (cx + shift[0]) - numbers[4] * (cy + shift[1])
    return numbers


def perspective_map(transform: RandomPerspective, size: tuple[int, int], random: Random) -> Map | None:
    """torchvision's `_get_perspective_coeffs` with the draws of RandomPerspective; None if nothing is distorted."""
    if random.uniform(0, 1) >= transform.p:
        return None
    height, width = size
    most_x = int(transform.distortion_scale * (width // 2)) + 1
    most_y = int(transform.distortion_scale * (height // 2)) + 1

    def near(most: int) -> int:
        return random.below(most)

    def far(side: int, most: int) -> int:
        return side - most + random.below(most)

    ends = [(near(most_x), near(most_y)), (far(width, most_x), near(most_y))]
    ends += [(far(width, most_x), far(height, most_y)), (near(most_x), far(height, most_y))]
    starts = [(0, 0), (width - 1, 0), (width - 1, height - 1), (0, height - 1)]
    rows = []
    for (px, py), (qx, qy) in zip(ends, starts, strict=True):
        rows += [[px, py, 1, 0, 0, 0, -qx * px, -qx * py], [0, 0, 0, px, py, 1, -qy * px, -qy * py]]
    if min(size) == 1:  # on one line, where there is no solution
        return [0.0, 0.0, -1.0, 0.0, 0.0, -1.0, 0.0, 0.0]
    solved = np.linalg.solve(np.array(rows, np.float64), np.array(starts, np.float64).reshape(8))
    return [float(value) for value in solved.astype(np.float32)]


def warp_boxes(boxes: Boxes, numbers: Map, size: tuple[int, int]) -> Boxes:
    """The hulls of the corners, clipped to the result of `size`."""
    matrix = np.array([*numbers, *([0.0, 0.0][: 8 - len(numbers)]), 1.0]).reshape(3, 3)
    if np.linalg.det(matrix) == 0:
        return np.zeros_like(boxes)
    corners = boxes[:, [0, 1, 2, 1, 2, 3, 0, 3]].reshape(-1, 2)
    moved = np.concatenate([corners, np.ones((len(corners), 1))], 1) @ np.linalg.inv(matrix).T
    points = (moved[:, :2] / moved[:, 2:]).reshape(-1, 4, 2)
    hulls = np.concatenate([points.min(1), points.max(1)], 1)
    result: Boxes = np.clip(hulls, 0, [size[1], size[0], size[1], size[0]])
    return result
