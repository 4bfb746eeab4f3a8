"""Closing, abandoning, forking and ending while threads load: no data race in native code, under ThreadSanitizer."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.native_programs import ROOT, built_extension, thread_sanitizer
from tests.races import LOADING

RACE = 66
"""The exit code of a process in which ThreadSanitizer found something."""
# Python and NumPy are not compiled for it: what they hand to memcpy and the like is not looked at. Their locks are, the
# interpreter's among them.
OPTIONS = f"halt_on_error=1:exitcode={RACE}:ignore_noninstrumented_modules=1"

pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(2400),  # the extension is compiled for the sanitizer
    pytest.mark.xdist_group("thread-sanitizer"),
]


def _run(scenario: str, place: Path) -> subprocess.CompletedProcess[str]:
    extension = built_extension("thread")
    settings = {
        "LD_PRELOAD": str(thread_sanitizer()),
        "TSAN_OPTIONS": OPTIONS,
        "OPENBLAS_NUM_THREADS": "1",
    }
    command = ["env", *(f"{name}={value}" for name, value in settings.items())]
    command += [sys.executable, "-m", "tests.races", scenario, str(extension), str(place)]
    # Its map of memory does not go with the random addresses of newer kernels.
    fixed = [shutil.which("setarch") or "setarch", "-R"]
    if subprocess.run([*fixed, "true"], check=False, capture_output=True).returncode == 0:
        command = fixed + command
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, timeout=600)


@pytest.fixture(scope="module")
def planted_race(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("c++") or shutil.which("g++")
    assert compiler, "a C++ compiler builds the extension, and this: install one"
    built = tmp_path_factory.mktemp("planted") / "planted_race.so"
    source = ROOT / "tests" / "native" / "planted_race.cpp"
    subprocess.run([compiler, "-O1", "-g1", "-fsanitize=thread", "-shared", "-fPIC", "-o", built, source], check=True)
    return built


@pytest.mark.parametrize("scenario", LOADING)
def test_threads_of_a_loader_do_not_race(scenario: str, tmp_path: Path) -> None:
    done = _run(scenario, tmp_path / "images")

    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    assert "ThreadSanitizer" not in done.stderr


def test_a_race_in_native_code_is_found(planted_race: Path) -> None:
    done = _run("planted", planted_race)

    assert done.returncode == RACE
    assert "data race" in done.stderr
    assert "count_together" in done.stderr


def test_what_the_interpreter_lock_guards_is_no_race(planted_race: Path) -> None:
    done = _run("planted-locked", planted_race)

    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
