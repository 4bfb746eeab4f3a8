"""Run libFuzzer for a number of CPU seconds.

CPU time is what a fuzzer works with. Wall time would also count the time of other programs, on a busy machine or at a
low priority.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

POLL_SECONDS = 0.2
GRACE_SECONDS = 30.0
"""CPU seconds that a process may use after it was asked to end."""


@dataclass(frozen=True)
class Report:
    """Output and cost of a process."""

    code: int
    output: str
    cpu_seconds: float
    wall_seconds: float

    @property
    def runs(self) -> int:
        """Number of inputs that libFuzzer ran, from its last status line; 0 if it printed none."""
        counts = re.findall(r"^#(\d+)\t|^stat::number_of_executed_units: +(\d+)", self.output, re.MULTILINE)
        return max((int(status or total) for status, total in counts), default=0)


def run_process(
    command: Sequence[str],
    environment: Mapping[str, str],
    folder: Path,
    cpu_seconds: float | None = None,
    grace_seconds: float = GRACE_SECONDS,
) -> Report:
    """Run a program. After `cpu_seconds`, ask it to end (SIGUSR1, as libFuzzer expects); kill it later if need be."""
    began = time.monotonic()
    with tempfile.TemporaryFile() as output:
        # Both streams in one: atheris prints a traceback to one of them, libFuzzer to the other.
        process = subprocess.Popen(command, cwd=folder, stdout=output, stderr=subprocess.STDOUT, env=dict(environment))
        asked = False
        while True:
            pid, status, usage = os.wait4(process.pid, 0 if cpu_seconds is None else os.WNOHANG)
            if pid:
                break
            assert cpu_seconds is not None
            used = _cpu_seconds_of(process.pid)
            if used >= cpu_seconds + grace_seconds:
                process.kill()
            elif used >= cpu_seconds and not asked:
                process.send_signal(signal.SIGUSR1)
                asked = True
            time.sleep(POLL_SECONDS)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read().decode(errors="replace")
    return Report(process.returncode, text, usage.ru_utime + usage.ru_stime, time.monotonic() - began)


def _cpu_seconds_of(pid: int) -> float:
    """Return the CPU seconds that a child process has used so far; it may have ended, but was not waited for yet."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
