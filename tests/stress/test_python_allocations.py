"""Allocations of the extension fail under `build` and `Loader`: an error that says so or a right result, no hang."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.native_programs import ROOT

NUM_POINTS = 10_000
FAST_STEP = 41
"""The fast tier takes every so many points."""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("c++") or shutil.which("g++")
    assert compiler, "a C++ compiler builds the extension, and this: install one"
    built = tmp_path_factory.mktemp("preload") / "failing_native.so"
    source = ROOT / "tests" / "failing_native.cpp"
    subprocess.run([compiler, "-std=c++20", "-O1", "-shared", "-fPIC", "-o", built, source], check=True)
    return built


def _fail(job: str, step: int, library: Path, folder: Path) -> tuple[int, int, int]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.failing_native", job, "1", str(NUM_POINTS), str(step), str(folder)],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, "LD_PRELOAD": str(library)},
    )
    assert done.returncode == 0, done.stderr
    found = re.fullmatch(r"allocations (\d+) points (\d+) errors (\d+)\n", done.stdout)
    assert found, done.stdout
    allocations, points, errors = map(int, found.groups())
    return allocations, points, errors


@pytest.mark.parametrize("job", ["build", "epochs"])
def test_some_allocations_may_fail(job: str, library: Path, tmp_path: Path) -> None:
    allocations, points, errors = _fail(job, FAST_STEP, library, tmp_path)

    assert allocations > 300
    assert points >= allocations // FAST_STEP
    assert errors > points / 3, "a failed allocation is seldom without consequence"


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("job", ["build", "epochs"])
def test_every_allocation_may_fail(job: str, library: Path, tmp_path: Path) -> None:
    allocations, points, errors = _fail(job, 1, library, tmp_path)

    assert points == min(allocations, NUM_POINTS)
    assert errors > points / 3
