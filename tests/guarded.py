"""Memory between two pages that nobody may touch: a byte read or written beyond it ends the process."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from penstock.types import Buffer

PROT_NONE = 0
Bytes = np.ndarray[tuple[int], np.dtype[np.uint8]]


@contextmanager
def guarded(size: int, *, at_end: bool = True) -> Iterator[Bytes]:
    """`size` bytes that end where a forbidden page begins, or begin where one ends."""
    inner = -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
    view = np.frombuffer(mmap.mmap(-1, inner + 2 * mmap.PAGESIZE), np.uint8)  # unmapped when the last view is gone
    begin = mmap.PAGESIZE + (inner - size if at_end else 0)
    _protect(view[: mmap.PAGESIZE], PROT_NONE)
    _protect(view[mmap.PAGESIZE + inner :], PROT_NONE)
    try:
        yield view[begin : begin + size]
    finally:
        _protect(view, mmap.PROT_READ | mmap.PROT_WRITE)


@contextmanager
def guarded_copy(data: Buffer, *, at_end: bool = True) -> Iterator[Bytes]:
    """The same bytes in guarded memory."""
    with guarded(len(data), at_end=at_end) as memory:
        memory[:] = np.frombuffer(data, np.uint8)
        yield memory


def _protect(part: Bytes, protection: int) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    if library.mprotect(ctypes.c_void_p(part.ctypes.data), ctypes.c_size_t(len(part)), protection) != 0:
        raise OSError(ctypes.get_errno(), "mprotect failed")
