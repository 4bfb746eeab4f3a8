"""Builds and exports that are disturbed at a chosen call of theirs that changes the disk.

`Workbench` runs jobs in children forked off a process that has imported everything and watches the disk by LD_PRELOAD
(tests/native/disk_shim.c): a job takes milliseconds instead of an interpreter's start. That process starts no thread.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "tests" / "native" / "disk_shim.c"


@dataclass(frozen=True, slots=True)
class Disturbance:
    """What happens at which call; 0: nothing."""

    at: int = 0
    error: int = 0
    """The call fails with this `errno`; 0: the process is killed before it."""
    torn: bool = False
    """Half of a write happens before."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a job ended."""

    was_killed: bool
    num_calls: int
    result: Any
    error: dict[str, Any] | None

    @property
    def is_done(self) -> bool:
        """Whether it ended without an error."""
        return not self.was_killed and self.error is None


@cache
def shim() -> Path:
    """The library, compiled if its source has changed."""
    folder = ROOT / "build" / "tests-shim"
    folder.mkdir(parents=True, exist_ok=True)
    library = folder / "disk_shim.so"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not library.is_file() or library.stat().st_mtime < SOURCE.stat().st_mtime:
            compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
            assert compiler, "a C compiler builds the library that watches the disk: install gcc"
            command = [compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(SOURCE), "-ldl", "-lpthread"]
            subprocess.run(command, check=True)
    return library


class Workbench:
    """A process that runs jobs, one at a time."""

    def __init__(self) -> None:
        environment = {**os.environ, "LD_PRELOAD": str(shim()), "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.disk_harness"],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(
        self,
        job: str,
        *,
        watched: Path | None = None,
        disturbance: Disturbance | None = None,
        log: Path | None = None,
        plant: str = "",
        **arguments: object,
    ) -> Outcome:
        """Run a function of `JOBS` and wait for it; calls that change something below `watched` count."""
        chosen = disturbance or Disturbance()
        order = {
            "job": job,
            "watched": str(watched.resolve()) if watched else "",
            "at": chosen.at,
            "error": chosen.error,
            "torn": chosen.torn,
            "log": str(log or ""),
            "plant": plant,
            "arguments": {name: str(value) if isinstance(value, Path) else value for name, value in arguments.items()},
        }
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        return Outcome(**answer)

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(60)
        self._process.stdout.close()


def build_job(source: str, out: str, mix: str, shard_bytes: int, threads: int = 2, force: bool = False) -> int:
    """Build; gives the samples that were converted."""
    from penstock.build import BuildOptions, build

    options = BuildOptions(shard_bytes=shard_bytes)
    return build(source, out, mix=mix, options=options, threads=threads, force=force).num_converted


def rebuild_job(out: str, **arguments: Any) -> list[str]:  # noqa: ANN401 - those of `build_job`
    """Build again, then give the problems that `verify` finds."""
    from penstock.records import verify

    build_job(out=out, **arguments)
    return [str(problem) for problem in verify(out).problems]


def export_job(dataset: str, out: str, layout: str) -> int:
    """Export; gives the samples that were written."""
    from penstock.export import ExportOptions, export

    return export(dataset, out, options=ExportOptions(layout=layout, shard_samples=4), threads=2).num_samples


JOBS: Mapping[str, Callable[..., Any]] = {"build": build_job, "rebuild": rebuild_job, "export": export_job}


def plant_in_place() -> None:
    """A defect: index and manifest are written where they belong, byte by byte, instead of being renamed there."""
    from penstock.storage import LockedStore
    from penstock.types import Buffer

    def publish(self: LockedStore, name: str, data: Buffer) -> None:
        (self.root / name).write_bytes(data)

    LockedStore.publish = publish  # type: ignore[method-assign]


def plant_beside() -> None:
    """A defect: index and manifest are made beside their places, where the next run does not expect them."""
    from penstock.storage import LockedStore
    from penstock.types import Buffer

    def publish(self: LockedStore, name: str, data: Buffer) -> None:
        (self.root / f".{name}.new").write_bytes(data)
        (self.root / f".{name}.new").rename(self.root / name)

    LockedStore.publish = publish  # type: ignore[method-assign]


PLANTS: Mapping[str, Callable[[], None]] = {"in place": plant_in_place, "beside": plant_beside}


def main() -> None:
    """Take jobs from stdin until it ends."""
    import pyarrow.compute
    import pyarrow.parquet  # noqa: F401

    import penstock.build
    import penstock.export
    import penstock.records  # noqa: F401

    library = ctypes.CDLL(str(shim()))
    library.disarm.restype = ctypes.c_long
    library.arm.argtypes = [ctypes.c_char_p, ctypes.c_long, ctypes.c_int, ctypes.c_int, ctypes.c_char_p]
    for line in sys.stdin:
        order = json.loads(line)
        inward, outward = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(inward)
            _work(order, library, outward)
        os.close(outward)
        with os.fdopen(inward) as answers:
            text = answers.read()
        _, status = os.waitpid(child, 0)
        was_killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        if not was_killed and not text:
            text = json.dumps({"num_calls": 0, "result": None, "error": {"type": "crash", "what": f"status {status}"}})
        answer = json.loads(text) if text else {"num_calls": 0, "result": None, "error": None}
        print(json.dumps({"was_killed": was_killed, **answer}), flush=True)


def _work(order: dict[str, Any], library: ctypes.CDLL, outward: int) -> None:
    """The child: never returns."""
    answer: dict[str, Any] = {"num_calls": 0, "result": None, "error": None}
    try:
        if order["plant"]:
            PLANTS[order["plant"]]()
        if order["watched"]:
            library.arm(
                order["watched"].encode(), order["at"], order["error"], int(order["torn"]), order["log"].encode()
            )
        try:
            answer["result"] = JOBS[order["job"]](**order["arguments"])
        finally:
            answer["num_calls"] = library.disarm()
    except Exception as error:
        answer["error"] = {
            "type": type(error).__name__,
            "family": [kind.__name__ for kind in type(error).__mro__],
            "what": getattr(error, "what", str(error)),
            "where": getattr(error, "where", ""),
            "fix": getattr(error, "fix", ""),
            "code": getattr(error, "code", 0),
            "errno": getattr(error, "errno", None),
        }
    os.write(outward, json.dumps(answer).encode())
    os._exit(0)


if __name__ == "__main__":
    main()
