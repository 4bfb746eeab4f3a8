"""Changes of pixel values equal Pillow's, to the bit, on every SIMD path: tables, tallies, sharpening and blur."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image, ImageEnhance, ImageFilter, ImageOps

from penstock import ArgumentError, _native
from penstock.transforms import (
    CenterCrop,
    ColorJitter,
    GaussianBlur,
    Grayscale,
    Normalize,
    PillowGaussianBlur,
    RandomAdjustSharpness,
    RandomAutocontrast,
    RandomEqualize,
    RandomGrayscale,
    RandomInvert,
    RandomPosterize,
    RandomResizedCrop,
    RandomSolarize,
    SolarizeAdd,
    ToDtype,
    Transform,
    apply,
)
from penstock.types import Pixels
from tests import pillow_resize
from tests.simd import PATHS

Change = Callable[[Image.Image], Image.Image]


def solarize_added(add: int) -> Change:
    return lambda image: image.point([min(255, i + add) if i < 128 else i for i in range(256)] * len(image.getbands()))


def grey(image: Image.Image) -> Image.Image:
    return image.convert("L").convert(image.mode)


CASES: list[tuple[Transform, Change]] = [
    (Grayscale(), grey),
    (RandomGrayscale(1), grey),
    (RandomInvert(1), ImageOps.invert),
    *[(RandomPosterize(bits, 1), lambda image, bits=bits: ImageOps.posterize(image, bits)) for bits in range(1, 9)],
    *[
        (RandomSolarize(threshold, 1), lambda image, threshold=threshold: ImageOps.solarize(image, threshold))
        for threshold in (0, 1, 26, 128, 178.5, 255, 256)
    ],
    *[(SolarizeAdd(add), solarize_added(add)) for add in (0, 10, 99, 110)],
    (RandomAutocontrast(1), ImageOps.autocontrast),
    (RandomEqualize(1), ImageOps.equalize),
    *[
        (RandomAdjustSharpness(factor, 1), lambda image, f=factor: ImageEnhance.Sharpness(image).enhance(f))
        for factor in (0, 0.1, 0.37, 0.5, 0.99, 1, 1.01, 1.3, 1.9, 2.5, 0.123456789)
    ],
    *[
        (PillowGaussianBlur(sigma), lambda image, s=sigma: image.filter(ImageFilter.GaussianBlur(s)))
        for sigma in (0, 0.1, 0.3, 0.5, 0.75, 1, 1.3, 1.7, 2, 3.3, 12.5)
    ],
]


@pytest.fixture(params=PATHS)
def path(request: pytest.FixtureRequest) -> Iterator[str]:
    _native.force_simd_path(request.param)
    yield request.param
    _native.force_simd_path(_native.best_simd_path())


def images() -> Iterator[Pixels]:
    """Noise, ramps, flat and nearly flat images, of odd sizes."""
    rng = np.random.default_rng(0)
    for height, width in ((64, 64), (37, 53), (5, 80), (80, 3), (2, 9), (1, 1), (11, 223)):
        yield rng.integers(0, 256, (height, width, 3), dtype=np.uint8)
        yield rng.integers(90, 101, (height, width), dtype=np.uint8)
        yield (np.mgrid[0:height, 0:width][1][..., None] * [1, 2, 3] % 200 + 20).astype(np.uint8)
        yield np.full((height, width, 3), 90, np.uint8)


def expected(pixels: Pixels, change: Change) -> Pixels:
    return pillow_resize.to_pixels(change(pillow_resize.to_image(pixels)), pixels)


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize(("transform", "change"), CASES, ids=lambda case: repr(case) if hasattr(case, "p") else "")
def test_changes_equal_pillows(transform: Transform, change: Change) -> None:
    for pixels in images():
        np.testing.assert_array_equal(apply(pixels, transform), expected(pixels, change))


@pytest.mark.usefixtures("path")
def test_consecutive_tables_equal_their_steps() -> None:
    chain = [RandomPosterize(5, 1), RandomEqualize(1), RandomSolarize(99, 1), RandomAutocontrast(1), RandomInvert(1)]
    for pixels in images():
        steps = pixels
        for transform in chain:
            steps = apply(steps, transform)

        np.testing.assert_array_equal(apply(pixels, chain), steps)


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
def test_the_last_table_is_part_of_the_conversion_to_floats(layout: str) -> None:
    finish = [ToDtype("float32", scale=True), Normalize([0.4, 0.5, 0.6], [0.2, 0.3, 0.4])]
    for pixels in [pixels for pixels in images() if pixels.ndim == 3]:
        changed = apply(pixels, [RandomEqualize(1), RandomInvert(1)])

        whole = apply(pixels, [RandomEqualize(1), RandomInvert(1), *finish], layout=layout)

        np.testing.assert_array_equal(whole, apply(changed, finish, layout=layout))


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize("channels", [2, 4])
@pytest.mark.parametrize(("transform", "change"), CASES[:-11:3])
def test_alpha_stays(transform: Transform, change: Change, channels: int) -> None:
    rng = np.random.default_rng(1)
    colors = rng.integers(0, 256, (17, 33, channels - 1), dtype=np.uint8)
    alpha = rng.integers(0, 256, (17, 33, 1), dtype=np.uint8)

    result = apply(np.concatenate([colors, alpha], -1), transform)

    np.testing.assert_array_equal(result[:, :, -1:], alpha)
    single = colors[:, :, 0] if channels == 2 else colors
    np.testing.assert_array_equal(result[:, :, :-1].reshape(single.shape), expected(single, change))


def torch_blur(pixels: Pixels, size: int, sigma: float) -> Pixels:
    """torchvision's GaussianBlur: a kernel of floats, mirrored borders, rounded."""
    places = torch.arange(size) - (size - 1) / 2
    line = torch.softmax(-((places / sigma) ** 2) / 2, 0)
    image = torch.from_numpy(pixels.reshape(*pixels.shape[:2], -1)).permute(2, 0, 1)[:, None].float()
    padded = torch.nn.functional.pad(image, [size // 2] * 4, mode="reflect")
    blurred = torch.nn.functional.conv2d(padded, (line[:, None] * line)[None, None])
    result: Pixels = blurred.round().to(torch.uint8)[:, 0].permute(1, 2, 0).reshape(pixels.shape).numpy()
    return result


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize(("size", "sigma"), [(3, 0.5), (5, 2.0), (9, 1.1), (23, 2.0)])
def test_gaussian_blur_is_within_a_level_of_torchvisions(size: int, sigma: float) -> None:
    fitting = [pixels for pixels in images() if min(pixels.shape[:2]) > size // 2]
    assert len(fitting) >= 8
    for pixels in fitting:
        result = apply(pixels, GaussianBlur(size, sigma))

        assert np.abs(result.astype(int) - torch_blur(pixels, size, sigma)).max() <= 1


def test_every_path_blurs_alike() -> None:
    results = []
    for path in PATHS:
        _native.force_simd_path(path)
        results.append([apply(pixels, GaussianBlur(3, 0.8)) for pixels in images() if min(pixels.shape[:2]) > 1])
    _native.force_simd_path(_native.best_simd_path())

    for result in results[1:]:
        for one, other in zip(result, results[0], strict=True):
            np.testing.assert_array_equal(one, other)


def test_a_kernel_larger_than_the_image_is_refused() -> None:
    with pytest.raises(ArgumentError, match="does not fit an image of 4x9"):
        apply(np.zeros((4, 9, 3), np.uint8), GaussianBlur(9))


def test_words_have_no_colours_to_change() -> None:
    with pytest.raises(ArgumentError, match="8-bit"):
        apply(np.zeros((4, 4, 3), np.uint16), RandomInvert(1))


def crops(folder: Path, count: int) -> Iterator[Pixels]:
    files = sorted((folder / "imagenet").iterdir())[:count]
    for index, file in enumerate(files):
        with Image.open(file) as image:
            pixels = np.asarray(image.convert("RGB"))
        yield apply(pixels, RandomResizedCrop(224), id=index)


@pytest.mark.parametrize(("transform", "change"), CASES[::2])
def test_crops_of_photographs_equal_pillows(shared_data: Path, transform: Transform, change: Change) -> None:
    for pixels in crops(shared_data, 2):
        np.testing.assert_array_equal(apply(pixels, transform), expected(pixels, change))


@pytest.mark.long
@pytest.mark.usefixtures("path")
def test_a_hundred_crops_of_photographs_equal_pillows(shared_data: Path) -> None:
    for pixels in crops(shared_data, 100):
        for transform, change in CASES:
            np.testing.assert_array_equal(apply(pixels, transform), expected(pixels, change))


def test_a_jitter_between_tables_keeps_their_order() -> None:
    pixels = next(images())
    chain = [RandomInvert(1), ColorJitter(brightness=(1.5, 1.5)), CenterCrop(20), RandomSolarize(100, 1)]

    inverted = ImageEnhance.Brightness(ImageOps.invert(pillow_resize.to_image(pixels))).enhance(1.5)
    wanted = ImageOps.solarize(inverted.crop((22, 22, 42, 42)), 100)

    np.testing.assert_array_equal(apply(pixels, chain), np.asarray(wanted))
