"""Transforms that are no native code: called for every sample, on threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock import _native


class Rest:
    """Functions of one sample, one after the other. Python runs one thread at a time, what it calls may run on all."""

    def __init__(self, functions: Sequence[Callable[[Any], Any]], threads: int) -> None:
        self._functions = tuple(functions)
        self._pool = _native.ThreadPool(threads)

    def __call__(self, samples: list[Any]) -> list[Any]:
        """The results, in order; the first error of a function is raised here."""
        results = list(samples)

        def run(index: int) -> None:
            results[index] = self._apply(results[index])

        self._pool.call_each(run, len(results))
        return results

    def call_here(self, samples: list[Any]) -> list[Any]:
        """The same, all in the thread of the caller."""
        return [self._apply(sample) for sample in samples]

    def _apply(self, value: Any) -> Any:  # noqa: ANN401  # whatever the functions take and give
        for function in self._functions:
            value = function(value)
        return value


def stack(images: list[Any]) -> Any:  # noqa: ANN401  # whatever the functions give
    """One array if all are arrays of one shape and type, else the list."""
    first = images[0] if images else None
    if not isinstance(first, np.ndarray):
        return images
    alike = all(
        isinstance(image, np.ndarray) and image.shape == first.shape and image.dtype == first.dtype for image in images
    )
    return np.stack(images) if alike else images
