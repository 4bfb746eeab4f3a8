"""Estimated costs of images that were not measured, from facts known before decoding: pixels and source bytes."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from penstock.documents import Json
from penstock.types import Floats


@dataclass(frozen=True, slots=True)
class Estimate:
    """Linear estimate: constant + per_pixel · pixels + per_source_byte · source bytes."""

    constant: float
    per_pixel: float
    per_source_byte: float
    relative_error: float = 0.0
    """Root mean square of the residuals, divided by the mean."""

    def of(self, pixels: Floats, source_bytes: Floats) -> Floats:
        """Compute the estimate for each image, never below zero."""
        values: Floats = np.maximum(self.constant + self.per_pixel * pixels + self.per_source_byte * source_bytes, 0.0)
        return values

    def as_dict(self) -> dict[str, Json]:
        """Return the estimate as a profile or plan writes it."""
        return dict(asdict(self))


def fit(pixels: Floats, source_bytes: Floats, costs: Floats) -> Estimate:
    """Fit by least squares. Features that do not vary, or too few images, leave their coefficient at zero.

    >>> import numpy as np
    >>> pixels, source = np.array([10.0, 20.0, 40.0, 50.0]), np.array([1.0, 5.0, 2.0, 7.0])
    >>> found = fit(pixels, source, 3 * pixels + 8)
    >>> round(found.constant, 6), round(found.per_pixel, 6), abs(round(found.per_source_byte, 6))
    (8.0, 3.0, 0.0)
    """
    features = np.stack([np.ones_like(costs), pixels, source_bytes], axis=1)
    scale = np.maximum(np.abs(features).max(axis=0), 1e-300)
    # Columns of one value (all images of one size) repeat the constant: the smallest solution shares between them,
    # which estimates alike.
    found, *_ = np.linalg.lstsq(features / scale, costs, rcond=1e-9)
    coefficients = found / scale
    residuals = costs - features @ coefficients
    mean = float(np.mean(costs))
    error = float(np.sqrt(np.mean(residuals**2))) / mean if mean > 0 else 0.0
    return Estimate(float(coefficients[0]), float(coefficients[1]), float(coefficients[2]), error)
