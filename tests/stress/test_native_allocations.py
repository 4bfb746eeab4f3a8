"""Each allocation of native code fails once: an error or a right result, no hang, no leak, and right work after it."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.native_programs import built

NUM_POINTS = 10_000
PARTS = 2
"""Processes that share the points: one a core."""
STEP_FROM_THEN_ON = 7
"""Of runs in which everything fails from a point on, which are alike: every so many points."""


def _run(
    scenario: str, points: range, mode: str, folder: Path, *, seconds: int = 120
) -> subprocess.CompletedProcess[str]:
    arguments = [str(number) for number in (points.start, points.stop - 1, points.step)]
    return subprocess.run(
        [built("allocation_test"), scenario, *arguments, mode, str(seconds)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "TMPDIR": str(folder)},
    )


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize(
    ("scenario", "mode"), [("build", "once"), ("build", "from_then_on"), ("epochs", "once"), ("epochs", "from_then_on")]
)
def test_every_allocation_may_fail(scenario: str, mode: str, part: int, tmp_path: Path) -> None:
    step = PARTS * (1 if mode == "once" else STEP_FROM_THEN_ON)

    done = _run(scenario, range(1 + part, NUM_POINTS + 1, step), mode, tmp_path)

    assert done.returncode == 0, done.stderr
    found = re.fullmatch(r"allocations (\d+) points (\d+) reached (\d+) errors (\d+)\n", done.stdout)
    assert found, done.stdout
    allocations, points, reached, errors = map(int, found.groups())
    assert allocations >= NUM_POINTS
    assert reached >= points * 0.98, "threads share the allocations out otherwise in each run, but not by much"
    assert errors >= reached * 0.5, "a failed allocation is seldom without consequence"


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    ("mistake", "status", "told"),
    [("leak", 1, "blocks were not freed"), ("hang", 3, "a run hangs"), ("loss", 1, "the sum is not right")],
)
def test_a_planted_mistake_is_found(mistake: str, status: int, told: str, tmp_path: Path) -> None:
    done = _run(mistake, range(1, 9), "once", tmp_path, seconds=2)

    assert done.returncode == status
    assert told in done.stderr
    assert "allocation 3 was to fail" in done.stderr, "the mistakes are made when the third one fails"


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_no_mistake_is_no_finding(tmp_path: Path) -> None:
    done = _run("none", range(1, 9), "once", tmp_path)

    assert done.stdout == "allocations 6 points 8 reached 6 errors 6\n", done.stderr
