"""Run a command under limits, and report what enforced them."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from penstock.errors import ArgumentError
from penstock.limits.cgroups import Group, chosen_cores, make_groups
from penstock.limits.limit_values import Limits
from penstock.machine import EMULATED_DISK, EmulatedDisk


@dataclass(frozen=True, slots=True)
class Enforcement:
    """Enforcement of each limit: `cgroup v1`, `cgroup v2`, `affinity`, `readers` or `nothing`; empty if not limited.

    A limit that nothing enforces is reported as well, so that figures measured under it are not trusted blindly.
    """

    memory: str = ""
    disk: str = ""
    cores: str = ""

    def as_dict(self) -> dict[str, str]:
        """Return the resources that are limited, for results and reports."""
        return {name: value for name, value in asdict(self).items() if value}

    def __str__(self) -> str:
        return ", ".join(f"{name} by {value}" for name, value in self.as_dict().items()) or "no limits"


@dataclass(frozen=True, slots=True)
class Completed:
    """Result of a limited command."""

    exit_code: int
    """Exit code of the command; negative for the signal that ended it."""
    stdout: bytes
    stderr: bytes
    """Captured stderr; empty unless `quiet` was set."""
    enforced_by: Enforcement
    peak_memory_bytes: int | None
    """Peak memory of the group, including the page cache; None without a group for memory."""
    disk_bytes_read: int | None
    """Bytes counted by the disk's throttle; None without a group for the disk."""

    @property
    def was_killed_for_memory(self) -> bool:
        """True if the kernel probably killed the command at its memory limit."""
        return self.exit_code == -9 and self.enforced_by.memory.startswith("cgroup")


def run(
    command: Sequence[str],
    limits: Limits,
    *,
    on: str | os.PathLike[str] = ".",
    environment: Mapping[str, str] | None = None,
    timeout_seconds: float | None = None,
    quiet: bool = False,
    on_line: Callable[[bytes], None] | None = None,
) -> Completed:
    r"""Run a command under limits and return its output; its stderr goes to ours unless `quiet` is set.

    Processes that the command leaves behind in a control group are killed when it ends.

    Args:
        command: The program and its arguments.
        limits: Limits of memory, disk and cores.
        on: A file or folder on the disk to limit. If no control group can limit it, `enforced_by.disk` is `readers`:
            Penstock's own readers enforce the limit in all processes of the command; other programs are not limited.
        environment: Environment of the command; the current one by default.
        timeout_seconds: Time after which the command is killed.
        quiet: Capture stderr instead of passing it on.
        on_line: Function that is called with each line of output when it arrives.

    >>> run(["echo", "hello"], Limits(cores=1)).stdout
    b'hello\n'
    """
    if not command:
        raise ArgumentError("there is no command to run", where="limits.run", fix="name a program")
    groups = make_groups(f"penstock-{os.getpid()}-{uuid.uuid4().hex[:12]}", limits, device_of(Path(on)))
    enforced_by = _enforcement(limits, groups)
    launcher = [sys.executable, "-m", "penstock.limits.join", *(str(group.members) for group in groups)]
    cores = chosen_cores(limits)
    if enforced_by.cores == "affinity" and cores is not None:
        launcher.append("--cores=" + ",".join(map(str, cores)))
    try:
        exit_code, output, errors = _execute(
            [*launcher, "--", *command], _environment(environment, limits, enforced_by), timeout_seconds, quiet, on_line
        )
        return Completed(exit_code, output, errors, enforced_by, _peak_memory(groups), _disk_bytes(groups))
    finally:
        for group in groups:
            group.remove()


def _environment(given: Mapping[str, str] | None, limits: Limits, enforced_by: Enforcement) -> dict[str, str]:
    """Return the environment of the command, with a disk limit for the readers if no group enforces it."""
    environment = dict(os.environ if given is None else given)
    if enforced_by.disk == "readers":
        disk = EmulatedDisk(limits.disk_bytes_per_second, limits.disk_reads_per_second)
        environment[EMULATED_DISK] = disk.as_text()
    return environment


def _execute(
    command: list[str],
    environment: dict[str, str],
    timeout_seconds: float | None,
    quiet: bool,
    on_line: Callable[[bytes], None] | None,
) -> tuple[int, bytes, bytes]:
    """Return exit code, output and errors. Stderr goes to a file, so the command never waits for a reader."""
    with tempfile.TemporaryFile() as told:
        child = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=told if quiet else None,
            env=environment,
        )
        with child:
            try:
                if on_line is None:
                    output, _ = child.communicate(timeout=timeout_seconds)
                else:
                    output = b"".join(_each(child, on_line))
            except BaseException:
                child.kill()
                raise
        told.seek(0)
        return child.returncode, output, told.read()


def _each(child: subprocess.Popen[bytes], on_line: Callable[[bytes], None]) -> Iterator[bytes]:
    assert child.stdout is not None
    for line in child.stdout:
        on_line(line)
        yield line


def _enforcement(limits: Limits, groups: list[Group]) -> Enforcement:
    held = {kind: group.version for group in groups for kind in group.limits}
    wants_disk = limits.disk_bytes_per_second is not None or limits.disk_reads_per_second is not None
    return Enforcement(
        memory=held.get("memory", "nothing") if limits.memory_bytes is not None else "",
        disk=held.get("disk", "readers") if wants_disk else "",
        cores=held.get("cores", "affinity") if limits.cores is not None else "",
    )


def device_of(path: Path) -> str | None:
    """Return the whole disk of a path, because throttles cannot limit partitions; None if it has no disk."""
    try:
        number = path.stat().st_dev
    except OSError:
        return None
    device = f"{os.major(number)}:{os.minor(number)}"
    folder = Path("/sys/dev/block") / device
    if not folder.exists():
        return None
    if (folder / "partition").exists():
        return (folder.resolve().parent / "dev").read_text().strip()
    return device


def _peak_memory(groups: list[Group]) -> int | None:
    for group in groups:
        for name in ("memory.max_usage_in_bytes", "memory.peak"):
            if "memory" in group.limits and (group.folder / name).exists():
                return int((group.folder / name).read_text())
    return None


def _disk_bytes(groups: list[Group]) -> int | None:
    for group in groups:
        if "disk" not in group.limits:
            continue
        if group.version == "cgroup v1":
            lines = (group.folder / "blkio.throttle.io_service_bytes").read_text().splitlines()
            return sum(int(line.split()[2]) for line in lines if len(line.split()) == 3 and line.split()[1] == "Read")
        words = (group.folder / "io.stat").read_text().split()
        return sum(int(word.removeprefix("rbytes=")) for word in words if word.startswith("rbytes="))
    return None
