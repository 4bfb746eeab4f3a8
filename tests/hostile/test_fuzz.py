"""A minute of fuzzing for every target under AddressSanitizer and UndefinedBehaviorSanitizer."""

from __future__ import annotations

import pytest

from fuzz.run import run
from fuzz.targets import PARTS, build
from fuzz.targets import targets as built_targets
from penstock.codecs.table import BUILTIN

TARGETS = sorted([*(codec.name for codec in BUILTIN), *PARTS])


@pytest.fixture(scope="module")
def targets() -> list[str]:
    build()
    return built_targets()


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("target", TARGETS)
def test_a_minute_of_fuzzing_finds_nothing(targets: list[str], target: str) -> None:
    assert target in targets
    assert run(target, 60) == []
