"""The package builds for 64-bit ARM and its codecs keep their promises there, under emulation."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path

import pytest

from scripts import arm64
from scripts.system import SetupError, missing_packages
from tests.import_graph import ROOT

pytestmark = [pytest.mark.long, pytest.mark.timeout(2400), pytest.mark.xdist_group("arm64")]


def debian_python() -> str:
    """The version of the distribution's own Python, whose copy for ARM is emulated; "" elsewhere than on Debian."""
    release = Path("/etc/os-release").read_text(encoding="utf-8")
    if "\nID=debian\n" not in f"\n{release}":
        return ""
    shown = subprocess.run(["apt-cache", "depends", "python3-minimal"], capture_output=True, text=True).stdout
    return next((word.removeprefix("python").removesuffix("-minimal") for word in shown.split() if "3." in word), "")


@pytest.fixture(scope="module")
def built() -> None:
    """The cross-compiled package; skips, except in CI, where this machine cannot make it."""
    reason = ""
    if platform.machine() != "x86_64" or debian_python() != arm64.VERSION:
        reason = f"needs an x86-64 Debian whose own Python is {arm64.VERSION}"
    elif missing := missing_packages(["arm64"]):
        reason = f"needs the packages {' '.join(missing)} (`make test-all` installs them)"
    if reason and os.environ.get("CI") == "true":
        pytest.fail(reason)
    if reason:
        pytest.skip(reason)
    try:
        arm64.build()
    except SetupError as error:
        pytest.fail(str(error))


def run_on_arm(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = arm64.python_command(*arguments)
    return subprocess.run(command, cwd=ROOT, env=arm64.environment(), capture_output=True, text=True)


def run_tests_on_arm(*tests: str) -> subprocess.CompletedProcess[str]:
    return run_on_arm("-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not long", *tests)


@pytest.mark.usefixtures("built")
def test_arm_runs_the_neon_path_and_has_the_plain_one() -> None:
    code = "import platform, penstock._native as native; print(platform.machine(), *native.simd_paths())"

    assert run_on_arm("-c", code).stdout.split() == ["aarch64", "portable", "neon"]


@pytest.mark.usefixtures("built")
def test_info_shows_the_neon_path_on_arm() -> None:
    assert "SIMD path  neon" in run_on_arm("-m", "penstock", "info").stdout


@pytest.mark.usefixtures("built")
def test_neon_equals_plain_code_and_the_reference_on_arm() -> None:
    edges = "tests/hostile/test_guard_page.py"
    # That edge starts a process, which would not be emulated.
    left_out = f"--deselect={edges}::test_a_byte_beyond_really_ends_the_process"
    sluice = "tests/parity/test_sluice.py::test_any_jpeg_decodes_alike_on_every_path"
    parity = ("tests/parity/test_weir.py", "tests/parity/test_jpeg_strips.py", sluice)
    done = run_tests_on_arm(*parity, "tests/unit/base/test_crc32c.py", edges, left_out)

    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-1000:]


@pytest.mark.usefixtures("built")
def test_codecs_pass_their_suite_and_write_the_same_bytes_on_arm() -> None:
    done = run_tests_on_arm("tests/unit/codecs/test_suite.py", "tests/golden")

    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-1000:]
