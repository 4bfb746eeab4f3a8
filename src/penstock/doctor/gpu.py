"""How busy the accelerators are, as `nvidia-smi` tells it once a second; nothing where there is no such program."""

from __future__ import annotations

import os
import shutil
import subprocess
from types import TracebackType

QUERY = ("--query-gpu=utilization.gpu", "--format=csv,noheader,nounits", "--loop=1")


class GpuMeter:
    """Samples all GPUs of the machine from `with` to its end; looked at now and then, it never fills its pipe."""

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
        """The mean over time and GPUs so far, from 0 to 1; None if no GPU was seen."""
        if self._process is not None and self._process.stdout is not None:
            self._said += self._process.stdout.read() or b""
        return mean_share(self._said.decode(errors="replace"))


def mean_share(text: str) -> float | None:
    r"""The mean of percentages, one a line; None without any.

    >>> mean_share("80\n100\n[N/A]\n"), mean_share("no devices were found")
    (0.9, None)
    """
    values = [float(line) for line in map(str.strip, text.splitlines()) if line.replace(".", "", 1).isdigit()]
    return sum(values) / len(values) / 100 if values else None
