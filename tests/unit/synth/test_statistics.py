"""Procedural images have the statistics of photographs; the real ones of ../shared/data stand beside them."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import penstock
from penstock.synth import Scenes, render, render_mask
from penstock.synth.scenes import VARIANTS
from penstock.types import Pixels

NUM_IMAGES = 12


@dataclass(frozen=True)
class Statistics:
    """Means over some images."""

    slope: float
    """Of the power spectrum in log-log, from 0.02 to 0.4 cycles a pixel."""
    png_ratio: float
    channel_correlation: float
    kurtosis: float
    """Of the differences of neighbours: 3 for white noise, far more where flat areas meet at edges."""
    neighbour_correlation: float


def spectrum_slope(grey: npt.NDArray[np.float64]) -> float:
    height, width = grey.shape
    window = np.outer(np.hanning(height), np.hanning(width))
    power = np.abs(np.fft.fft2((grey - grey.mean()) * window)) ** 2
    frequency = np.hypot(np.fft.fftfreq(height)[:, None], np.fft.fftfreq(width)[None])
    edges = np.geomspace(0.02, 0.4, 17)
    means = [power[(frequency >= low) & (frequency < high)].mean() for low, high in itertools.pairwise(edges)]
    return float(np.polyfit(np.log(np.sqrt(edges[1:] * edges[:-1])), np.log(means), 1)[0])


def statistics_of(images: list[Pixels]) -> Statistics:
    slopes, ratios, channels, kurtoses, neighbours = [], [], [], [], []
    for image in images:
        grey = image.mean(axis=2)
        steps = np.diff(grey, axis=1)
        slopes.append(spectrum_slope(grey))
        ratios.append(image.nbytes / len(penstock.encode(image, "png")))
        between = np.corrcoef(image.reshape(-1, 3).T.astype(float))
        channels.append((between.sum() - 3) / 6)
        kurtoses.append(float(((steps - steps.mean()) ** 4).mean() / steps.var() ** 2))
        neighbours.append(np.corrcoef(grey[:, 1:].ravel(), grey[:, :-1].ravel())[0, 1])
    return Statistics(*(float(np.mean(values)) for values in (slopes, ratios, channels, kurtoses, neighbours)))


@pytest.fixture(scope="module", params=VARIANTS)
def synthetic(request: pytest.FixtureRequest) -> Statistics:
    return statistics_of([render(index, Scenes(variant=request.param)) for index in range(NUM_IMAGES)])


def assert_like_photographs(found: Statistics) -> None:
    assert -2.9 < found.slope < -1.8
    assert 1.6 < found.png_ratio < 2.4
    assert found.channel_correlation > 0.75
    assert found.kurtosis > 10
    assert found.neighbour_correlation > 0.9


def test_synthetic_images_are_like_photographs(synthetic: Statistics) -> None:
    assert_like_photographs(synthetic)


def test_photographs_are_like_photographs(shared_data: Path) -> None:
    paths = sorted((shared_data / "cityscapes" / "leftImg8bit").rglob("*.png"))[::16]
    assert_like_photographs(statistics_of([penstock.decode(path.read_bytes()) for path in paths]))


def test_sensor_noise_grows_with_the_light_as_photons_do() -> None:
    """Its variance is in proportion to the light. Measured in the sky, which is smooth, by second differences."""
    levels, variances = [], []
    for index in range(40):
        scenes = Scenes(width=256, height=128, bits=16)
        image, mask = render(index, scenes).astype(float), render_mask(index, scenes)
        sky = (mask[:, :-2] == 0) & (mask[:, 1:-1] == 0) & (mask[:, 2:] == 0)
        if sky.sum() > 500:
            levels.append(image[:, 1:-1][sky].mean() - 64)
            variances.append(np.diff(image, 2, axis=1)[sky].var() / 6)

    assert len(levels) > 20
    assert np.corrcoef(levels, variances)[0, 1] > 0.6
    assert 0.02 < np.mean(np.array(variances) / levels) < 0.4
