"""Limits hold for real where control groups are permitted, and say so where they are not."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from penstock.errors import ArgumentError
from penstock.limits import Limits, cgroups, run
from penstock.limits.limit_values import NO_LIMITS

READ_DIRECT = """
import mmap, os, sys
file = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
block = mmap.mmap(-1, 1 << 20)
print(sum(iter(lambda: os.readv(file, [block]), 0)))
"""


def python(code: str, *arguments: str) -> list[str]:
    return [sys.executable, "-c", code, *arguments]


def needs(kind: str, limits: Limits, on: Path) -> None:
    """Skip, with the reason, where no control group can hold a limit."""
    held = getattr(run(["true"], limits, on=on).enforced_by, kind)
    if not held.startswith("cgroup"):
        pytest.skip(f"{kind} is held by {held!r} here: no permission for control groups")


def test_a_command_without_limits_just_runs() -> None:
    done = run(python("print('hello')"), NO_LIMITS)
    assert (done.exit_code, done.stdout, str(done.enforced_by)) == (0, b"hello\n", "no limits")


def test_exit_codes_and_missing_commands_are_told() -> None:
    assert run(python("raise SystemExit(3)"), NO_LIMITS).exit_code == 3
    assert run(["no-such-command-here"], NO_LIMITS).exit_code == 127
    with pytest.raises(ArgumentError, match="no command"):
        run([], NO_LIMITS)


def test_cores_are_limited() -> None:
    done = run(python("import os; print(len(os.sched_getaffinity(0)))"), Limits(cores=1))
    assert done.stdout == b"1\n"
    assert done.enforced_by.cores in ("cgroup v1", "cgroup v2", "affinity")


def test_memory_above_the_limit_kills_and_below_does_not(tmp_path: Path) -> None:
    limits = Limits(memory_bytes=64 << 20)
    needs("memory", limits, tmp_path)
    modest = run(python("bytearray(16 << 20)"), limits)
    greedy = run(python("bytearray(128 << 20)"), limits)
    assert modest.exit_code == 0
    assert modest.peak_memory_bytes is not None
    assert 16 << 20 < modest.peak_memory_bytes <= 64 << 20
    assert greedy.was_killed_for_memory


def test_the_disk_is_throttled_and_counted(tmp_path: Path) -> None:
    limits = Limits(disk_bytes_per_second=16e6)
    needs("disk", limits, tmp_path)
    file = tmp_path / "data"
    file.write_bytes(b"x" * (8 << 20))
    with file.open("rb") as written:
        os.fsync(written.fileno())
    begin = time.monotonic()
    done = run(python(READ_DIRECT, str(file)), limits, on=tmp_path)
    seconds = time.monotonic() - begin
    assert int(done.stdout) == 8 << 20
    assert done.disk_bytes_read is not None
    assert done.disk_bytes_read >= 8 << 20
    assert seconds > 0.8 * (8 << 20) / 16e6  # slower on a busy machine, never faster


def test_without_permission_the_fallback_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroups, "hierarchies", lambda: iter(()))
    limits = Limits(memory_bytes=1 << 30, disk_bytes_per_second=1e8, cores=1)
    done = run(python("import os; print(len(os.sched_getaffinity(0)))"), limits)
    assert str(done.enforced_by) == "memory by nothing, disk by readers, cores by affinity"
    assert done.stdout == b"1\n"


def test_groups_are_gone_afterwards() -> None:
    run(["true"], Limits(memory_bytes=1 << 28, cores=1))
    left = [folder for _, _, parent in cgroups.hierarchies() for folder in parent.glob(f"penstock-{os.getpid()}-*")]
    assert left == []


def test_what_a_command_leaves_behind_is_ended_with_its_groups(tmp_path: Path) -> None:
    limits = Limits(memory_bytes=1 << 28)
    needs("memory", limits, tmp_path)
    done = run(["sh", "-c", "sleep 1000 >/dev/null 2>&1 & echo $!"], limits)
    left = [folder for _, _, parent in cgroups.hierarchies() for folder in parent.glob(f"penstock-{os.getpid()}-*")]

    assert left == []
    assert is_gone(int(done.stdout))


def is_gone(number: int) -> bool:
    """Whether a process has ended; one that nobody has waited for yet counts as ended."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True
