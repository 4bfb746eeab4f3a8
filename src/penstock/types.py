"""Small types that several layers share."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Pixels: TypeAlias = npt.NDArray[np.uint8] | npt.NDArray[np.uint16]
"""H×W for one channel, H×W×C for 2 to 4; unsigned 8 or 16 bit."""

Buffer: TypeAlias = bytes | bytearray | memoryview
"""Anything with contiguous bytes."""

Region: TypeAlias = tuple[int, int, int, int]
"""(y, x, height, width), in pixels."""
