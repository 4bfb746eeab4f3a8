"""The measure of randomness: 1 for full permutations, and more for what is less random."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.counter_rng import Purpose
from penstock.order import Order, Window
from penstock.order.permutation import permutation
from penstock.order.shuffle_quality import Quality, measure

NUM_SAMPLES = 20_000


def quality_of(order: Order, batch_size: int = 256) -> Quality:
    first, second = (order.epoch(epoch).take(range(NUM_SAMPLES)) for epoch in (0, 1))
    return measure(first, second, batch_size)


def test_full_permutations_measure_one() -> None:
    first, second = (permutation(NUM_SAMPLES, 3, Purpose.DEAL, epoch) for epoch in (0, 1))

    measured = measure(first, second, batch_size=256)

    assert [measured.place, measured.company, measured.neighbours] == pytest.approx([1, 1, 1], abs=0.4)


def test_no_shuffling_measures_as_bad_as_can_be() -> None:
    measured = quality_of(Order(np.zeros(NUM_SAMPLES, np.uint8), shuffle=False))

    assert measured.place > 1000
    assert measured.company == pytest.approx(NUM_SAMPLES / 256, rel=0.1)
    assert measured.neighbours > 50


@pytest.mark.parametrize("num_formats", [1, 2, 3])
def test_the_order_is_as_random_as_a_full_permutation(num_formats: int) -> None:
    measured = quality_of(Order(np.arange(NUM_SAMPLES) % num_formats, seed=2))

    assert [measured.place, measured.company, measured.neighbours] == pytest.approx([1, 1, 1], abs=0.4)


def test_wider_windows_are_more_random() -> None:
    formats = np.zeros(NUM_SAMPLES, np.uint8)

    narrow, wide = (quality_of(Order(formats, lanes=24, window=Window(64, runs))) for runs in (1, 6))

    assert narrow.place > wide.place
    assert narrow.neighbours > wide.neighbours > 1.1
    assert "place" in str(narrow)
