"""Control groups of both versions: creates a group with limits below the current one, and removes it.

A group is a folder of the kernel. If it cannot be made (no permission, no controller, a container), this is not an
error: the caller falls back and says so.
"""

from __future__ import annotations

import os
import signal
import time
import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from penstock.limits.limit_values import Limits

MOUNT = Path("/sys/fs/cgroup")
REMOVE_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Group:
    """Folder of one hierarchy, with the limits that it enforces."""

    folder: Path
    version: str
    limits: frozenset[str]
    """Limits that the group enforces: some of `memory`, `disk`, `cores`."""

    @property
    def members(self) -> Path:
        """File that takes the id of a process that joins."""
        return self.folder / "cgroup.procs"

    def remove(self) -> None:
        """Kill the remaining processes of the group and remove it. Warn if that takes more than ten seconds."""
        end = time.monotonic() + REMOVE_SECONDS
        while True:
            try:
                self.folder.rmdir()
            except FileNotFoundError:
                return
            except OSError as error:
                if time.monotonic() > end:
                    text = f"the control group {self.folder} could not be removed: {error.strerror}"
                    warnings.warn(text, RuntimeWarning, stacklevel=2)
                    return
                self._kill_members()
                time.sleep(0.02)  # the kernel needs a moment to remove them
            else:
                return

    def _kill_members(self) -> None:
        with suppress(OSError):
            for number in map(int, self.members.read_text().split()):
                with suppress(ProcessLookupError):
                    if number > 0:  # 0 means a process that this container cannot see; kill(0) would hit our own group
                        os.kill(number, signal.SIGKILL)


def make_groups(name: str, limits: Limits, device: str | None) -> list[Group]:
    """Make groups called `name` that enforce as many of the limits as permitted.

    `device` is the disk as `major:minor`, or None if it is unknown.
    """
    groups: list[Group] = []
    for controller, version, parent in hierarchies():
        held = frozenset().union(*(group.limits for group in groups)) if groups else frozenset()
        settings = {kind: lines for kind, lines in _settings(controller, limits, device).items() if kind not in held}
        if settings:
            made = _make(parent / name, version, settings)
            if made is not None:
                groups.append(made)
    return groups


def hierarchies() -> Iterator[tuple[str, str, Path]]:
    """Yield (controller, version, folder of our group) for every mounted hierarchy; "" stands for version 2."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        number, controllers, path = line.split(":", 2)
        own = PurePosixPath(path).relative_to("/")
        if number == "0":
            for mount in (MOUNT, MOUNT / "unified"):
                if (mount / "cgroup.controllers").exists():
                    yield "", "cgroup v2", mount / own
        else:
            for controller in controllers.split(","):
                for mount in (MOUNT / controllers, MOUNT / controller):
                    if (mount / own).is_dir():
                        yield controller, "cgroup v1", mount / own
                        break


def _settings(controller: str, limits: Limits, device: str | None) -> dict[str, list[tuple[str, str]]]:
    """Return the lines to write into each file, by kind of limit."""
    makers = {"memory": _memory_v1, "blkio": _disk_v1, "cpuset": _cores_v1}
    if controller in makers:
        made = makers[controller](limits, device)
        return {kind: lines for kind, lines in made.items() if lines}
    return _version_2(limits, device) if controller == "" else {}


def _memory_v1(limits: Limits, _: str | None) -> dict[str, list[tuple[str, str]]]:
    if limits.memory_bytes is None:
        return {}
    return {"memory": [("memory.limit_in_bytes", str(limits.memory_bytes)), ("memory.swappiness", "0")]}


def _disk_v1(limits: Limits, device: str | None) -> dict[str, list[tuple[str, str]]]:
    if device is None:
        return {}
    lines = []
    if limits.disk_bytes_per_second is not None:
        lines.append(("blkio.throttle.read_bps_device", f"{device} {limits.disk_bytes_per_second:.0f}"))
    if limits.disk_reads_per_second is not None:
        lines.append(("blkio.throttle.read_iops_device", f"{device} {limits.disk_reads_per_second:.0f}"))
    return {"disk": lines}


def _cores_v1(limits: Limits, _: str | None) -> dict[str, list[tuple[str, str]]]:
    chosen = chosen_cores(limits)
    if chosen is None:
        return {}
    return {"cores": [("cpuset.mems", _memory_nodes()), ("cpuset.cpus", ",".join(map(str, chosen)))]}


def _version_2(limits: Limits, device: str | None) -> dict[str, list[tuple[str, str]]]:
    found: dict[str, list[tuple[str, str]]] = {}
    if limits.memory_bytes is not None:
        found["memory"] = [("memory.max", str(limits.memory_bytes)), ("memory.swap.max", "0")]
    rates = []
    if limits.disk_bytes_per_second is not None:
        rates.append(f"rbps={limits.disk_bytes_per_second:.0f}")
    if limits.disk_reads_per_second is not None:
        rates.append(f"riops={limits.disk_reads_per_second:.0f}")
    if rates and device is not None:
        found["disk"] = [("io.max", f"{device} {' '.join(rates)}")]
    chosen = chosen_cores(limits)
    if chosen is not None:
        found["cores"] = [("cpuset.cpus", ",".join(map(str, chosen)))]
    return found


def chosen_cores(limits: Limits) -> list[int] | None:
    """Return the cores of a limited run: the first of those that this process may use."""
    if limits.cores is None:
        return None
    return sorted(os.sched_getaffinity(0))[: limits.cores]


def _memory_nodes() -> str:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("Mems_allowed_list:"):
            return line.split(":", 1)[1].strip()
    return "0"


def _make(folder: Path, version: str, settings: dict[str, list[tuple[str, str]]]) -> Group | None:
    """Make a group with the limits that the kernel accepts; None if it accepts none."""
    try:
        folder.mkdir()
    except OSError:
        return None
    held = frozenset(kind for kind, lines in settings.items() if _write(folder, lines))
    group = Group(folder, version, held)
    if held:
        return group
    group.remove()
    return None


def _write(folder: Path, lines: list[tuple[str, str]]) -> bool:
    try:
        for file, text in lines:
            if file == "memory.swap.max" and not (folder / file).exists():
                continue  # a machine without swap
            (folder / file).write_text(text)
    except OSError:
        return False
    return True
