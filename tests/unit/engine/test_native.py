"""The claims of tests/native: of the thread pool in the fast tier, and all of them under sanitizers in the long one."""

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
SOURCES = ROOT / "tests" / "native"
SANITIZERS = ["thread", "address,undefined"]


def claims_of(program: str) -> list[str]:
    return re.findall(r"^CLAIM\((\w+)\)", (SOURCES / f"{program}.cpp").read_text(), re.MULTILINE)


@cache
def built(sanitizer: str, name: str = "engine_test") -> Path:
    """A test program, built beside the extension; quick when nothing changed."""
    folder = ROOT / "build" / f"tests-{sanitizer.replace(',', '-') or 'plain'}"
    folder.mkdir(parents=True, exist_ok=True)
    cmake = shutil.which("cmake", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    assert cmake, "cmake builds the native tests: install it beside Python or on PATH"
    configure = [cmake, "-S", str(ROOT), "-B", str(folder), "-DPENSTOCK_PYTHON=OFF", "-DPENSTOCK_TESTS=ON"]
    build = [cmake, "--build", str(folder), "--parallel", "2", "--target", name]
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for command in ([*configure, f"-DPENSTOCK_SANITIZE={sanitizer}"], build):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stdout + done.stderr
    return folder / "tests" / "native" / name


def run(program: Path, *arguments: str) -> str:
    environment = {**os.environ, "TSAN_OPTIONS": "halt_on_error=1"}
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("claim", claims_of("engine_test"))
def test_claim_holds(claim: str) -> None:
    run(built(""), claim)


@pytest.mark.long
@pytest.mark.timeout(2400)  # the pipeline brings every codec along, compiled for the sanitizer
@pytest.mark.parametrize("sanitizer", SANITIZERS)
@pytest.mark.parametrize("name", ["engine_test", "pipeline_test"])
def test_claims_hold_under_sanitizers(sanitizer: str, name: str) -> None:
    program = built(sanitizer, name)
    claims = run(program).split()

    assert set(claims) <= set(claims_of(name))
    assert len(claims) >= len(claims_of(name)) - 1, "the claim about address space is left out, no other"
    for claim in claims:
        for _ in range(3):
            run(program, claim)
