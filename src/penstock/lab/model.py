"""The arithmetic of rates: what a mix, a cache or another disk makes of measured stages. Pure."""

from __future__ import annotations

import math

CLOSE = 0.9
"""A rate that reaches this share of another is not limited by what the other does without."""


def mixed_rate(first: float, second: float, share: float) -> float:
    """Images per second of a stage over a mix: times per image add up.

    >>> mixed_rate(100.0, 300.0, 0.5)
    150.0
    """
    return 1 / ((1 - share) / first + share / second)


def best_share(load: tuple[float, float], decode: tuple[float, float]) -> float:
    """The share of the second format at which the slower of both stages is fastest, from each stage's two ends.

    Inside, it is where the stages cross: times per image are straight lines of the share.

    >>> round(best_share((400.0, 100.0), (100.0, 1000.0)), 3)
    0.455
    >>> best_share((400.0, 500.0), (100.0, 1000.0))
    1.0
    """
    candidates = [0.0, 1.0]
    gap_first = 1 / load[0] - 1 / decode[0]
    gap_second = 1 / load[1] - 1 / decode[1]
    if gap_first * gap_second < 0:
        candidates.append(gap_first / (gap_first - gap_second))
    return max(candidates, key=lambda share: min(mixed_rate(*load, share), mixed_rate(*decode, share)))


def telling_disk(sizes: tuple[float, float], decode_seconds: tuple[float, float]) -> float:
    """Bytes per second of a disk on which mixing two formats has most to gain, from bytes and seconds per image.

    If one format is smaller and the other decodes faster, it is the disk on which each alone is equally fast: the small
    one waits for the processor, the large one for the disk. If one format is both, mixing gains nothing on any disk,
    and it is the one on which half of each takes as long to read as to decode.

    >>> telling_disk((100e3, 400e3), (1e-3, 1e-4)), telling_disk((100e3, 400e3), (1e-4, 1e-3))
    (400000000.0, 454545454.5454545)
    """
    first, second = zip(sizes, decode_seconds, strict=True)
    small, large = sorted((first, second))
    if large[1] < small[1]:
        return large[0] / small[1]
    return sum(sizes) / sum(decode_seconds)


def loading_rate(fetch: float, prepare: float, cached_share: float = 0.0, compute: float = math.inf) -> float:
    """DS-Analyzer's rate: the slowest of fetching, preparing and computing; what is cached costs no fetch.

    >>> loading_rate(100.0, 500.0, cached_share=0.5), loading_rate(100.0, 500.0, cached_share=0.9)
    (200.0, 500.0)
    """
    left = 1 - cached_share
    return min(fetch / left if left > 0 else math.inf, prepare, compute)


def who_limits(from_disk: float, from_memory: float, synthetic: float) -> str:
    """`disk`, `preparation` or `model`, from the rates of three runs that leave out one cause after the other.

    >>> who_limits(200, 1000, 1050), who_limits(2500, 2600, 8500), who_limits(1000, 1010, 1050)
    ('disk', 'preparation', 'model')
    """
    if from_disk < CLOSE * min(from_memory, synthetic):
        return "disk"
    return "preparation" if from_memory < CLOSE * synthetic else "model"
