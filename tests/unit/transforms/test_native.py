"""The claims of tests/native/pixels_test.cpp, with every access to memory watched."""

from __future__ import annotations

import pytest

from tests.native_programs import built, claims_of, run


@pytest.mark.long
@pytest.mark.parametrize("claim", claims_of("pixels_test"))
def test_claim_holds(claim: str) -> None:
    run(built("pixels_test", "address"), claim)
