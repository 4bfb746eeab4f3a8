"""Claims about codecs that Python cannot reach, under a sanitizer."""

from __future__ import annotations

import pytest

from tests.native_programs import built, claims_of, run


@pytest.mark.long
@pytest.mark.timeout(2400)  # every codec, compiled for the sanitizer
@pytest.mark.parametrize("name", ["codecs_test", "jpeg_back_test"])
def test_claims_hold_under_a_sanitizer(name: str) -> None:
    program = built(name, "address,undefined")
    claims = run(program).split()

    assert claims == claims_of(name)
    for claim in claims:
        run(program, claim)
