"""Labels can be learned, and those that sit in texture are lost when quality is cut hard.

The fast tier asks a linear classifier on plain features, the long one a small network on pixels.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cache

import numpy as np
import numpy.typing as npt

import penstock
from penstock.synth import Scenes, label_of, render
from penstock.types import Pixels

CLASSES = 4
Degrade = Callable[[Pixels], Pixels]
Features = npt.NDArray[np.float64]


def as_it_is(image: Pixels) -> Pixels:
    return image


def as_poor_jpeg(image: Pixels) -> Pixels:
    return penstock.decode(penstock.encode(image, "jpeg:q=5"))


def at_an_eighth(image: Pixels) -> Pixels:
    """Scaled down by 8 and up again, so that every classifier sees the same size."""
    height, width, channels = image.shape
    small = image.reshape(height // 8, 8, width // 8, 8, channels).mean(axis=(1, 3))
    large: Pixels = np.repeat(np.repeat(small, 8, axis=0), 8, axis=1).astype(np.uint8)
    return large


def other_seed(scenes: Scenes) -> Scenes:
    return dataclasses.replace(scenes, seed=scenes.seed + 1)


@cache
def rendered(scenes: Scenes, count: int) -> tuple[Pixels, ...]:
    return tuple(render(index, scenes) for index in range(count))


def dataset(scenes: Scenes, count: int, degrade: Degrade) -> tuple[list[Pixels], npt.NDArray[np.int64]]:
    images = [degrade(image) for image in rendered(scenes, count)]
    return images, np.array([label_of(index, scenes) for index in range(count)])


def thumbnail(image: Pixels) -> Features:
    height, width = image.shape[:2]
    small: Features = image.reshape(8, height // 8, 8, width // 8, 3).mean(axis=(1, 3)).ravel() / 255
    return small


def autocorrelation(image: Pixels) -> Features:
    """Of the fine detail, for shifts of up to 4 pixels: tells directions and periods of a pattern."""
    grey = image.mean(axis=2)
    sums = np.pad(grey, ((1, 0), (1, 0))).cumsum(axis=0).cumsum(axis=1)
    means = (sums[5:, 5:] - sums[:-5, 5:] - sums[5:, :-5] + sums[:-5, :-5]) / 25
    detail = np.clip(grey[2:-2, 2:-2] - means, -12, 12)
    spectrum = np.abs(np.fft.rfft2(detail)) ** 2
    products = np.fft.irfft2(spectrum, detail.shape)
    shifts = [(dy, dx) for dy in range(5) for dx in range(-4, 5) if dy or dx > 0]
    features: Features = np.array([products[dy, dx] for dy, dx in shifts]) / products[0, 0]
    return features


def accuracy(scenes: Scenes, degrade: Degrade, features: Callable[[Pixels], Features]) -> float:
    """Of a ridge classifier, trained on one seed and asked on another."""
    train, train_labels = dataset(scenes, 160, degrade)
    test, test_labels = dataset(other_seed(scenes), 80, degrade)
    x = np.array([features(image) for image in train])
    mean, spread = x.mean(axis=0), x.std(axis=0) + 1e-9
    x = (x - mean) / spread
    gram = x.T @ x + 0.05 * len(x) * np.eye(x.shape[1])
    weights = np.linalg.solve(gram, x.T @ (np.eye(CLASSES)[train_labels] - 1 / CLASSES))
    guesses = ((np.array([features(image) for image in test]) - mean) / spread @ weights).argmax(axis=1)
    return float((guesses == test_labels).mean())


def scenes_of(variant: str, side: int = 64) -> Scenes:
    return Scenes(width=2 * side, height=side, classes=CLASSES, variant=variant)


def test_coarse_labels_survive_what_texture_labels_do_not() -> None:
    for degrade in (as_it_is, as_poor_jpeg, at_an_eighth):
        assert accuracy(scenes_of("coarse"), degrade, thumbnail) > 0.85, degrade.__name__
    assert accuracy(scenes_of("texture"), as_it_is, autocorrelation) > 0.9
    for degrade in (as_poor_jpeg, at_an_eighth):
        assert accuracy(scenes_of("texture"), degrade, autocorrelation) < 0.5, degrade.__name__


def test_texture_labels_are_not_in_the_layout() -> None:
    assert accuracy(scenes_of("texture"), as_it_is, thumbnail) < 0.45
