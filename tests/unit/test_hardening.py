"""How the extension was built: an overflow in code that parses hostile bytes ends the process."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from penstock import _native

EXTENSION = Path(str(_native.__file__))


def readelf(what: str) -> str:
    """What binutils, which come with every compiler, say of the extension."""
    program = shutil.which("readelf")
    assert program, "readelf is part of binutils, which the compiler needs too"
    return subprocess.run([program, "--wide", what, EXTENSION], capture_output=True, text=True, check=True).stdout


def test_functions_with_arrays_have_canaries() -> None:
    assert "__stack_chk_fail" in readelf("--dyn-syms")


def test_calls_of_the_c_library_check_lengths() -> None:
    checked = set(re.findall(r"__(\w+)_chk\b", readelf("--dyn-syms")))

    assert {"memcpy", "longjmp"} & checked, checked


def test_relocations_are_read_only_before_any_code_runs() -> None:
    assert "GNU_RELRO" in readelf("--segments")
    assert re.search(r"BIND_NOW|Flags:.*\bNOW\b", readelf("--dynamic"))


def test_the_stack_is_not_executable() -> None:
    stack = re.search(r"GNU_STACK.*", readelf("--segments"))

    assert stack is not None
    assert "RWE" not in stack.group()


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the instruction is x86-64's")
def test_targets_of_indirect_jumps_are_marked() -> None:
    """Functions begin with endbr64. The linker notes it only if the C runtime has it too: not on every system."""
    assert EXTENSION.read_bytes().count(b"\xf3\x0f\x1e\xfa") > 1000
