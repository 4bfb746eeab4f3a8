"""The claims about threads, queues and the pipeline: the quick ones, and all of them under sanitizers."""

from __future__ import annotations

import pytest

from tests.native_programs import built, claims_of, run

SANITIZERS = ["thread", "address,undefined"]


@pytest.mark.parametrize("claim", claims_of("engine_test"))
def test_claim_holds(claim: str) -> None:
    run(built("engine_test"), claim)


@pytest.mark.long
@pytest.mark.timeout(2400)  # the pipeline brings every codec along, compiled for the sanitizer
@pytest.mark.parametrize("sanitizer", SANITIZERS)
@pytest.mark.parametrize("name", ["engine_test", "pipeline_test"])
def test_claims_hold_under_sanitizers(sanitizer: str, name: str) -> None:
    program = built(name, sanitizer)
    claims = run(program).split()

    assert set(claims) <= set(claims_of(name))
    assert len(claims) >= len(claims_of(name)) - 1, "the claim about address space is left out, no other"
    for claim in claims:
        for _ in range(3):
            run(program, claim)
