"""Fails allocations of the extension, one after the other: `python -m tests.failing_native JOB FIRST LAST STEP FOLDER`.

Runs with failing_native.cpp preloaded; prints `allocations N points N errors N`, or raises what is wrong.
"""

from __future__ import annotations

import ctypes
import faulthandler
import hashlib
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import penstock
from penstock.build import BuildOptions, build
from penstock.errors import PenstockError
from tests.dataset_files import files_of, make_photos

OUT_OF_MEMORY, NO_THREADS = 360, 520
SECONDS = 60
"""A run that takes longer hangs."""
MIX = "weir:fast=0.5,png=0.25,jpeg:q=90=0.25"

Job = Callable[[], str]


def _build(folder: Path) -> Job:
    photos, out = folder / "photos", folder / "data.pen"

    def run() -> str:
        build(
            photos, out, mix=MIX, durable=False, threads=2, options=BuildOptions(skip_errors=True, shard_bytes=100_000)
        )
        found = repr({name: hashlib.sha256(content).hexdigest() for name, content in sorted(files_of(out).items())})
        shutil.rmtree(out)
        return found

    return run


def _epochs(folder: Path) -> Job:
    out = folder / "data.pen"
    build(folder / "photos", out, mix=MIX)

    def run() -> str:
        digest = hashlib.sha256()
        with penstock.Loader(out, batch_size=8, threads=2, on_error="skip", seed=3, cache="rolling") as loader:
            for _ in range(2):
                for batch in loader:
                    pixels = batch["image"]
                    for image in pixels if isinstance(pixels, list) else [pixels]:
                        digest.update(image.tobytes())
        return digest.hexdigest()

    return run


def _run(job: Job, index: int, native: ctypes.CDLL) -> tuple[str | None, int]:
    """The result, or None if memory was said to be short; and the number of allocations."""
    native.penstock_fail_begin(ctypes.c_size_t(index), 0)
    try:
        return job(), native.penstock_fail_end()
    except MemoryError:
        return None, native.penstock_fail_end()
    except PenstockError as error:
        if error.code not in (OUT_OF_MEMORY, NO_THREADS):
            raise
        return None, native.penstock_fail_end()


def main(name: str, indices: range, folder: Path) -> None:
    """Run a job with each of the allocations failing, and without any after each."""
    native = ctypes.CDLL(None)
    native.penstock_fail_end.restype = ctypes.c_size_t
    make_photos(folder / "photos", images=24, width=48, height=40)
    job = {"build": _build, "epochs": _epochs}[name](folder)
    expected, total = _run(job, 0, native)
    expected, total = _run(job, 0, native)
    errors = points = 0
    for index in indices:
        if index > total:
            break
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        found, _ = _run(job, index, native)
        again, _ = _run(job, 0, native) if found is None else (found, 0)
        faulthandler.cancel_dump_traceback_later()
        if again != expected:
            raise SystemExit(
                f"allocation {index} failed, and the result {'after it' if found is None else ''} is wrong"
            )
        points += 1
        errors += found is None
    print(f"allocations {total} points {points} errors {errors}")


if __name__ == "__main__":
    first, last, step = map(int, sys.argv[2:5])
    main(sys.argv[1], range(first, last + 1, step), Path(sys.argv[5]))
