"""The SIMD paths of this processor, plain C++ first."""

from __future__ import annotations

from penstock import _native

PATHS = _native.simd_paths()
