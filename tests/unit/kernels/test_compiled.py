"""The kernels compile for real accelerators, without one, spill nothing, and need what the page about them says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest
import triton

from scripts import accelerators
from tests.import_graph import ROOT

QUICK = "weir:fast 1x8"


def compiled(only: str) -> list[dict[str, Any]]:
    """What the script says in a process of its own: here, kernels have been imported to be interpreted."""
    environment = {**os.environ, "TRITON_INTERPRET": "0", "TRITON_CACHE_DIR": str(ROOT / "build" / "triton")}
    command = [sys.executable, "-W", "ignore", "-m", "scripts.kernels", "--only", only]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def check(usages: list[dict[str, Any]]) -> None:
    assert {usage["architecture"] for usage in usages} == {"sm_80", "sm_90"}
    assert [usage for usage in usages if usage["spilled_bytes"]] == []
    if triton.__version__ == accelerators.results()["triton"]:
        recorded = accelerators.results()["usages"]
        assert [usage for usage in usages if usage not in recorded] == [], "run `python -m scripts.kernels --record`"


@pytest.mark.long
def test_the_smallest_kernel_compiles_for_sm_80_and_sm_90() -> None:
    check(compiled(QUICK))


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_every_kernel_compiles_for_sm_80_and_sm_90() -> None:
    usages = compiled("")
    check(usages)
    assert len(usages) == len(accelerators.results()["usages"])
