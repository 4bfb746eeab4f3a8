"""Runs the part of the long test tier that a change touches.

python -m scripts.touched [--base REVISION] [--groups] [-- pytest arguments]

A change is what differs from the base, files not committed yet included. The base is where this branch left
origin/main; on main itself, where nothing differs from it, the last commit's parent.
"""

from __future__ import annotations

import subprocess
import sys
from argparse import ArgumentParser
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


BROWSER = "tests/unit/lab/test_browser.py"
ARM64 = "tests/story/test_arm64.py"
ROUND_TRIP = "tests/story/test_round_trip.py"
WHEEL = "tests/story/test_wheel.py"
FRAMEWORKS = "tests/story/test_frameworks.py"
DISK_FAULTS = "tests/stress/test_disk_faults.py"
ALLOCATIONS = "tests/stress/test_native_allocations.py"
RACES = "tests/stress/test_races.py"
FUZZ = "tests/hostile/test_fuzz.py"
OSS_FUZZ = "tests/hostile/test_oss_fuzz.py"
FUZZ_ONE = FUZZ + "::test_a_minute_of_fuzzing_finds_nothing[{codec}]"


@dataclass(frozen=True)
class Rule:
    """Files (a `*` also matches `/`) with the long tests that their changes need."""

    files: tuple[str, ...]
    tests: tuple[str, ...]


RULES = (
    Rule(("fuzz/CMakeLists.txt", "fuzz/oss-fuzz/*"), (OSS_FUZZ,)),
    Rule(("native/base/*", "native/codecs/co*", "native/codecs/decode*", "fuzz/*"), (FUZZ,)),
    Rule(("native/codecs/co*", "native/codecs/decode*", "tests/native/codecs*"), ("tests/unit/codecs/test_native.py",)),
    Rule(
        ("native/codecs/jpeg_back*", "native/codecs/jpeg_strips*", "tests/native/jpeg_back*"),
        ("tests/unit/codecs/test_native.py",),
    ),
    Rule(
        ("native/codecs/jpeg*",),
        tuple(FUZZ_ONE.format(codec=target) for target in ("pjpeg", "restore", "transcode")),
    ),
    Rule(("native/codecs/*metadata*", "native/codecs/*embed*"), (FUZZ_ONE.format(codec="metadata"),)),
    Rule(
        ("src/penstock/documents.py", "src/penstock/plan/*", "src/penstock/profile/profile_values.py"),
        (FUZZ_ONE.format(codec="documents"),),
    ),
    Rule(
        ("src/penstock/records/*", "native/engine/*", "src/penstock/load/*"),
        tuple(FUZZ_ONE.format(codec=target) for target in ("dataset", "index", "manifest")),
    ),
    Rule(
        ("src/penstock/sources/*",),
        tuple(FUZZ_ONE.format(codec=target) for target in ("pcr", "tar")),
    ),
    Rule(("native/*", "src/penstock/codecs/*"), ("tests/parity",)),
    Rule(
        ("native/CMakeLists.txt", "native/base/*", "native/*_neon*", "native/codecs/weir*", "scripts/arm64.py"),
        (ARM64,),
    ),
    Rule(("native/base/*", "native/records/*", "native/storage/*", "tests/native/*"), (ALLOCATIONS,)),
    Rule(("native/base/*", "native/bindings/*", "tests/native/planted_race.cpp", "tests/races.py"), (RACES,)),
    Rule(("native/engine/*", "src/penstock/load/*"), ("tests/stress", "tests/unit/engine", "tests/unit/load")),
    Rule(("src/penstock/order/*",), ("tests/stress/test_promises.py", "tests/unit/load")),
    Rule(
        ("src/penstock/kernels/*", "src/penstock/torch/*", "scripts/kernels.py"),
        ("tests/unit/kernels", "tests/unit/torch"),
    ),
    Rule(
        (
            "examples/*",
            "requirements/frameworks.txt",
            "src/penstock/jax/*",
            "src/penstock/load/loader.py",
            "src/penstock/torch/loader.py",
        ),
        (FRAMEWORKS,),
    ),
    Rule(
        ("native/records/*", "native/storage/*", "src/penstock/records/*", "src/penstock/build/*"),
        ("tests/story/test_formats.py", "tests/stress/test_build_faults.py", "tests/unit/records"),
    ),
    Rule(
        (
            "native/export/*",
            "native/records/*",
            "native/storage/*",
            "src/penstock/build/*",
            "src/penstock/export/*",
            "src/penstock/storage/*",
            "tests/disk_harness.py",
            "tests/native/disk_shim.c",
            "tests/power_cut.py",
        ),
        (DISK_FAULTS,),
    ),
    Rule(
        ("requirements/vision.txt", "src/penstock/functions/*", "src/penstock/transforms/functions.py"),
        ("tests/unit/load", "tests/unit/torch"),
    ),
    Rule(("native/pixels/*", "src/penstock/transforms/*"), ("tests/parity", "tests/unit/transforms")),
    Rule(
        ("src/penstock/auto/*", "src/penstock/doctor/*", "src/penstock/profile/*", "src/penstock/plan/*"),
        ("tests/unit/cli/test_auto.py", "tests/unit/cli/test_doctor.py", "tests/unit/doctor"),
    ),
    Rule(("native/synth/*", "src/penstock/synth/*"), ("tests/unit/synth",)),
    Rule(("src/penstock/lab/*", "src/penstock/torch/*"), ("tests/unit/lab",)),
    Rule(("src/penstock/report/*", "scripts/browser.py"), (BROWSER,)),
    Rule(
        (
            "native/export/*",
            "native/records/*",
            "src/penstock/build/*",
            "src/penstock/export/*",
            "src/penstock/sources/*",
        ),
        (ROUND_TRIP,),
    ),
    Rule(
        ("CMakeLists.txt", "native/CMakeLists.txt", "pyproject.toml", "requirements/*", "scripts/wheel.py"),
        (WHEEL,),
    ),
)
# A codec's own files call for its own fuzz target alone: a minute instead of all of them.
# What set-up must add before these can run.
GROUPS = {ARM64: "arm64", BROWSER: "browser", FRAMEWORKS: "frameworks", FUZZ: "fuzz", OSS_FUZZ: "fuzz", WHEEL: "wheel"}

FUZZ_PARTS = {
    "l3": ("l3_round_trip",),
    "png": ("png_round_trip",),
    "sluice": ("sluice_round_trip", "sluice_tile"),
    "weir": ("weir_header", "weir_round_trip", "weir_tile"),
}
CODECS = ("bmp", "jpeg", "l3", "pjpeg", "png", "pnm", "raw", "sluice", "tiff", "webp", "weir")


def main(arguments: list[str]) -> int:
    """Select and run; 0 also when the change touches nothing of the long tier."""
    parser = ArgumentParser(description="Run the long tests that a change touches.")
    parser.add_argument("--base", default=None, help="Revision to compare with.")
    parser.add_argument("--groups", action="store_true", help="Print only the groups that scripts.setup must add.")
    parser.add_argument("pytest_arguments", nargs="*")
    options = parser.parse_args(arguments)
    base = options.base or find_base()
    tests = [test for test in long_tests(changed_files(base)) if (ROOT / test.partition("::")[0]).exists()]
    if options.groups:
        print(*sorted({group for file, group in GROUPS.items() if any(_covers(test, file) for test in tests)}))
        return 0
    if not tests or _run_pytest(["--collect-only", "-q", *tests], quiet=True) != 0:
        print(f"test-touched: the change since {base[:12]} touches nothing of the long tier")
        return 0
    print(f"test-touched: since {base[:12]}: {' '.join(tests)}", flush=True)
    return _run_pytest([*options.pytest_arguments, *tests])


def long_tests(changed: list[str]) -> list[str]:
    """List the folders and files whose long tests the changed files need.

    >>> long_tests(["requirements/pins.txt", "README.md"])
    ['tests/story/test_wheel.py']
    >>> long_tests(["native/codecs/png_unfilter.cpp", "tests/unit/test_layers.py"])[0]
    'tests/hostile/test_fuzz.py::test_a_minute_of_fuzzing_finds_nothing[png]'
    """
    tests = {file for file in changed if fnmatch(file, "tests/*test_*.py")}
    for rule in RULES:
        if any(fnmatch(file, pattern) for file in changed for pattern in rule.files):
            tests.update(rule.tests)
    for codec in CODECS:
        if any(fnmatch(file, f"{place}/codecs/{codec}[._]*") for file in changed for place in ("native", "src/*")):
            tests.update(FUZZ_ONE.format(codec=target) for target in (codec, *FUZZ_PARTS.get(codec, ())))
    return sorted(test for test in tests if not any(wider in tests for wider in _wider(test)))


def find_base() -> str:
    """Return the commit that this work started from."""
    head = _git("rev-parse", "HEAD")
    fork = _git("merge-base", "HEAD", "origin/main")
    if fork and fork != head:
        return fork
    # A tree without a parent commit (a shallow clone, the very first commit) is new as a whole.
    return _git("rev-parse", "--verify", "HEAD~1") or _git("hash-object", "-t", "tree", "/dev/null")


def changed_files(base: str) -> list[str]:
    """List the paths that differ from `base`, committed or not."""
    names = _git("diff", "--name-only", base).splitlines()
    return sorted({*names, *_git("ls-files", "--others", "--exclude-standard").splitlines()})


def _covers(test: str, file: str) -> bool:
    """Return whether running `test` (a folder, a file, or one test of it) runs a part of `file`."""
    path = Path(test.partition("::")[0])
    return path == Path(file) or path in Path(file).parents


def _wider(test: str) -> list[str]:
    """Return the file and folders that a test is in."""
    file = test.partition("::")[0]
    return [str(parent) for parent in Path(file).parents] + [file] * (file != test)


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


def _run_pytest(arguments: list[str], *, quiet: bool = False) -> int:
    command = [sys.executable, "-m", "pytest", "-m", "long", *arguments]
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL if quiet else None).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
