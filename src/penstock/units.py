"""Amounts as people write them: `8GiB`, `200MB/s`. MB is decimal, MiB is binary."""

from __future__ import annotations

import re
from collections.abc import Mapping

from penstock.errors import ArgumentError, printable

_PREFIXES = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_AMOUNT = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?|\.[0-9]+)\s*([kmgt]?)(i?)(b?)\s*", re.IGNORECASE)


def parse_bytes(amount: int | str, *, name: str = "memory") -> int:
    """Convert a number or a text to bytes; `name` is the argument that an error mentions.

    >>> parse_bytes("8GiB"), parse_bytes("1.5 MB"), parse_bytes(4096)
    (8589934592, 1500000, 4096)
    """
    value = _value(amount) if isinstance(amount, str) else amount
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise _refusal(name, amount, "8GiB")
    return value


def parse_rate(amount: float | str, *, name: str = "rate") -> float:
    """Convert a number, or a text that ends in `/s`, to bytes per second.

    >>> parse_rate("200MB/s"), parse_rate(1e6)
    (200000000.0, 1000000.0)
    """
    if isinstance(amount, str):
        number, slash, seconds = amount.partition("/")
        value: float | None = _value(number) if (slash + seconds).strip() == "/s" else None
    else:
        value = amount
    if value is None or value <= 0:
        raise _refusal(name, amount, "200MB/s")
    return float(value)


def bytes_text(count: int) -> str:
    """Format a number of bytes in binary units.

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
    """Format a count with its noun.

    >>> count_text(1, "image"), count_text(2000, "image")
    ('1 image', '2,000 images')
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def left_out_text(counts: Mapping[str, int]) -> str:
    """Report which files were left out, by ending or reason, most frequent first.

    >>> left_out_text({".txt": 3, ".json": 12})
    'left out: 12 .json, 3 .txt'
    """
    by_count = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return "left out: " + ", ".join(f"{count:,} {printable(what)}" for what, count in by_count)


def _value(text: str) -> int | None:
    """Return the amount that a text means, or None if it is not an amount."""
    match = _AMOUNT.fullmatch(text)
    if match is None:
        return None
    number, prefix, binary, unit = match.groups()
    if (binary and not prefix) or (prefix and not unit):
        return None
    return round(float(number) * (1024.0 if binary else 1000.0) ** _PREFIXES[prefix.lower()])


def _refusal(name: str, amount: object, example: str) -> ArgumentError:
    return ArgumentError(
        f"{name} is {amount!r}, which is not an amount of bytes{' per second' if '/s' in example else ''}",
        where=name,
        fix=f"write a number with a unit such as {example!r} (MB is 1000², MiB 1024²)",
        code=100,
    )
