"""The static tuner: what each fidelity keeps of an image, and the smallest that keeps enough."""

from __future__ import annotations

import numpy as np

import penstock
from penstock.profile import choose_fidelity, measure_fidelities
from tests.progressive_files import picture

IMAGES = [penstock.encode(picture(number, height=180, width=200), "jpeg:q=90") for number in range(3)]


def test_quality_and_bytes_rise_with_fidelity_on_every_image() -> None:
    found = measure_fidelities([*IMAGES, penstock.encode(picture(4, height=180, channels=1), "png")], repeats=1)

    assert list(found) == [1, 2, 5, 10]
    for column in ("bytes", "ms_ssim"):
        values = np.stack([getattr(costs, column) for costs in found.values()])
        assert (np.diff(values, axis=0) >= 0).all()
    assert found[10].is_exact
    assert not found[1].is_exact


def test_the_smallest_fidelity_above_the_threshold_is_chosen() -> None:
    found = measure_fidelities(IMAGES, repeats=1)
    means = {scans: float(np.mean(costs.ms_ssim)) for scans, costs in found.items()}

    assert choose_fidelity(found, 0.0) == 1
    assert choose_fidelity(found, (means[1] + means[2]) / 2) == 2
    assert choose_fidelity(found, 1.0) == 10
