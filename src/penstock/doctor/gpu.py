"""Utilisation of the GPUs from `nvidia-smi`, once a second; nothing without that program."""

from __future__ import annotations

import os
import shutil
import subprocess
from types import TracebackType

QUERY = ("--query-gpu=utilization.gpu", "--format=csv,noheader,nounits", "--loop=1")


class GpuMeter:
    """Meter of all GPUs of the machine inside a `with` block. Read it now and then, so that its pipe never fills."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._said = b""

    def __enter__(self) -> GpuMeter:
        program = shutil.which("nvidia-smi")
        if program is not None:
            self._process = subprocess.Popen([program, *QUERY], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            assert self._process.stdout is not None
            os.set_blocking(self._process.stdout.fileno(), False)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
            assert self._process.stdout is not None
            self._process.stdout.close()

    def look(self) -> float | None:
        """Return the mean over time and GPUs so far, from 0 to 1; None if no GPU was seen."""
        if self._process is not None and self._process.stdout is not None:
            self._said += self._process.stdout.read() or b""
        return mean_share(self._said.decode(errors="replace"))


def mean_share(text: str) -> float | None:
    r"""Compute the mean of percentages, one per line, as a share; None without any.

    >>> mean_share("80\n100\n[N/A]\n"), mean_share("no devices were found")
    (0.9, None)
    """
    values = [float(line) for line in map(str.strip, text.splitlines()) if line.replace(".", "", 1).isdigit()]
    return sum(values) / len(values) / 100 if values else None
