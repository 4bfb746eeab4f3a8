"""The build script for OSS-Fuzz, run as OSS-Fuzz runs it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fuzz.targets import PYTHON
from penstock.codecs.table import BUILTIN
from scripts.system import clang_suffix

ROOT = Path(__file__).parents[2]


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_its_build_script_makes_targets_that_run(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "penstock").symlink_to(ROOT)
    flags = "-O1 -fno-omit-frame-pointer -fsanitize=address,fuzzer-no-link"
    tools = str(Path(sys.executable).parent)
    environment = {
        **os.environ,
        "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
        **{"SRC": str(tmp_path / "src"), "OUT": str(tmp_path / "out"), "WORK": str(tmp_path / "work")},
        **{"CC": f"clang{clang_suffix()}", "CXX": f"clang++{clang_suffix()}", "CFLAGS": flags, "CXXFLAGS": flags},
        "LIB_FUZZING_ENGINE": "-fsanitize=fuzzer",
    }
    built = subprocess.run([str(ROOT / "fuzz/oss-fuzz/build.sh")], env=environment, capture_output=True, text=True)
    assert built.returncode == 0, built.stdout[-3000:] + built.stderr[-3000:]
    found = {path.name for path in (tmp_path / "out").iterdir()}
    for name in [codec.name for codec in BUILTIN if codec.name not in PYTHON] + ["restore", "transcode", "metadata"]:
        assert {f"fuzz_{name}", f"fuzz_{name}_seed_corpus.zip", f"fuzz_{name}.options"} <= found
    corpus = tmp_path / "corpus"
    shutil.unpack_archive(tmp_path / "out" / "fuzz_png_seed_corpus.zip", corpus)
    run = subprocess.run([str(tmp_path / "out" / "fuzz_png"), "-runs=0", str(corpus)], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[-2000:]
