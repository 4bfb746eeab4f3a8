"""What this machine has: its processor, and the memory that this process may use (cgroup limits included).

A disk that it only pretends to have is told here too, to the readers that hold its limit.
"""

from __future__ import annotations

import platform
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from penstock import _native


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes of memory; `limit_bytes` is the cgroup's, None if it sets none below `total_bytes`."""

    total_bytes: int
    limit_bytes: int | None
    available_bytes: int
    """What can be allocated now without swapping or being killed."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What speed depends on; printed by `penstock info` and written beside every benchmark."""

    cpu: str
    cores: int
    """Usable by this process: affinity and cgroup quota included."""
    memory: Memory
    simd: str
    """The path in use."""
    best_simd: str
    system: str


def this_machine() -> Machine:
    """Look at the machine this process runs on."""
    return Machine(
        cpu=cpu_model(),
        cores=_native.usable_cores(),
        memory=memory(),
        simd=_native.simd_path(),
        best_simd=_native.best_simd_path(),
        system=f"{platform.system()} {platform.release()} {platform.machine()}",
    )


EMULATED_DISK = "PENSTOCK_EMULATED_DISK"
"""The variable by which a limited run (`penstock.limits`) tells Penstock's readers what no control group holds."""


@dataclass(frozen=True, slots=True)
class EmulatedDisk:
    """A slower disk than there is, per second; None leaves bytes or requests as they are."""

    bytes_per_second: float | None
    reads_per_second: float | None

    def as_text(self) -> str:
        """As the variable has it."""
        return f"{self.bytes_per_second or 0:.0f},{self.reads_per_second or 0:g}"

    @classmethod
    def of_text(cls, text: str) -> EmulatedDisk | None:
        """The way back; None without a limit.

        >>> EmulatedDisk.of_text("100000000,0")
        EmulatedDisk(bytes_per_second=100000000.0, reads_per_second=None)
        """
        rates = [float(word) or None for word in text.split(",")] if text else []
        return cls(rates[0], rates[1]) if any(rates) else None


def cpu_model(root: Path = Path("/")) -> str:
    """The processor's name as the kernel gives it."""
    for line in read_lines(root / "proc/cpuinfo"):
        key, _, value = line.partition(":")
        if key.strip() in ("model name", "Model", "cpu model"):
            return " ".join(value.split())
    return platform.processor() or platform.machine()


def memory(root: Path = Path("/")) -> Memory:
    """Memory of the machine and of the cgroups, version 1 or 2, that this process is in."""
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
    """Folders of the cgroups this process is in, innermost first. Each of them may set a limit."""
    mount = root / "sys/fs/cgroup"
    for line in read_lines(root / "proc/self/cgroup"):
        number, controllers, path = line.split(":", 2)
        if number == "0":
            folders = [mount, mount / "unified"]
        elif "memory" in controllers.split(","):
            folders = [mount / "memory"]
        else:
            continue
        # Inside a container the path may be the host's, which is not mounted here: its missing folders are passed over.
        own = PurePosixPath(path.strip().lstrip("/"))
        for folder in folders:
            yield from (folder / part for part in (own, *own.parents) if (folder / part).is_dir())


def _used_bytes(group: Path) -> int:
    """What the cgroup holds and cannot drop: pages of files that were only read do not count."""
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
    """The lines of a file of the kernel; none if it is not there or not for us."""
    try:
        return Path(path).read_text(errors="replace").splitlines()
    except OSError:
        return []
