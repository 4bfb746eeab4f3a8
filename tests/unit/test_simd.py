"""The extension runs on any x86-64: what needs more is compiled apart and entered only on processors that have it."""

from __future__ import annotations

import json
import platform
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from penstock import _native
from tests.import_graph import ROOT

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="x86-64 instruction sets")

WIDE_REGISTERS = {"avx2": re.compile(r"%[yz]mm"), "avx512": re.compile(r"%zmm|%k[1-7]\b|%[xy]mm(?:1[6-9]|2\d|3[01])\b")}


@cache
def build_folder() -> Path:
    """Where the extension of this Python was built."""
    tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
    found = sorted((ROOT / "build").glob(f"{tag}-*/compile_commands.json"))
    assert found, "no build folder of this Python: run `make build`"
    return found[-1].parent


def compiled() -> dict[str, str]:
    """Source files under native/ and the command that compiled each."""
    entries = json.loads((build_folder() / "compile_commands.json").read_text())
    native = str(ROOT / "native")
    return {entry["file"]: entry["command"] for entry in entries if entry["file"].startswith(native)}


def level_of(file: str) -> str:
    """The instruction set that a file's name asks for.

    >>> level_of("png_unfilter_avx2.cpp.o"), level_of("table.cpp")
    ('avx2', '')
    """
    found = re.search(r"_(avx2|avx512)\.cpp", file)
    return found.group(1) if found else ""


def objects() -> list[Path]:
    """Compiled files of the layers; those of bindings/ hold no code before they are linked."""
    return sorted(build_folder().glob("native/CMakeFiles/penstock_*.dir/**/*.o"))


def shared_functions(file: Path) -> set[str]:
    """Functions that a file brings a copy of, of which the linker keeps anybody's: inline ones and templates."""
    lines = subprocess.check_output(["nm", "--defined-only", str(file)], text=True).splitlines()
    return {name for _, kind, name in (line.split(maxsplit=2) for line in lines) if kind == "W"}


def test_no_file_is_compiled_for_the_machine_at_hand() -> None:
    assert [file for file, command in compiled().items() if re.search(r"-m(arch|cpu|tune)=", command)] == []


def test_only_files_named_for_an_instruction_set_are_compiled_for_it() -> None:
    for file, command in compiled().items():
        flags = re.findall(r" -m(avx512|avx|bmi|fma|sse4|ssse3|popcnt|gfni)", command)
        assert not flags or level_of(file), f"{file} is compiled with -m{flags[0]}"
        assert "avx512" not in flags or level_of(file) == "avx512"


def test_wide_registers_are_used_only_where_the_name_says_so() -> None:
    if shutil.which("objdump") is None:
        pytest.skip("objdump (binutils) is missing")
    for file in objects():
        level = level_of(file.name)
        if level == "avx512":
            continue
        code = subprocess.check_output(["objdump", "-d", "--no-show-raw-insn", str(file)], text=True)
        too_wide = WIDE_REGISTERS["avx512" if level else "avx2"].search(code)
        assert not too_wide, f"{file.name} uses {too_wide.group()}"


def test_no_function_compiled_for_more_can_stand_in_for_a_common_one() -> None:
    # The linker keeps one copy of an inline function, from whichever file: an AVX2 copy for all would crash others.
    by_level: dict[str, set[str]] = {"": set(), "avx2": set(), "avx512": set()}
    for file in objects():
        by_level[level_of(file.name)] |= shared_functions(file)
    assert by_level["avx2"] & by_level[""] == set()
    assert by_level["avx512"] & (by_level[""] | by_level["avx2"]) == set()


def test_every_path_of_this_processor_can_be_forced() -> None:
    best = _native.best_simd_path()
    assert _native.simd_paths()[-1] == best
    try:
        for path in _native.simd_paths():
            _native.force_simd_path(path)
            assert _native.simd_path() == path
    finally:
        _native.force_simd_path(best)
