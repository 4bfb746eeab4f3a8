"""Compute the rates of a mix: an assignment of formats to the images of a problem."""

from __future__ import annotations

import numpy as np

from penstock.plan.mix_problem import Problem
from penstock.rates import Rates, share_in_memory
from penstock.types import Floats


def rates_of(problem: Problem, assignment: Floats, *, cached_share: float | None = None) -> Rates:
    """Return the rates when image i is in format f with share `assignment[i, f]`; rows add up to 1.

    Cached bytes cost no storage time. Each request costs its bytes and its own overhead. Without a `cached_share` it is
    the share of the bytes that fits in memory.
    """
    size = _mean_cost(assignment, problem.bytes)
    cpu_seconds = _mean_cost(assignment, problem.cpu_seconds)
    if cached_share is None:
        cached_share = share_in_memory(problem.memory_bytes_per_sample, size)
    return problem.capacity.rates(size, cpu_seconds, cached_share)


def single_format(problem: Problem, column: int) -> Floats:
    """Return the assignment that gives every image one format."""
    assignment = np.zeros_like(problem.bytes)
    assignment[:, column] = 1.0
    return assignment


def two_formats(problem: Problem, first: int, second: int, share_of_second: float) -> Floats:
    """Return the assignment of a random choice between two formats: every image is a bit of both."""
    assignment = np.zeros_like(problem.bytes)
    assignment[:, first] = 1.0 - share_of_second
    assignment[:, second] += share_of_second
    return assignment


def _mean_cost(assignment: Floats, costs: Floats) -> float:
    return float(np.sum(assignment * costs)) / len(costs)
