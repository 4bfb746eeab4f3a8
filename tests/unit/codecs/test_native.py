"""The claims about codecs over memory that changes, under a sanitizer."""

from __future__ import annotations

import pytest

from tests.native_programs import built, claims_of, run


@pytest.mark.long
@pytest.mark.timeout(2400)  # every codec, compiled for the sanitizer
def test_claims_hold_under_a_sanitizer() -> None:
    program = built("codecs_test", "address,undefined")
    claims = run(program).split()

    assert claims == claims_of("codecs_test")
    for claim in claims:
        run(program, claim)
