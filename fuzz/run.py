"""Builds the fuzz targets with sanitizers and runs them. `make fuzz` calls it.

python -m fuzz.run [--seconds N] [--keep] [TARGET…]

A target is the name of a codec, whose decoder it watches, or one of `PARTS`.

Inputs that reach new code grow in build/fuzz/corpus; findings stay in build/fuzz/findings, with the line that repeats
each. `--keep` then reduces what was learned into fuzz/corpus, which is committed.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from fuzz.seeds import write_seeds
from scripts.system import FUZZ_PACKAGES, clang_can_fuzz, clang_suffix, install_command

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "fuzz"
SEEDS = BUILD / "seeds"
LEARNED = BUILD / "corpus"
FINDINGS = BUILD / "findings"
KEPT = ROOT / "fuzz" / "corpus"

PARTS = ("l3_round_trip", "png_round_trip", "weir_header", "weir_round_trip", "weir_tile")
"""Targets that are not a whole decoder; their inputs are not image files."""

MAX_INPUT_BYTES = 10_000
MAX_KEPT_FILES = 55
LIMITS = ("-rss_limit_mb=2048", "-malloc_limit_mb=512", "-timeout=10", f"-max_len={MAX_INPUT_BYTES}")


class FuzzError(Exception):
    """Why nothing could be run, and what to do about it."""


def main(arguments: list[str]) -> int:
    """Run the targets one after another; 1 if one of them found something."""
    parser = argparse.ArgumentParser(description="Fuzz the codecs.")
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("--keep", action="store_true", help="reduce what was learned into fuzz/corpus")
    parser.add_argument("targets", nargs="*", help="all of them, if none is named")
    options = parser.parse_args(arguments)
    try:
        build()
        chosen = options.targets or targets()
        findings = {target: run(target, options.seconds) for target in chosen}
        if options.keep:
            for target in chosen:
                print(f"{target}: kept {keep(target)} files", flush=True)
    except FuzzError as error:
        print(f"fuzz: {error}", file=sys.stderr)
        return 1
    return 1 if any(findings.values()) else 0


def targets() -> list[str]:
    """Names of all targets: the native codecs', `tiff`, and the parts."""
    return sorted([*(binary.name.removeprefix("fuzz_") for binary in (BUILD / "fuzz").glob("fuzz_*")), "tiff"])


def build() -> None:
    """Compile the native targets and write the seeds; quick the second time, and safe in several processes."""
    if not clang_can_fuzz():
        raise FuzzError(f"clang or its sanitizers are missing\n  fix:   {install_command(FUZZ_PACKAGES)}")
    suffix = clang_suffix()
    BUILD.mkdir(parents=True, exist_ok=True)
    configure = [
        *("cmake", "-S", str(ROOT), "-B", str(BUILD)),
        *(f"-DCMAKE_CXX_COMPILER=clang++{suffix}", f"-DCMAKE_C_COMPILER=clang{suffix}"),
        *("-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DPENSTOCK_FUZZ=ON", "-DPENSTOCK_PYTHON=OFF"),
    ]
    with (BUILD / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for command in (configure, ["cmake", "--build", str(BUILD), "--parallel", "2"]):
            done = subprocess.run(command, capture_output=True, text=True, env=_environment())
            if done.returncode != 0:
                raise FuzzError(f"`{' '.join(command)}` failed:\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
        write_seeds(SEEDS)


def run(target: str, seconds: int) -> list[Path]:
    """Run one target; what it found, if anything."""
    learned, seeds, kept, findings = (base / target for base in (LEARNED, SEEDS, KEPT, FINDINGS))
    for folder in (learned, seeds, kept, findings):
        folder.mkdir(parents=True, exist_ok=True)
    known = set(findings.iterdir())
    report = _libfuzzer(target, f"-max_total_time={seconds}", f"-artifact_prefix={findings}/", learned, kept, seeds)
    found = sorted(set(findings.iterdir()) - known)
    print(f"{target}: {_last_count(report.stderr)}", flush=True)
    if report.returncode != 0 and not found:
        raise FuzzError(f"{target} stopped (code {report.returncode}), nothing found:\n{report.stderr[-3000:]}")
    for finding in found:
        print(f"{target}: FOUND {finding}\n{report.stderr[-4000:]}\n  repeat: {' '.join(_command(target))} {finding}")
    return found


def keep(target: str) -> int:
    """Reduce learned and kept inputs to few small files of the same coverage; how many they are."""
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        reduced = Path(folder)
        inputs = (base / target for base in (KEPT, SEEDS, LEARNED))
        report = _libfuzzer(target, "-set_cover_merge=1", reduced, *inputs)
        if report.returncode != 0:
            raise FuzzError(f"the corpus of {target} could not be merged:\n{report.stderr[-3000:]}")
        # The cover comes in no useful order: of too many files every n-th by size is kept, early refusals and whole
        # images alike.
        files = sorted(reduced.iterdir(), key=lambda file: (file.stat().st_size, file.name))
        files = files[:: -(-len(files) // MAX_KEPT_FILES)]
        shutil.rmtree(KEPT / target)
        (KEPT / target).mkdir()
        for file in files:
            shutil.copy(file, KEPT / target / file.name)
        return len(files)


def _libfuzzer(target: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [*_command(target), *LIMITS, *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, errors="replace", env=_environment())


def _command(target: str) -> list[str]:
    if target == "tiff":
        return [str(ROOT / "fuzz" / "tiff.py")]
    return [str(BUILD / "fuzz" / f"fuzz_{target}")]


def _environment() -> dict[str, str]:
    """CMake and the Python of `fuzz/tiff.py` are this environment's."""
    tools = str(Path(sys.executable).parent)
    sanitizer = "allocator_may_return_null=1:detect_leaks=1"
    return {**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}", "ASAN_OPTIONS": sanitizer}


def _last_count(report: str) -> str:
    lines = [line for line in report.splitlines() if line.startswith("Done ") or "cov:" in line]
    return lines[-1].strip() if lines else "no report"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
