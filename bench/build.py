"""How long does a build take: copies next to `cp -r`, encodes next to what the cores can do, raw next to FFCV's writer?

python -m bench.build [--rounds 9] [--limit 300] [--copies 5] [--rivals DIR] [--record]

Waiting is the question, so the clock is the wall's. `cp` does not wait for the disk: it meets a build that does not
either (--no-sync), and with `sync` behind it one that does.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.corpus import files_of
from bench.timing import Session, arguments
from penstock import _native
from penstock.build import build
from penstock.records import verify

ROOT = Path(__file__).parents[1]
ENCODED = ("weir:fast", "weir:dense", "png", "jpeg:q=85", "jpeg:q=75")
COPY_GOAL = 1.5
CORES_GOAL = 0.9
FFCV_GOAL = 2.0


def main() -> None:
    """Measure and say whether the goals are met."""
    parser = arguments(__doc__ or "")
    parser.set_defaults(limit=300)
    parser.add_argument(
        "--copies", type=int, default=5, help="Number of copies of each image, so that copying takes a while."
    )
    parser.add_argument(
        "--rivals", type=Path, default=ROOT.parent / "rivals", help="Folder with the environments of rivals."
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work)
        photos = spread(files_of("imagenet", options.limit), folder / "photos", 1)
        many = spread(files_of("imagenet", options.limit), folder / "many", options.copies)
        compare_copies(many, folder, rounds=options.rounds, record=options.record)
        for format in ENCODED:
            compare_cores(photos, folder, format, rounds=min(options.rounds, 5), record=options.record)
        compare_raw(photos, folder, options.rivals, rounds=min(options.rounds, 5), record=options.record)


def spread(files: list[Path], folder: Path, copies: int) -> Path:
    """Copy the files into a folder, each `copies` times, with one class per copy."""
    for number in range(copies):
        (folder / f"copy{number}").mkdir(parents=True)
        for path in files:
            shutil.copy(path, folder / f"copy{number}" / path.name)
    return folder


def compare_copies(photos: Path, work: Path, *, rounds: int, record: bool) -> None:
    """Compare JPEGs that are kept unchanged."""
    count, size = size_of(photos)
    question = f"Does a build that keeps JPEGs take at most {COPY_GOAL} times as long as cp -r?"
    with Session("build", question, "imagenet", count, threads=2, rounds=rounds, record=record) as session:
        timings = session.compare(
            {
                "cp -r": fresh(work / "cp", lambda out: copy(photos, out)),
                "build --no-sync": fresh(work / "a.pen", lambda out: build(photos, out, mix="jpeg=1", durable=False)),
                "cp -r, then sync": fresh(work / "cp", lambda out: copy(photos, out, sync=True)),
                "build": fresh(work / "b.pen", lambda out: build(photos, out, mix="jpeg=1")),
            },
            verify=lambda: check(photos, work / "check.pen", "jpeg"),
            clock=time.perf_counter,
        )
        session.report(timings, baseline="cp -r", amount_bytes=size)
        ratio = timings["build --no-sync"].best / timings["cp -r"].best
        synced = timings["build"].best / timings["cp -r, then sync"].best
        print(f"  a build takes {ratio:.2f} of cp's time, {synced:.2f} of it when both wait for the disk")


def compare_cores(photos: Path, work: Path, format: str, *, rounds: int, record: bool) -> None:
    """Compare formats whose encoder is the limit, by CPU time over the cores' capacity."""
    count, size = size_of(photos)
    cores = _native.usable_cores()
    question = f"Does a build to {format} use {CORES_GOAL:.0%} of {cores} cores?"
    shares = []

    def run(out: Path) -> None:
        wall, cpu = time.perf_counter(), time.process_time()
        build(photos, out, mix=f"{format}=1", durable=False)
        shares.append((time.process_time() - cpu) / (time.perf_counter() - wall) / cores)

    with Session("build", question, "imagenet", count, threads=cores, rounds=rounds, record=record) as session:
        timings = session.compare(
            {format: fresh(work / "c.pen", run)},
            verify=lambda: check(photos, work / "check.pen", format),
            clock=time.perf_counter,
        )
        session.report(timings, baseline=format, amount_bytes=size, format=format, cores_used=max(shares))
        print(f"  {max(shares):.0%} of {cores} cores")


def compare_raw(photos: Path, work: Path, rivals: Path, *, rounds: int, record: bool) -> None:
    """Compare raw pixels with FFCV's writer in its own environment."""
    python = rivals / "ffcv" / "bin" / "python"
    if not python.exists():
        print(f"FFCV is left out: there is no {python}")
        return
    count, size = size_of(photos)
    question = f"Does a build write raw pixels {FFCV_GOAL} times as fast as FFCV's writer?"
    seconds: dict[str, float] = {"ours": 0.0, "ffcv": 0.0}

    def ours(out: Path) -> None:
        begin = time.perf_counter()
        build(photos, out, mix="raw=1", durable=False)
        seconds["ours"] += time.perf_counter() - begin

    def ffcv(out: Path) -> None:
        command = [str(python), "-m", "bench.contenders.ffcv_writing", str(photos), str(out)]
        done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
        seconds["ffcv"] += float(done.stdout.split()[-1])  # without starting Python

    with Session("build", question, "imagenet", count, threads=2, rounds=rounds, record=record) as session:
        timings = session.compare(
            {"FFCV 1.0.2": fresh(work / "f.beton", ffcv), "build": fresh(work / "r.pen", ours)},
            verify=lambda: check(photos, work / "check.pen", "raw"),
            clock=lambda: seconds["ours"] + seconds["ffcv"],
        )
        session.report(timings, baseline="FFCV 1.0.2", amount_bytes=size)


def fresh(out: Path, run: Callable[[Path], object]) -> Callable[[], None]:
    """Make a contender that removes the last round's output first, which is quick compared with writing."""

    def contender() -> None:
        if out.is_dir():
            shutil.rmtree(out)
        out.unlink(missing_ok=True)
        run(out)

    return contender


def copy(source: Path, out: Path, *, sync: bool = False) -> None:
    """Run `cp -r`, and wait for the disk if requested."""
    subprocess.run(["cp", "-r", str(source), str(out)], check=True)
    if sync:
        os.sync()


def check(photos: Path, out: Path, format: str) -> None:
    """Check that the dataset is intact before timing."""
    build(photos, out, mix=f"{format}=1")
    assert verify(out).problems == ()
    shutil.rmtree(out)


def size_of(folder: Path) -> tuple[int, int]:
    """Return the number of files and bytes."""
    sizes = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
    return len(sizes), sum(sizes)


if __name__ == "__main__":
    main()
