"""Liquid's method for a mix of two formats, for comparison: a binary search over tenths, and its closed form.

The paper (APSys'23) lists eleven shares of the encoded format and halves the list by comparing load and decode rates.
If loading is slower, the answer has a larger encoded share (the sentence in the paper discards the wrong half).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from penstock.plan.mix_problem import Problem
from penstock.plan.mix_rates import rates_of, two_formats
from penstock.rates import Rates, crossing

STEPS = 10


@dataclass(frozen=True, slots=True)
class LiquidResult:
    """Share of the second format (raw, in the paper), with its rates."""

    share: float
    rates: Rates
    num_probes: int


def search(measure: Callable[[float], Rates]) -> LiquidResult:
    """Find the best share of the second format in tenths, with at most four probes and two neighbours.

    `measure` returns the rates at a share of the second format. With a larger share, loading is slower and decoding
    faster.
    """
    probed: dict[int, Rates] = {}

    def probe(step: int) -> Rates:
        if step not in probed:
            probed[step] = measure(step / STEPS)
        return probed[step]

    low, high = 0, STEPS
    while low < high:
        middle = (low + high) // 2
        rates = probe(middle)
        if rates.load < rates.decode:
            high = middle
        else:
            low = middle + 1
    for step in (low - 1, low, low + 1):
        if 0 <= step <= STEPS:
            probe(step)
    best = max(probed, key=lambda step: (probed[step].prep, -step))
    return LiquidResult(best / STEPS, probed[best], len(probed))


def search_pair(problem: Problem, first: int, second: int) -> LiquidResult:
    """Search between two formats, with rates computed from the profile."""
    return search(lambda share: rates_of(problem, two_formats(problem, first, second, share)))


def closed_form(problem: Problem, first: int, second: int) -> float:
    """Compute the share of the second format at which loading and decoding are equally fast, with memory in bytes.

    Sizes are those of reads, in whole pages. Solves (mean size(x) − M/N) / B + r = mean CPU seconds(x) / cores, which
    is linear in x, and clamps to [0, 1]. If the second format is both smaller and faster to decode (or neither), the
    better end is returned.
    """
    capacity = problem.capacity
    read = problem.bytes.mean(axis=0) - problem.memory_bytes_per_sample
    decode = capacity.decode_seconds(problem.cpu_seconds.mean(axis=0))

    def gap(column: int) -> float:
        storage = max(0.0, capacity.transfer_seconds(float(read[column])))
        return storage + (capacity.seconds_per_read if storage > 0 else 0.0) - float(decode[column])

    at_first, at_second = gap(first), gap(second)
    if at_first * at_second >= 0:
        ends = [rates_of(problem, two_formats(problem, first, second, share)).prep for share in (0.0, 1.0)]
        return float(ends[1] > ends[0])
    return min(1.0, max(0.0, crossing(at_first, at_second)))
