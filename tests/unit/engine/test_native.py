"""The claims of tests/native/engine_test.cpp, plain in the fast tier and under sanitizers in the long one."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SOURCE = ROOT / "tests" / "native" / "engine_test.cpp"
CLAIMS = re.findall(r"^CLAIM\((\w+)\)", SOURCE.read_text(), re.MULTILINE)
SANITIZERS = ["thread", "address,undefined"]


@cache
def built(sanitizer: str) -> Path:
    """The test program, built beside the extension; quick when nothing changed."""
    folder = ROOT / "build" / f"tests-{sanitizer.replace(',', '-') or 'plain'}"
    folder.mkdir(parents=True, exist_ok=True)
    cmake = shutil.which("cmake", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    assert cmake, "cmake builds the native tests: install it beside Python or on PATH"
    configure = [cmake, "-S", str(ROOT), "-B", str(folder), "-DPENSTOCK_PYTHON=OFF", "-DPENSTOCK_TESTS=ON"]
    build = [cmake, "--build", str(folder), "--target", "engine_test"]
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for command in ([*configure, f"-DPENSTOCK_SANITIZE={sanitizer}"], build):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stdout + done.stderr
    return folder / "tests" / "native" / "engine_test"


def run(program: Path, *arguments: str) -> str:
    environment = {**os.environ, "TSAN_OPTIONS": "halt_on_error=1"}
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("claim", CLAIMS)
def test_claim_holds(claim: str) -> None:
    run(built(""), claim)


@pytest.mark.long
@pytest.mark.parametrize("sanitizer", SANITIZERS)
def test_claims_hold_under_sanitizers(sanitizer: str) -> None:
    program = built(sanitizer)
    claims = run(program).split()

    assert set(claims) <= set(CLAIMS)
    assert len(claims) >= len(CLAIMS) - 1, "the claim about address space is left out, no other"
    for claim in claims:
        for _ in range(3):
            run(program, claim)
