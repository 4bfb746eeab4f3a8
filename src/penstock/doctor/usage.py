"""Processor and disk use of a command and its children while they run, from /proc."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from penstock.machine import read_lines


@dataclass(frozen=True, slots=True)
class Usage:
    """Totals since the start."""

    cpu_seconds: float
    disk_bytes: int
    """Read from a disk, not from the page cache."""


class TreeMeter:
    """Meter of a process and its descendants. A process that ended counts up to its last reading."""

    def __init__(self, root: int) -> None:
        self._root = root
        self._seen: dict[int, Usage] = {}
        self._tick = os.sysconf("SC_CLK_TCK")

    def look(self) -> Usage:
        """Read the counters of all processes now."""
        for process in self._tree():
            used = self._used(process)
            if used is not None:
                self._seen[process] = used
        return Usage(
            sum(used.cpu_seconds for used in self._seen.values()), sum(used.disk_bytes for used in self._seen.values())
        )

    def anonymous_bytes(self) -> int:
        """Return the current memory of all processes that no file backs, which a memory limit must leave free."""
        # Proportional: pages that forked workers still share with their parent count once.
        lines = [line for process in self._tree() for line in read_lines(f"/proc/{process}/smaps_rollup")]
        return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss_Anon:"))

    def _tree(self) -> list[int]:
        found, waiting = [], [self._root]
        while waiting:
            process = waiting.pop()
            found.append(process)
            for task in _numbers(f"/proc/{process}/task"):
                waiting += [
                    int(child) for child in " ".join(read_lines(f"/proc/{process}/task/{task}/children")).split()
                ]
        return found

    def _used(self, process: int) -> Usage | None:
        stat = "".join(read_lines(f"/proc/{process}/stat")).rpartition(")")[2].split()
        if len(stat) < 15:
            return None
        io = dict(line.split(": ", 1) for line in read_lines(f"/proc/{process}/io") if ": " in line)
        return Usage((int(stat[11]) + int(stat[12])) / self._tick, int(io.get("read_bytes", 0)))


def _numbers(folder: str) -> list[int]:
    try:
        return [int(entry.name) for entry in Path(folder).iterdir() if entry.name.isdecimal()]
    except OSError:
        return []
