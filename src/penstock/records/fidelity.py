"""Fidelity: the number of scans or layers that are read of an image, and the stored pieces that hold them."""

from __future__ import annotations

from bisect import bisect_left

from penstock.codecs import parse_format
from penstock.codecs.pjpeg import MOST_SCANS, PJPEG, scan_groups
from penstock.codecs.sluice import SLUICE, layer_bits
from penstock.errors import ArgumentError


def stored_scans(format: str) -> tuple[int, ...]:
    """Return the scans (or layers) in a prefix of each length, ascending, one number per piece; () without fidelity.

    >>> stored_scans("pjpeg"), stored_scans("sluice:layers=2"), stored_scans("jpeg")
    ((1, 2, 5, 10), (1, 2), ())
    """
    parsed = parse_format(format)
    if parsed.codec == SLUICE.name:
        return (1, 2) if layer_bits(parsed) else ()
    if parsed.codec != PJPEG.name:
        return ()
    return scan_groups(parsed) or tuple(range(1, MOST_SCANS + 1))


def pieces_for(scans: tuple[int, ...], fidelity: int | None) -> int:
    """Return the number of pieces that hold `fidelity` scans, rounded up to the next stored group; all for None.

    >>> [pieces_for((1, 2, 5, 10), fidelity) for fidelity in (1, 2, 3, 5, 6, 40, None)]
    [1, 2, 3, 3, 4, 4, 4]
    """
    if fidelity is None:
        return len(scans)
    return min(bisect_left(scans, fidelity) + 1, len(scans))


def check_fidelity(fidelity: int | None, where: str = "fidelity") -> int | None:
    """Check a fidelity: a number of scans or layers of at least 1, or None for all."""
    if fidelity is None or (isinstance(fidelity, int) and not isinstance(fidelity, bool) and fidelity >= 1):
        return fidelity
    raise ArgumentError(
        f"fidelity is {fidelity!r}", where=where, fix="give a number of scans of at least 1, or None for all", code=100
    )
