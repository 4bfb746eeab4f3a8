"""Facts about this machine: its processor, and the memory that this process may use, including cgroup limits.

Also holds the limits of an emulated disk, for the readers that enforce them.
"""

from __future__ import annotations

import platform
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from penstock import _native


@dataclass(frozen=True, slots=True)
class Memory:
    """Memory in bytes. `limit_bytes` is the limit of the cgroup, or None if it is not below `total_bytes`."""

    total_bytes: int
    limit_bytes: int | None
    available_bytes: int
    """Memory that can be allocated now without swapping or being killed."""


@dataclass(frozen=True, slots=True)
class Machine:
    """Properties of a machine that affect speed, for `penstock info` and benchmark results."""

    cpu: str
    cores: int
    """Cores that this process may use, by affinity and cgroup quota."""
    memory: Memory
    simd: str
    """SIMD path in use."""
    best_simd: str
    system: str


def this_machine() -> Machine:
    """Describe the machine that this process runs on."""
    return Machine(
        cpu=cpu_model(),
        cores=_native.usable_cores(),
        memory=memory(),
        simd=_native.simd_path(),
        best_simd=_native.best_simd_path(),
        system=f"{platform.system()} {platform.release()} {platform.machine()}",
    )


EMULATED_DISK = "PENSTOCK_EMULATED_DISK"
"""Environment variable with the disk limits of `penstock.limits` that Penstock's readers must enforce themselves."""


@dataclass(frozen=True, slots=True)
class EmulatedDisk:
    """Limits of an emulated disk, per second; None leaves bytes or requests unlimited."""

    bytes_per_second: float | None
    reads_per_second: float | None

    def as_text(self) -> str:
        """Return the limits as the text of the environment variable."""
        return f"{self.bytes_per_second or 0:.0f},{self.reads_per_second or 0:g}"

    @classmethod
    def of_text(cls, text: str) -> EmulatedDisk | None:
        """Parse the text of the environment variable; None if it has no limit.

        >>> EmulatedDisk.of_text("100000000,0")
        EmulatedDisk(bytes_per_second=100000000.0, reads_per_second=None)
        """
        rates = [float(word) or None for word in text.split(",")] if text else []
        return cls(rates[0], rates[1]) if any(rates) else None


def cpu_model(root: Path = Path("/")) -> str:
    """Return the name of the processor from the kernel."""
    for line in read_lines(root / "proc/cpuinfo"):
        key, _, value = line.partition(":")
        if key.strip() in ("model name", "Model", "cpu model"):
            return " ".join(value.split())
    return platform.processor() or platform.machine()


def memory(root: Path = Path("/")) -> Memory:
    """Read the memory of the machine and of the cgroups (version 1 or 2) of this process."""
    kilobytes = {line.split(":")[0]: int(line.split()[1]) for line in read_lines(root / "proc/meminfo") if ":" in line}
    total = kilobytes.get("MemTotal", 0) * 1024
    available = kilobytes.get("MemAvailable", kilobytes.get("MemFree", 0)) * 1024
    limit = total
    for group in _memory_groups(root):
        group_limit = _number(group / "memory.max") or _number(group / "memory.limit_in_bytes")
        if group_limit is None:
            continue
        limit = min(limit, group_limit)
        available = min(available, max(0, group_limit - _used_bytes(group)))
    return Memory(total, limit if limit < total else None, available)


def _memory_groups(root: Path) -> Iterator[Path]:
    """Yield the folders of the cgroups of this process, innermost first. Each may set a limit."""
    mount = root / "sys/fs/cgroup"
    for line in read_lines(root / "proc/self/cgroup"):
        number, controllers, path = line.split(":", 2)
        if number == "0":
            folders = [mount, mount / "unified"]
        elif "memory" in controllers.split(","):
            folders = [mount / "memory"]
        else:
            continue
        # Inside a container the path may be the host's, which is not mounted here: skip its missing folders.
        own = PurePosixPath(path.strip().lstrip("/"))
        for folder in folders:
            yield from (folder / part for part in (own, *own.parents) if (folder / part).is_dir())


def _used_bytes(group: Path) -> int:
    """Return the bytes that the cgroup cannot drop. Pages of files that were only read do not count."""
    used = _number(group / "memory.current") or _number(group / "memory.usage_in_bytes") or 0
    fields = dict(line.split(" ", 1) for line in read_lines(group / "memory.stat") if " " in line)
    droppable = fields.get(
        "total_inactive_file", fields.get("inactive_file", "0")
    )  # the first: version 1, with children
    return max(0, used - int(droppable))


def _number(path: Path) -> int | None:
    words = "".join(read_lines(path)).split()
    return int(words[0]) if words and words[0].isdigit() else None


def read_lines(path: Path | str) -> list[str]:
    """Read the lines of a kernel file; empty if it does not exist or is not readable."""
    try:
        return Path(path).read_text(errors="replace").splitlines()
    except OSError:
        return []
