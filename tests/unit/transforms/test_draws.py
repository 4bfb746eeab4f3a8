"""What chance decides: a function of (seed, epoch, id), spread as torchvision spreads it."""

from __future__ import annotations

from collections import Counter

import numpy as np
import numpy.typing as npt
import pytest

from penstock import _native
from penstock.transforms import (
    CenterCrop,
    ColorJitter,
    RandomCrop,
    RandomHorizontalFlip,
    RandomResizedCrop,
    Resize,
    ScaleJitter,
    Transform,
    split,
)

COUNT = 12_000


def draws(transform: Transform, size: tuple[int, int], count: int = COUNT) -> list[_native.Draw]:
    program = split(transform).program()
    return [program.draw(size, 11, 3, index) for index in range(count)]


def boxes(transform: Transform, size: tuple[int, int]) -> npt.NDArray[np.int64]:
    """(y, x, height, width) of the crop in every draw."""
    program = split(transform).program()
    return np.array([program.region(program.draw(size, 11, 3, index)) for index in range(COUNT)])


def test_areas_of_crops_are_spread_evenly() -> None:
    # Small areas always fit, so that the first try counts.
    height, width = 1000, 1000
    found = boxes(RandomResizedCrop(224, scale=(0.1, 0.5)), (height, width))

    areas = found[:, 2] * found[:, 3] / (height * width)
    histogram, _ = np.histogram(areas, bins=8, range=(0.1, 0.5))
    assert np.abs(histogram / COUNT - 1 / 8).max() < 0.012
    assert areas.min() >= 0.099
    assert areas.max() <= 0.501


def test_ratios_of_crops_are_spread_evenly_on_a_log_scale() -> None:
    found = boxes(RandomResizedCrop(224, scale=(0.1, 0.5)), (1000, 1000))

    logs = np.log(found[:, 3] / found[:, 2])
    histogram, _ = np.histogram(logs, bins=8, range=(np.log(3 / 4), np.log(4 / 3)))
    assert np.abs(histogram / COUNT - 1 / 8).max() < 0.012


def test_crops_lie_anywhere_inside() -> None:
    found = boxes(RandomResizedCrop(224), (300, 500))
    y, x, height, width = found.T

    assert (y + height <= 300).all()
    assert (x + width <= 500).all()
    room = found[(300 - height) > 50]
    places = room[:, 0] / (300 - room[:, 2])
    assert abs(places.mean() - 0.5) < 0.012
    assert abs(places.std() - np.sqrt(1 / 12)) < 0.012


@pytest.mark.parametrize(
    ("size", "expected"), [((10, 1000), (0, 493, 10, 13)), ((1000, 10), (493, 0, 13, 10)), ((1, 1), (0, 0, 1, 1))]
)
def test_a_crop_that_fits_nowhere_is_the_middle(size: tuple[int, int], expected: tuple[int, ...]) -> None:
    program = split(RandomResizedCrop(8, scale=(1.0, 1.0))).program()

    assert program.region(program.draw(size, 0, 0, 0)) == expected


def test_crops_of_a_fixed_size_reach_every_place_equally() -> None:
    found = boxes(RandomCrop(8, padding=2), (10, 10))
    program = split(RandomCrop(8, padding=2)).program()

    windows = [program.draw((10, 10), 11, 3, index).steps[0]["window"] for index in range(COUNT)]
    tops = np.bincount(np.array([window[0] + 2 for window in windows]), minlength=7)
    assert len(tops) == 7
    assert np.abs(tops / COUNT - 1 / 7).max() < 0.012
    assert found[:, 2].max() == 8


def test_flips_happen_as_often_as_said() -> None:
    for p in (0.0, 0.3, 1.0):
        flipped = [bool(draw.steps[0]["flipped"]) for draw in draws(RandomHorizontalFlip(p), (4, 4))]
        assert abs(np.mean(flipped) - p) < 0.012


def test_colours_change_in_every_order_by_every_factor() -> None:
    jitter = ColorJitter(0.4, 0.3, (0.1, 3.0), 0.2)
    found = [[(step["change"], step["value"]) for step in draw.steps[1:]] for draw in draws(jitter, (4, 4))]
    counts = np.array(list(Counter(tuple(name for name, _ in changes) for changes in found).values()))
    factors = [dict(changes) for changes in found]

    assert len(counts) == 24
    assert np.abs(counts / COUNT - 1 / 24).max() < 0.012
    for name, low, high in [
        ("brightness", 0.6, 1.4),
        ("contrast", 0.7, 1.3),
        ("saturation", 0.1, 3),
        ("hue", -0.2, 0.2),
    ]:
        values = np.array([each[name] for each in factors])
        assert values.min() >= low - 1e-6
        assert values.max() <= high + 1e-6
        assert abs(values.mean() - (low + high) / 2) < 0.01 * (high - low)


def test_scale_jitter_fits_the_target_then_scales() -> None:
    sizes = np.array([draw.output for draw in draws(ScaleJitter((100, 200), (0.5, 1.5)), (400, 500), 4000)])

    fit = min(200 / 400, 100 / 500)
    assert sizes[:, 0].min() >= int(400 * fit * 0.5)
    assert sizes[:, 0].max() <= 400 * fit * 1.5
    assert abs(sizes[:, 0].mean() - 400 * fit) < 1


def test_an_operation_draws_the_same_whatever_others_draw() -> None:
    alone = split([RandomHorizontalFlip(0.5), RandomResizedCrop(8)]).program()
    other = split([ColorJitter(0.5), RandomResizedCrop(8)]).program()

    for index in range(50):
        assert alone.region(alone.draw((99, 77), 5, 6, index)) is not None
        sizes = [program.draw((99, 77), 5, 6, index).steps[-1]["source"] for program in (alone, other)]
        assert sizes[0][2:] == sizes[1][2:]


def test_fixed_sizes_are_known_before_any_sample() -> None:
    assert split([Resize(256), CenterCrop(224), RandomHorizontalFlip()]).program().fixed_size == (224, 224)
    assert split([CenterCrop((300, 400)), Resize(150)]).program().fixed_size == (150, 200)
    assert split([Resize(256)]).program().fixed_size is None
    assert split([CenterCrop(9), ScaleJitter(9)]).program().fixed_size is None
    assert split([]).program().fixed_size is None


def test_only_what_is_needed_is_decoded() -> None:
    program = split([Resize(256), CenterCrop(224)]).program()

    y, x, height, width = program.region(program.draw((512, 1024), 0, 0, 0))
    # 224 of 512 columns at half size, and one more pixel of the filter on either side.
    assert (y, height) == (31, 450)
    assert (x, width) == (287, 450)
