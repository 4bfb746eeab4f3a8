"""Warps equal torchvision's own functions on Pillow images, given the same draws."""

from __future__ import annotations

import math

import numpy as np
import pytest
from PIL import Image

from penstock.transforms import InterpolationMode, RandomAffine, RandomPerspective, RandomRotation, apply, apply_boxes
from penstock.types import Pixels
from tests import real_vision
from tests.plain_random import Random

pytestmark = pytest.mark.xdist_group("vision")

assert real_vision.FOLDER.is_dir()
MODES = [InterpolationMode.NEAREST, InterpolationMode.BILINEAR, InterpolationMode.BICUBIC]
FILL = (124, 116, 104)
SIZE = (61, 83)


def image() -> Pixels:
    pixels: Pixels = np.random.default_rng(0).integers(0, 256, (*SIZE, 3)).astype(np.uint8)
    return pixels


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("expand", [False, True])
def test_rotations_equal_torchvisions(mode: InterpolationMode, expand: bool) -> None:
    from torchvision.transforms import InterpolationMode as Theirs
    from torchvision.transforms.v2 import functional

    for index in range(8):
        ours = apply(image(), RandomRotation((-180, 180), mode, expand, fill=FILL), id=index)

        degrees = Random(0, 0, index, 0).uniform(-180, 180)
        theirs = functional.rotate(Image.fromarray(image()), degrees, Theirs(mode.value), expand, fill=list(FILL))
        np.testing.assert_array_equal(ours, np.asarray(theirs))


@pytest.mark.parametrize("mode", MODES)
def test_affine_transforms_equal_torchvisions(mode: InterpolationMode) -> None:
    import torch
    from torchvision import tv_tensors
    from torchvision.transforms import InterpolationMode as Theirs
    from torchvision.transforms.v2 import functional

    for index in range(8):
        transform = RandomAffine(40, (0.1, 0.2), (0.7, 1.4), (-10, 10, -20, 20), mode, FILL)
        boxes = np.array([[10.0, 12.0, 30.0, 40.0]], np.float32)
        ours = apply(image(), transform, id=index)

        random = Random(0, 0, index, 0)
        angle = random.uniform(-40, 40)
        far_x, far_y = 0.1 * SIZE[1], 0.2 * SIZE[0]
        shift = [round(random.uniform(-far_x, far_x)), round(random.uniform(-far_y, far_y))]
        scale = random.uniform(0.7, 1.4)
        shear = [random.uniform(-10, 10), random.uniform(-20, 20)]
        theirs = functional.affine(
            Image.fromarray(image()), angle, shift, scale, shear, Theirs(mode.value), fill=list(FILL)
        )
        np.testing.assert_array_equal(ours, np.asarray(theirs))
        hull = functional.affine(
            tv_tensors.BoundingBoxes(torch.tensor(boxes), format="XYXY", canvas_size=SIZE), angle, shift, scale, shear
        )
        moved = apply_boxes(boxes, transform, size=SIZE, id=index)
        np.testing.assert_allclose(moved, functional.clamp_bounding_boxes(hull).numpy(), atol=1e-2)


@pytest.mark.parametrize("mode", MODES)
def test_perspectives_equal_torchvisions(mode: InterpolationMode) -> None:
    from torchvision.transforms import InterpolationMode as Theirs
    from torchvision.transforms.v2 import functional

    height, width = SIZE
    starts = [[0, 0], [width - 1, 0], [width - 1, height - 1], [0, height - 1]]
    most_x, most_y = int(0.6 * (width // 2)) + 1, int(0.6 * (height // 2)) + 1
    for index in range(8):
        ours = apply(image(), RandomPerspective(0.6, 1.0, mode, FILL), id=index)

        random = Random(0, 0, index, 0)
        random.word()
        ends = []
        for is_right, is_below in ((0, 0), (1, 0), (1, 1), (0, 1)):
            x = is_right * (width - most_x) + random.below(most_x)
            ends.append([x, is_below * (height - most_y) + random.below(most_y)])
        theirs = functional.perspective(Image.fromarray(image()), starts, ends, Theirs(mode.value), fill=list(FILL))
        np.testing.assert_array_equal(ours, np.asarray(theirs))


def test_a_shear_of_a_policy_is_an_affine_transform_about_the_corner() -> None:
    """torchvision's policies shear by an angle whose tangent is the magnitude."""
    from torchvision.transforms import InterpolationMode as Theirs
    from torchvision.transforms.v2 import functional

    degrees = math.degrees(math.atan(0.27))
    ours = apply(image(), RandomAffine(0, shear=(degrees, degrees), fill=FILL, center=(0, 0)))

    theirs = functional.affine(
        Image.fromarray(image()),
        0.0,
        [0, 0],
        1.0,
        [degrees, 0.0],
        Theirs.NEAREST,
        fill=list(FILL),
        center=[0, 0],
    )
    np.testing.assert_array_equal(ours, np.asarray(theirs))
