"""Name the fuzz targets, and build the native ones with a sanitizer.

`address` is AddressSanitizer and UndefinedBehaviorSanitizer; `memory` is MemorySanitizer, with the C libraries
instrumented too (fuzz/libraries.py). Targets that are Python run without a sanitizer, beside those of `address`.
"""

from __future__ import annotations

import fcntl
import os
import re
import subprocess
import sys
from pathlib import Path

from fuzz.libraries import build_libraries, memory_suffix
from fuzz.seeds import write_seeds
from scripts.system import FUZZ_PACKAGES, clang_can_fuzz, clang_suffix, install_command

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "fuzz"
SEEDS = BUILD / "seeds"
PYTHON_FOLDER = ROOT / "fuzz" / "python"

NATIVE_PARTS = (
    *("l3_round_trip", "metadata", "png_round_trip", "restore", "transcode"),
    *("sluice_round_trip", "sluice_tile", "weir_header", "weir_round_trip", "weir_tile"),
)
READERS = ("dataset", "documents", "index", "manifest", "pcr", "tar")
PARTS = tuple(sorted((*NATIVE_PARTS, *READERS)))
"""Targets that are not a whole decoder; not all of their inputs are image files."""
PYTHON = ("tiff", *READERS)
"""Targets that are Python, driven by atheris."""

SANITIZERS = ("address", "memory")


class FuzzError(Exception):
    """Reason why nothing could be run, and what to do about it."""


def build(sanitizer: str = "address") -> None:
    """Compile the native targets and write the seeds; quick the second time, and safe in several processes."""
    if not clang_can_fuzz():
        raise FuzzError(f"clang or its sanitizers are missing\n  fix:   {install_command(FUZZ_PACKAGES)}")
    folder = build_folder(sanitizer)
    folder.mkdir(parents=True, exist_ok=True)
    with (BUILD / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for command in _build_commands(sanitizer):
            done = subprocess.run(command, capture_output=True, text=True, env=environment(sanitizer))
            if done.returncode != 0:
                raise FuzzError(f"`{' '.join(command)}` failed:\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
        write_seeds(SEEDS)
        for target in ("jpeg", "restore", "sluice_round_trip", "transcode"):
            subprocess.run([str(folder / "fuzz" / "jpeg_seeds"), str(SEEDS / target)], check=True)


def build_folder(sanitizer: str) -> Path:
    """Return the build folder of a sanitizer's targets."""
    return BUILD if sanitizer == "address" else BUILD / sanitizer


def targets(sanitizer: str = "address") -> list[str]:
    """List the names of all targets that are built."""
    native = [binary.name.removeprefix("fuzz_") for binary in (build_folder(sanitizer) / "fuzz").glob("fuzz_*")]
    return sorted([*native, *(PYTHON if sanitizer == "address" else ())])


def all_targets(sanitizer: str = "address") -> list[str]:
    """List the names of all targets, built or not: a codec each, and the parts."""
    table = (ROOT / "native" / "codecs" / "table.cpp").read_text(encoding="utf-8")
    codecs = re.findall(r"&([a-z0-9_]+)_codec\(\)", table)
    return sorted([*codecs, *NATIVE_PARTS, *(PYTHON if sanitizer == "address" else ())])


def command_of(target: str, sanitizer: str = "address") -> list[str]:
    """Return the program of a target, to which libFuzzer's arguments are added."""
    if target in PYTHON:
        return [str(PYTHON_FOLDER / f"{target}.py")]
    return [str(build_folder(sanitizer) / "fuzz" / f"fuzz_{target}")]


def environment(sanitizer: str = "address") -> dict[str, str]:
    """Return an environment with this environment's CMake and Python."""
    tools = str(Path(sys.executable).parent)
    found = {
        **os.environ,
        "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "ASAN_OPTIONS": "allocator_may_return_null=1:detect_leaks=1",
        "MSAN_OPTIONS": "allocator_may_return_null=1",
    }
    if sanitizer == "memory":
        found["PKG_CONFIG_LIBDIR"] = str(build_libraries(BUILD / "libraries") / "lib" / "pkgconfig")
    return found


def _build_commands(sanitizer: str) -> list[list[str]]:
    suffix = clang_suffix() if sanitizer == "address" else memory_suffix()
    folder = str(build_folder(sanitizer))
    configure = [
        *("cmake", "-S", str(ROOT), "-B", folder),
        *(f"-DCMAKE_CXX_COMPILER=clang++{suffix}", f"-DCMAKE_C_COMPILER=clang{suffix}"),
        *("-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DPENSTOCK_FUZZ=ON", "-DPENSTOCK_PYTHON=OFF"),
        *(f"-DPENSTOCK_FUZZ_SANITIZER={sanitizer}", f"-DPENSTOCK_FUZZ_LIBCXX={BUILD / 'libraries' / 'memory'}"),
    ]
    # Of the memory's, only what the targets need: the other layers are threads and files around the codecs.
    parts = [] if sanitizer == "address" else ["--target", "fuzz_targets"]
    return [configure, ["cmake", "--build", folder, "--parallel", "2", *parts]]
