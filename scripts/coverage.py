"""Measure which lines of native code the tests and the fuzz corpora run. `make coverage` calls it.

python -m scripts.coverage [--jobs N] [--missing FOLDER] [--report-only] [-- pytest arguments]

Everything is built by GCC with --coverage into build/coverage: the extension, the programs of tests/native and the fuzz
targets. Then run: the fast tier with that extension in place of the installed one, the claims of the programs, and
every file of the corpora and seeds. gcov counts lines; a line has run if it ran in any of these. Processes that tests
start use the installed extension and count nothing: some are killed, which would leave half a count behind.
"""

from __future__ import annotations

import argparse
import gzip
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "coverage"
CORPUS = ROOT / "fuzz" / "corpus"
PROGRAMS = ("codecs_test", "engine_test", "pipeline_test", "pixels_test")
GOALS = {"native/codecs": 90.0}
"""Least share of lines, in percent. Below it the command fails."""
OTHER_BUILD = ("tests/unit/test_hardening.py",)
"""Tests of how the installed extension is compiled: they say nothing about this one."""

Lines = dict[str, dict[int, int]]
"""Number of runs of each line of each file."""


class CoverageError(Exception):
    """Error message for the person at the terminal."""


@dataclass(frozen=True)
class Share:
    """Lines of a file or folder, and how many of them ran."""

    ran: int
    lines: int

    @property
    def percent(self) -> float:
        """Share of lines that ran; 100 without lines."""
        return 100.0 * self.ran / self.lines if self.lines else 100.0


def main(arguments: Sequence[str]) -> int:
    """Build, run and print; 1 if tests fail or a folder is below its goal."""
    parser = argparse.ArgumentParser(description="Measure line coverage of native code.")
    parser.add_argument("--jobs", type=int, default=2, help="Number of parallel processes.")
    parser.add_argument("--missing", metavar="FOLDER", help="Also list the lines of a folder or file that never ran.")
    parser.add_argument("--report-only", action="store_true", help="Print the counts of the last run.")
    parser.add_argument("pytest_arguments", nargs="*")
    options = parser.parse_args(arguments)
    try:
        if not options.report_only:
            build(options.jobs)
            clear_counts()
            run_all(options.jobs, options.pytest_arguments)
        found = count_lines()
    except CoverageError as error:
        print(f"coverage: {error}", file=sys.stderr)
        return 1
    print(report(found))
    if options.missing:
        print(missing(found, options.missing))
    below = {folder: goal for folder, goal in GOALS.items() if by_folder(found)[folder].percent < goal}
    for folder, goal in below.items():
        print(f"coverage: {folder} is below {goal:.0f} %: `make coverage MISSING={folder}` lists the lines")
    return 1 if below else 0


def build(jobs: int) -> None:
    """Compile everything that counts lines."""
    nanobind = importlib.import_module("nanobind").cmake_dir()
    configure = [
        *("cmake", "-S", str(ROOT), "-B", str(BUILD), "-DCMAKE_BUILD_TYPE=None", "-DPENSTOCK_COVERAGE=ON"),
        *("-DPENSTOCK_HARDEN=OFF", "-DPENSTOCK_TESTS=ON", "-DPENSTOCK_FUZZ=ON", "-DPENSTOCK_FUZZ_SANITIZER=none"),
        *("-DPENSTOCK_FUZZ_ENGINE=penstock_replay", "-DPENSTOCK_PYTHON=ON", f"-Dnanobind_DIR={nanobind}"),
        f"-DPython_EXECUTABLE={sys.executable}",
    ]
    targets = ["_native", "fuzz_targets", *PROGRAMS]
    BUILD.mkdir(parents=True, exist_ok=True)
    for command in (configure, ["cmake", "--build", str(BUILD), "--parallel", str(jobs), "--target", *targets]):
        done = subprocess.run(command, capture_output=True, text=True, env=_environment())
        if done.returncode != 0:
            raise CoverageError(f"`{' '.join(command)}` failed:\n{done.stdout[-4000:]}{done.stderr[-4000:]}")


def extension() -> Path:
    """Say where the extension that counts lines is."""
    return BUILD / "native" / f"_native{sysconfig.get_config_var('EXT_SUFFIX')}"


def clear_counts() -> None:
    """Forget what earlier runs counted."""
    for file in BUILD.rglob("*.gcda"):
        file.unlink()


def run_all(jobs: int, pytest_arguments: Sequence[str]) -> None:
    """Run the corpora, the native claims and the fast tier."""
    from fuzz.seeds import write_seeds

    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        seeds = Path(folder)
        write_seeds(seeds)
        for name in ("jpeg", "transcode"):
            _checked([str(BUILD / "fuzz" / "jpeg_seeds"), str(seeds / name)])
        for program in sorted((BUILD / "fuzz").glob("fuzz_*")):
            target = program.name.removeprefix("fuzz_")
            inputs = [path for base in (CORPUS, seeds) for path in sorted((base / target).glob("*"))]
            _checked([str(program), *map(str, inputs)])
    for name in PROGRAMS:
        program = BUILD / "tests" / "native" / name
        listed = subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout
        for claim in listed.split():
            _checked([str(program), claim])
    ignored = [f"--ignore={path}" for path in OTHER_BUILD]
    tests = [sys.executable, "-m", "pytest", "-q", "--no-header", "-p", "scripts.coverage_plugin"]
    tests += ["--dist", "loadgroup", "-n", str(jobs)]
    done = subprocess.run([*tests, "-m", "not long", *ignored, *pytest_arguments], cwd=ROOT, env=_environment())
    if done.returncode != 0:
        raise CoverageError("tests failed with the extension that counts lines (above)")


def count_lines() -> Lines:
    """Ask gcov for the counts of all object files; a header counts in each of them."""
    found: defaultdict[str, defaultdict[int, int]] = defaultdict(lambda: defaultdict(int))
    notes = sorted((BUILD / "native").rglob("*.gcno"))
    if not notes:
        raise CoverageError("nothing was built to count lines\n  fix:   make coverage")
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        _checked([_gcov(), "--json-format", *map(str, notes)], folder)
        for file in Path(folder).glob("*.gcov.json.gz"):
            merge(found, json.loads(gzip.decompress(file.read_bytes()))["files"])
    return {file: dict(lines) for file, lines in found.items()}


def merge(found: defaultdict[str, defaultdict[int, int]], files: Iterable[Mapping[str, object]]) -> None:
    """Add the counts of one object file, for files of native/ alone.

    >>> found = defaultdict(lambda: defaultdict(int))
    >>> lines = [{"line_number": 3, "count": 2}, {"line_number": 4, "count": 0}]
    >>> merge(found, [{"file": str(ROOT / "native/a.cpp"), "lines": lines}])
    >>> merge(found, [{"file": "/usr/include/b.h", "lines": lines}])
    >>> {name: dict(counts) for name, counts in found.items()}
    {'native/a.cpp': {3: 2, 4: 0}}
    """
    for file in files:
        place = os.path.relpath(
            os.path.realpath(str(file["file"])), ROOT
        )  # includes go through links in the build folder
        lines = file["lines"]
        if place.startswith("native/") and isinstance(lines, list):
            for line in lines:
                found[place][line["line_number"]] += line["count"]


def share_of(lines: Mapping[int, int]) -> Share:
    """Count the lines that ran.

    >>> share_of({3: 2, 4: 0})
    Share(ran=1, lines=2)
    """
    return Share(sum(count > 0 for count in lines.values()), len(lines))


def by_folder(found: Lines) -> dict[str, Share]:
    """Add up the files of each folder.

    >>> by_folder({"native/a/x.h": {1: 1}, "native/a/y.h": {1: 0, 2: 5}})
    {'native/a': Share(ran=2, lines=3)}
    """
    folders: defaultdict[str, list[Share]] = defaultdict(list)
    for file in sorted(found):
        folders[str(Path(file).parent)].append(share_of(found[file]))
    return {name: Share(sum(s.ran for s in each), sum(s.lines for s in each)) for name, each in folders.items()}


def report(found: Lines) -> str:
    """Format one line per folder, then the files below the goal of their folder."""
    rows = [
        f"{share.percent:6.1f} %  {share.ran:6,} of {share.lines:6,} lines  {name}"
        for name, share in by_folder(found).items()
    ]
    for file, lines in sorted(found.items()):
        goal = GOALS.get(str(Path(file).parent), 0.0)
        if share_of(lines).percent < goal:
            share = share_of(lines)
            rows.append(f"  {share.percent:6.1f} %  {share.ran:4,} of {share.lines:4,}  {file}")
    return "\n".join(rows)


def missing(found: Lines, place: str) -> str:
    """List ranges of lines that never ran, by file.

    >>> missing({"native/a/x.h": {1: 1, 4: 0, 5: 0, 9: 0}}, "native/a")
    'native/a/x.h: 4-5 9'
    """
    rows = []
    for file, lines in sorted(found.items()):
        never = sorted(number for number, count in lines.items() if count == 0)
        if never and (file == place or file.startswith(place.rstrip("/") + "/")):
            rows.append(f"{file}: {' '.join(_ranges(never))}")
    return "\n".join(rows)


def _ranges(numbers: Sequence[int]) -> list[str]:
    """Join neighbours to ranges.

    >>> _ranges([1, 2, 3, 7])
    ['1-3', '7']
    """
    found: list[list[int]] = []
    for number in numbers:
        if found and found[-1][-1] == number - 1:
            found[-1][-1] = number
        else:
            found.append([number, number])
    return [str(begin) if begin == end else f"{begin}-{end}" for begin, end in found]


def _gcov() -> str:
    """Return the gcov of the build's compiler, because their formats change together."""
    values = (BUILD / "CMakeCache.txt").read_text()
    compiler = re.search(r"^CMAKE_CXX_COMPILER:\w+=(.+)$", values, re.MULTILINE)
    asked = [compiler[1] if compiler else "c++", "-dumpversion"]
    version = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.split(".")[0]
    found = shutil.which(f"gcov-{version}") or shutil.which("gcov")
    if found is None:
        raise CoverageError("gcov is missing: it comes with GCC\n  fix:   sudo apt-get install -y gcc")
    return found


def _environment() -> dict[str, str]:
    """Return an environment with this environment's CMake and tools."""
    return {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


def _checked(command: Sequence[str], folder: str | None = None) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace")
    if done.returncode != 0:
        raise CoverageError(f"`{' '.join(command[:3])} …` failed:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
