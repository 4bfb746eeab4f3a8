"""Small types that several layers share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Pixels: TypeAlias = npt.NDArray[np.uint8] | npt.NDArray[np.uint16]
"""Array of pixels: H×W for one channel, H×W×C for 2 to 4; unsigned 8 or 16 bit."""

Buffer: TypeAlias = bytes | bytearray | memoryview
"""Object with contiguous bytes."""

Floats: TypeAlias = npt.NDArray[np.float64]

Integers: TypeAlias = npt.NDArray[np.int64]

Region: TypeAlias = tuple[int, int, int, int]
"""Rectangle (y, x, height, width) in pixels."""

OnProgress: TypeAlias = Callable[[str, int, int], None]
"""Progress function (stage, done, total), called during long work. The command line draws a bar from it."""


def no_progress(stage: str, done: int, total: int) -> None:
    """Ignore progress; the default for callers that do not need it."""
