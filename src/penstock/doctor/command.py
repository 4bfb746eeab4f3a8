"""Runs a training command unchanged and observes it."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from penstock.doctor.diagnosis import Observed
from penstock.doctor.gpu import GpuMeter
from penstock.doctor.hook import HOOK_FOLDER, VARIABLE
from penstock.doctor.usage import TreeMeter
from penstock.documents import Document
from penstock.errors import ArgumentError
from penstock.machine import this_machine
from penstock.storage import entries_of, read_file

LOOK_SECONDS = 0.2


def watch_command(command: Sequence[str], *, disk_bytes_per_second: float | None = None) -> tuple[int, Observed]:
    """Run a command with our input and output, and return its exit code and the observations."""
    if not command:
        raise ArgumentError(
            "there is no command to run", where="doctor", fix="write `penstock doctor -- python train.py`"
        )
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="penstock-doctor-"))
        begin = time.perf_counter()
        gpu = stack.enter_context(GpuMeter())
        try:
            child = subprocess.Popen(list(command), env=_environment(folder))
        except OSError as cause:
            raise ArgumentError(
                f"could not start {command[0]!r}: {cause.strerror}", where="doctor", fix="check its name and PATH"
            ) from cause
        meter = TreeMeter(child.pid)
        usage = meter.look()
        while True:
            try:
                exit_code = child.wait(LOOK_SECONDS)
                break
            except subprocess.TimeoutExpired:
                usage = meter.look()
                gpu.look()
            except KeyboardInterrupt:
                exit_code = child.wait()  # it got the signal too, and decides how to end
                break
        wall_seconds = time.perf_counter() - begin
        epochs = _read_epochs(Path(folder))
        gpu_share = gpu.look()
    return exit_code, Observed(
        num_batches=sum(epoch.integer("num_batches") for epoch in epochs),
        wait_seconds=sum(epoch.number("wait_seconds") for epoch in epochs),
        step_seconds=sum(epoch.number("step_seconds") for epoch in epochs),
        first_wait_seconds=sum(epoch.number("first_wait_seconds") for epoch in epochs),
        wall_seconds=wall_seconds,
        cpu_seconds=usage.cpu_seconds,
        cores=this_machine().cores,
        disk_bytes=usage.disk_bytes,
        disk_bytes_per_second=disk_bytes_per_second,
        gpu_share=gpu_share,
        num_workers=epochs[0].integer("num_workers") if epochs else None,
        roots=tuple(sorted({epoch.text("root") for epoch in epochs} - {""})),
        num_epochs=len(epochs),
        batch_size=epochs[0].integer("batch_size") or None if epochs else None,
    )


def _environment(folder: str) -> dict[str, str]:
    path = os.pathsep.join(filter(None, [str(HOOK_FOLDER), os.environ.get("PYTHONPATH", "")]))
    return {**os.environ, "PYTHONPATH": path, VARIABLE: folder}


def _read_epochs(folder: Path) -> list[Document]:
    """Read what the hook wrote, one file per process that had a DataLoader."""
    files = [
        Document({"epochs": json.loads(read_file(path))}, path.name)
        for path in entries_of(folder)
        if path.suffix == ".json"
    ]
    return [epoch for file in files for epoch in file.items("epochs")]
