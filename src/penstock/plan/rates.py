"""What a mix gives: how fast it is read, decoded and consumed, and who is slowest. Every way of choosing asks here."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from penstock.plan.problem import Problem
from penstock.types import Floats


@dataclass(frozen=True, slots=True)
class Rates:
    """Images per second of each stage alone, and of all together."""

    load: float
    decode: float
    compute: float
    bytes_per_image: float
    cached_share: float
    """Of all samples, those that memory serves."""

    @property
    def prep(self) -> float:
        """What reaches the model if it never waits."""
        return min(self.load, self.decode)

    @property
    def end_to_end(self) -> float:
        """The slowest stage."""
        return min(self.load, self.decode, self.compute)

    @property
    def bottleneck(self) -> str:
        """`disk`, `cpu` or `compute`; stages that tie count in that order of what a user would rather not hear."""
        slowest = self.end_to_end * (1 + 1e-9)
        if self.compute <= slowest:
            return "compute"
        return "cpu" if self.decode <= slowest else "disk"


def rates_of(problem: Problem, assignment: Floats) -> Rates:
    """The rates when image i is in format f with share `assignment[i, f]`; rows add up to 1.

    Cached bytes cost no disk. Each request costs the disk its bytes and its own overhead.
    """
    size = _mean_cost(assignment, problem.bytes)
    cpu = _mean_cost(assignment, problem.cpu_seconds)
    cached = min(1.0, problem.memory_bytes_per_sample / size) if size > 0 else 1.0
    read = size + problem.page_bytes
    disk_seconds = (1 - cached) * (read / problem.disk_bytes_per_second + problem.seconds_per_read)
    return Rates(
        load=1 / disk_seconds if disk_seconds > 0 else math.inf,
        decode=problem.cores / cpu if cpu > 0 else math.inf,
        compute=problem.compute_rate,
        bytes_per_image=size,
        cached_share=cached,
    )


def single_format(problem: Problem, column: int) -> Floats:
    """The assignment that gives every image one format."""
    assignment = np.zeros_like(problem.bytes)
    assignment[:, column] = 1.0
    return assignment


def two_formats(problem: Problem, first: int, second: int, share_of_second: float) -> Floats:
    """The assignment of a random choice: every image a bit of both."""
    assignment = np.zeros_like(problem.bytes)
    assignment[:, first] = 1.0 - share_of_second
    assignment[:, second] += share_of_second
    return assignment


def _mean_cost(assignment: Floats, costs: Floats) -> float:
    return float(np.sum(assignment * costs)) / len(costs)
