"""Numbers as people read them."""

from __future__ import annotations


def bytes_text(count: int) -> str:
    """Bytes in binary units.

    >>> bytes_text(25_274_793_984), bytes_text(512)
    ('23.5 GiB', '512 B')
    """
    size = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"


def count_text(count: int, noun: str) -> str:
    """A number of things.

    >>> count_text(1, "image"), count_text(2000, "image")
    ('1 image', '2,000 images')
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
