"""A thread of a loader can report an error when the process is out of memory.

glibc allocates a thread's copy of a library's thread-local variables at their first use, for example when the thread
throws its first C++ exception, and ends the process if that allocation fails.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.native_programs import ROOT

LOADING = """
import ctypes, pathlib, sys
import penstock

files = sorted(pathlib.Path(sys.argv[1]).rglob("*.png"))
loader = penstock.Loader(sys.argv[1], batch_size=4, threads=2, cache="none", on_error="skip")
assert sum(len(batch["id"]) for batch in loader) == len(files)

ctypes.CDLL(None).penstock_refuse_thread_locals()
for file in files:
    file.write_bytes(file.read_bytes()[:60] + bytes(file.stat().st_size - 60))
print("loaded", sum(len(batch["id"]) for batch in loader), "failed", loader.stats()["num_failed_samples"])
"""


@pytest.fixture
def shim(tmp_path: Path) -> Path:
    compiler = shutil.which("cc") or shutil.which("gcc")
    assert compiler, "a C compiler builds the extension's libraries, and this: install one"
    built = tmp_path / "thread_locals_shim.so"
    source = ROOT / "tests" / "native" / "thread_locals_shim.c"
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", built, source, "-ldl"], check=True)
    return built


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="about glibc")
def test_a_thread_that_gets_no_thread_local_memory_can_still_report_errors(
    folder: Path, shim: Path, tmp_path: Path
) -> None:
    images = shutil.copytree(folder, tmp_path / "images")
    done = subprocess.run(
        [sys.executable, "-c", LOADING, images],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "LD_PRELOAD": str(shim)},
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == ["loaded", "0", "failed", "50"]
