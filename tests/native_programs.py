"""Builds the programs of tests/native/ and runs their claims."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]


def claims_of(program: str) -> list[str]:
    """The claims of a program, as its source lists them."""
    source = ROOT / "tests" / "native" / f"{program}.cpp"
    return re.findall(r"^CLAIM\((\w+)\)", source.read_text(), re.MULTILINE)


@cache
def built(program: str, sanitizer: str = "") -> Path:
    """A program, built beside the extension; quick when nothing changed."""
    folder = ROOT / "build" / f"tests-{sanitizer.replace(',', '-') or 'plain'}"
    folder.mkdir(parents=True, exist_ok=True)
    cmake = shutil.which("cmake", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    assert cmake, "cmake builds the native tests: install it beside Python or on PATH"
    configure = [cmake, "-S", str(ROOT), "-B", str(folder), "-DPENSTOCK_PYTHON=OFF", "-DPENSTOCK_TESTS=ON"]
    build = [cmake, "--build", str(folder), "--parallel", "2", "--target", program]
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for command in ([*configure, f"-DPENSTOCK_SANITIZE={sanitizer}"], build):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stdout + done.stderr
    return folder / "tests" / "native" / program


def run(program: Path, *arguments: str) -> str:
    """What it prints, given that it succeeds; without arguments it lists its claims."""
    environment = {**os.environ, "TSAN_OPTIONS": "halt_on_error=1"}
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
