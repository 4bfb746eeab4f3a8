"""Builds the programs of tests/native/ and runs their claims; builds the extension with a sanitizer."""

from __future__ import annotations

import fcntl
import importlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
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
    folder = _build(sanitizer, program, "-DPENSTOCK_PYTHON=OFF", "-DPENSTOCK_TESTS=ON")
    return folder / "tests" / "native" / program


@cache
def built_extension(sanitizer: str) -> Path:
    """The extension for this Python, with a sanitizer; what the programs have in common with it is compiled once."""
    nanobind = importlib.import_module("nanobind").cmake_dir()
    options = ("-DPENSTOCK_PYTHON=ON", f"-DPython_EXECUTABLE={sys.executable}", f"-Dnanobind_DIR={nanobind}")
    return _build(sanitizer, "_native", *options) / "native" / f"_native{sysconfig.get_config_var('EXT_SUFFIX')}"


def thread_sanitizer() -> Path:
    """The runtime of ThreadSanitizer that belongs to the compiler of these builds."""
    values = (_folder("thread") / "CMakeCache.txt").read_text()
    compiler = re.search(r"^CMAKE_CXX_COMPILER:\w+=(.+)$", values, re.MULTILINE)
    assert compiler, "cmake notes the compiler"
    asked = [compiler[1], "-print-file-name=libtsan.so"]
    found = Path(subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip())
    assert found.is_absolute(), f"{compiler[1]} has no libtsan.so: build with GCC"
    return found.resolve()


def _folder(sanitizer: str) -> Path:
    return ROOT / "build" / f"tests-{sanitizer.replace(',', '-') or 'plain'}"


def _build(sanitizer: str, target: str, *options: str) -> Path:
    folder = _folder(sanitizer)
    folder.mkdir(parents=True, exist_ok=True)
    cmake = shutil.which("cmake", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    assert cmake, "cmake builds the native tests: install it beside Python or on PATH"
    configure = [cmake, "-S", str(ROOT), "-B", str(folder), f"-DPENSTOCK_SANITIZE={sanitizer}", *options]
    build = [cmake, "--build", str(folder), "--parallel", "2", "--target", target]
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for command in (configure, build):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stdout + done.stderr
    return folder


def run(program: Path, *arguments: str) -> str:
    """What it prints, given that it succeeds; without arguments it lists its claims."""
    environment = {**os.environ, "TSAN_OPTIONS": "halt_on_error=1"}
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
