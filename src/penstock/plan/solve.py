"""Best mix as a linear program, and the prices that give every image its format.

Let t be the seconds per image. Minimise t under these conditions: the disk reads uncached bytes in t, the cores decode
in t, the model computes in t, cached bytes fit in memory, all bytes fit in the storage, and every image is fully
assigned. All conditions are linear in the assignment, so the optimum is exact for any number of formats (HiGHS).

The dual prices are the values of a byte and a CPU second at the optimum. An image's cheapest format at these prices is
its format in the optimum, except for ties. So a plan stores prices and not lists of images.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penstock.errors import ArgumentError
from penstock.plan.mix_problem import Problem
from penstock.plan.mix_rates import rates_of, single_format
from penstock.rates import share_in_memory
from penstock.tools import import_tool
from penstock.types import Floats
from penstock.units import bytes_text

CONVERSION = 1e-4
"""Gain that a conversion must have, as a share of the time per image; below it, the source is kept."""


@dataclass(frozen=True, slots=True)
class CostWeights:
    """Prices at the optimum, in units of the time per image. The score of a format is its cost at these prices."""

    per_byte: float
    per_cpu_second: float
    conversion: float = CONVERSION

    def scores(self, size: Floats, cpu_seconds: Floats, source: int) -> Floats:
        """Compute the score of each image (row) in each format (column); the lowest wins."""
        scores = self.per_byte * size + self.per_cpu_second * cpu_seconds + self.conversion
        scores[:, source] -= self.conversion
        return scores


@dataclass(frozen=True, slots=True)
class Solution:
    """Optimum of a problem."""

    seconds_per_image: float
    assignment: Floats
    """Share of image i (row) in format f (column): 0 or 1, except for a few images on the edge."""
    cached_bytes_per_sample: float
    prices: CostWeights


def solve(problem: Problem, columns: Sequence[int] | None = None) -> Solution:
    """Find the fastest assignment, of all formats or of these columns.

    Raises ArgumentError if not even the smallest formats fit the storage limit.
    """
    # Here, because it takes longer to import than a command takes to say its help.
    sparse, linprog = import_tool("scipy.sparse"), import_tool("scipy.optimize").linprog

    _check_storage(problem)
    unit = _time_unit(problem)
    num_images, num_formats = problem.bytes.shape
    size = problem.bytes.ravel() / num_images
    capacity = problem.capacity
    transfer = capacity.transfer_seconds(problem.bytes).ravel() / num_images
    decode = capacity.decode_seconds(problem.cpu_seconds).ravel() / num_images
    num_cells = size.size
    memory = min(problem.memory_bytes_per_sample, float(problem.bytes.max()))
    byte_unit = max(float(problem.bytes.mean()), 1.0)
    # Columns: the assignment, then t (in `unit`), then cached bytes per sample (in `byte_unit`).
    overhead = capacity.seconds_per_read * (1 - share_in_memory(memory, float(problem.bytes.mean()))) / unit
    rows = [
        _row(transfer / unit, -1.0, -capacity.transfer_seconds(byte_unit) / unit),
        _row(decode / unit, -1.0, 0.0),
        _row(-size / byte_unit, 0.0, 1.0),
    ]
    bounds_above = [-overhead, 0.0, 0.0]
    if math.isfinite(problem.storage_bytes):
        limit = problem.storage_bytes / problem.num_samples
        rows.append(_row(size / limit, 0.0, 0.0))
        bounds_above.append(1.0)
    conversion = np.full((num_images, num_formats), CONVERSION / num_images)
    conversion[:, problem.source] = 0.0
    wholly = sparse.hstack(
        [sparse.kron(sparse.eye(num_images), np.ones((1, num_formats))), sparse.csr_matrix((num_images, 2))]
    )
    slowest = 1 / problem.compute_rate / unit if math.isfinite(problem.compute_rate) else 0.0
    result = linprog(
        np.concatenate([conversion.ravel(), [1.0, 0.0]]),
        A_ub=sparse.csr_matrix(np.stack(rows)),
        b_ub=bounds_above,
        A_eq=wholly,
        b_eq=np.ones(num_images),
        bounds=[(0, None if columns is None or column in columns else 0) for column in range(num_formats)] * num_images
        + [(slowest, None), (0, memory / byte_unit)],
        method="highs",
    )
    if result.status != 0:
        raise ArgumentError(f"no mix meets the limits: {result.message}", where="plan", fix="loosen a limit")
    duals = -np.asarray(result.ineqlin.marginals)
    per_byte = duals[0] / capacity.storage_bytes_per_second / unit - duals[2] / byte_unit
    if math.isfinite(problem.storage_bytes):
        per_byte += duals[3] * problem.num_samples / problem.storage_bytes
    return Solution(
        seconds_per_image=float(result.x[num_cells]) * unit,
        assignment=result.x[:num_cells].reshape(num_images, num_formats),
        cached_bytes_per_sample=float(result.x[num_cells + 1]) * byte_unit,
        prices=CostWeights(float(per_byte), float(duals[1] / capacity.cores / unit)),
    )


def _row(cells: Floats, time: float, cached: float) -> Floats:
    return np.concatenate([cells, [time, cached]])


def _time_unit(problem: Problem) -> float:
    """Return the seconds per image of the best single format, which keeps the program's numbers near 1."""
    singles = [rates_of(problem, single_format(problem, column)) for column in range(len(problem.formats))]
    best = max(rates.end_to_end for rates in singles)
    return 1 / best if math.isfinite(best) else 1.0


def _check_storage(problem: Problem) -> None:
    least = float(problem.bytes.min(axis=1).mean()) * problem.num_samples
    if least > problem.storage_bytes:
        raise ArgumentError(
            f"the dataset needs {bytes_text(round(least))} even with each image in its smallest format; "
            f"the limit is {bytes_text(round(problem.storage_bytes))}",
            where="--storage-limit",
            fix="raise the limit, or allow lossy formats with --min-ms-ssim",
        )
