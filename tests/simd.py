"""The SIMD paths of this processor, plain C++ first."""

from __future__ import annotations

from penstock import _native

ORDER = ["portable", "baseline", "avx2", "avx512"]
PATHS = ORDER[: ORDER.index(_native.best_simd_path()) + 1]
