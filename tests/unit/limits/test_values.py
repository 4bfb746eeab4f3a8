"""How limits are written."""

from __future__ import annotations

import pytest

from penstock.errors import ArgumentError
from penstock.limits import NO_LIMITS, Limits, parse_limits


@pytest.mark.parametrize("text", ["disk=200MB/s,memory=1.0GiB,cores=2", "reads=100/s", "cores=1", "disk=60MB/s"])
def test_limits_are_written_as_they_are_read(text: str) -> None:
    assert str(parse_limits(text)) == text


def test_no_text_means_no_limits() -> None:
    assert parse_limits("") == NO_LIMITS
    assert str(NO_LIMITS) == "none"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("disc=1MB/s", "no limit"),
        ("disk", "no limit"),
        ("disk=1MB/s,disk=2MB/s", "twice"),
        ("disk=200MB", "200MB/s"),
        ("memory=lots", "8GiB"),
        ("cores=two", "whole number"),
        ("reads=many", "per second"),
        ("cores=0", "too little to run"),
    ],
)
def test_a_wrong_limit_is_refused_by_name(text: str, what: str) -> None:
    with pytest.raises(ArgumentError, match=what):
        parse_limits(text)


def test_a_limit_of_nothing_is_refused() -> None:
    with pytest.raises(ArgumentError, match="memory_bytes"):
        Limits(memory_bytes=0)
