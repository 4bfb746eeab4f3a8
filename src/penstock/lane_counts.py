"""The numbers of lanes that an order may have, which datasets record (spec/dataset.md, "manifest.json")."""

from __future__ import annotations

MOST_LANES = 960
LADDER = (960, 480, 240, 120, 48, 24, 8, 4, 2, 1)
MIN_SAMPLES_PER_LANE = 64


def choose_lanes(num_samples: int, most: int = MOST_LANES) -> int:
    """Choose the number of lanes for a set of this size: with fewer than 64 samples a lane, shuffling would be poor.

    >>> [choose_lanes(n) for n in (10, 2_975, 20_000, 1_281_167)]
    [1, 24, 240, 960]
    """
    affordable = max(num_samples // MIN_SAMPLES_PER_LANE, 1)
    return most if most <= affordable else max(lanes for lanes in LADDER if lanes <= min(most, affordable))
