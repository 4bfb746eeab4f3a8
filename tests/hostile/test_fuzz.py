"""A minute of fuzzing for every decoder, under AddressSanitizer and UndefinedBehaviorSanitizer."""

from __future__ import annotations

import pytest

from fuzz.run import build, codecs, run
from penstock.codecs.table import BUILTIN

CODECS = sorted(codec.name for codec in BUILTIN)


@pytest.fixture(scope="module")
def targets() -> list[str]:
    build()
    return codecs()


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("codec", CODECS)
def test_a_minute_of_fuzzing_finds_nothing(targets: list[str], codec: str) -> None:
    assert codec in targets
    assert run(codec, 60) == []
