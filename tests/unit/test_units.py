"""Amounts with units: what is meant is taken, what could mean two things is refused."""

from __future__ import annotations

import pytest

from penstock.errors import ArgumentError
from penstock.units import parse_bytes, parse_rate


@pytest.mark.parametrize(
    ("text", "expected"),
    [("0", 0), ("12", 12), ("12B", 12), ("2GiB", 2 << 30), ("2 gib", 2 << 30), ("0.5MiB", 1 << 19), ("3kB", 3000)],
)
def test_amounts_are_read_as_written(text: str, expected: int) -> None:
    assert parse_bytes(text) == expected


@pytest.mark.parametrize("amount", ["", "GiB", "2G", "2iB", "-1MB", "1e9", "2 GiB/s", -1, True, 1.5])
def test_what_is_no_amount_is_refused_with_an_example(amount: object) -> None:
    with pytest.raises(ArgumentError, match="'8GiB'"):
        parse_bytes(amount)  # type: ignore[arg-type]  # the wrong type is the case


@pytest.mark.parametrize("amount", ["200MB", "fast/s", 0, -5.0])
def test_what_is_no_rate_is_refused_with_an_example(amount: float | str) -> None:
    with pytest.raises(ArgumentError, match="'200MB/s'"):
        parse_rate(amount)
