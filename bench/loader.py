"""How fast does the loader load, next to those a user would take instead?

python -m bench.loader [--job train224|full] [--rounds 5] [--samples 3000] [--rivals DIR] [--only NAME;…] [--record]

Every contender is a process of its own that loads an epoch when it is told to; they take turns, so that all meet the
same noise. Everything is in the page cache, and every contender has loaded one epoch before it is timed. Rivals with
an environment of their own are found as DIR/NAME/bin/python (bench/README.md says how to make them).
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from bench.circumstances import busy_seconds, commit_text
from bench.corpus import files_of
from bench.loader_bars import (
    APPROXIMATE,
    CAP,
    DALI,
    EXACT,
    FFCV,
    PILLOW,
    PNG,
    RAW,
    SIMPLEJPEG,
    SLUICE,
    TF_ACCURATE,
    TF_DEFAULT,
    WEIR,
    Measured,
    Verdict,
    other_lines,
    verdicts,
)
from bench.timing import RESULTS, Session, arguments
from penstock import _native
from penstock.build import build
from penstock.machine import cpu_model

ROOT = Path(__file__).parents[1]
SAMPLES = {"train224": 3_000, "full": 800}  # by links: an epoch that ends at once would measure its start and end
MEAN_LEVELS = 12.0  # contenders whose first batches differ more do not do the same job


@dataclass
class Contender:
    """Command of a contender, and its answers."""

    name: str
    module: str
    variant: str = ""
    mix: str = ""
    """Format of the dataset it loads; empty for the folder of images."""
    environment: str = ""
    ready: dict[str, Any] = field(default_factory=dict)
    stored_bytes: int = 0
    rounds: list[dict[str, float]] = field(default_factory=list)

    @property
    def measured(self) -> Measured:
        """Rates by wall time, and by the best CPU time of the rounds, to which neighbours only add."""
        return Measured(
            [found["num_images"] / found["wall_seconds"] for found in self.rounds],
            max(found["num_images"] / found["cpu_seconds"] for found in self.rounds),
            self.ready["first_batch_seconds"],
            self.stored_bytes,
        )


JOBS = {
    "train224": [
        Contender(CAP, "regions"),
        Contender(EXACT, "ours", "exact"),
        Contender(APPROXIMATE, "ours", "approximate"),
        Contender(RAW, "ours", mix="raw=1"),
        Contender(WEIR, "ours", mix="weir:fast=1"),
        Contender(SLUICE, "ours", mix="sluice=1"),
        Contender(PILLOW, "torch_dataloader", "pillow"),
        Contender(SIMPLEJPEG, "torch_dataloader", "simplejpeg"),
        Contender(TF_DEFAULT, "tfdata", "default", environment="tf"),
        Contender(TF_ACCURATE, "tfdata", "accurate", environment="tf"),
        Contender(DALI, "dali", environment="dali"),
        Contender(FFCV, "ffcv_beton", environment="ffcv"),
    ],
    "full": [
        Contender(WEIR, "ours", mix="weir:fast=1"),
        Contender(PNG, "ours"),
        Contender(PILLOW, "torch_dataloader", "pillow"),
    ],
}
CORPORA = {"train224": ("imagenet", 256), "full": ("cityscapes", 32)}


def main() -> None:
    """Run, print, and append to bench/results if asked to."""
    parser = arguments("How fast does the loader load, next to those a user would take instead?")
    parser.set_defaults(rounds=5)
    parser.add_argument("--job", choices=list(JOBS), default="train224")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument(
        "--rivals", type=Path, default=ROOT.parent / "rivals", help="Folder with the environments of rivals."
    )
    parser.add_argument(
        "--samples", type=int, default=0, help="Minimum samples of an epoch; 0: 3,000, or 800 of Cityscapes."
    )
    parser.add_argument("--only", default="", help="Names, or beginnings of names, separated by semicolons.")
    options = parser.parse_args()
    corpus, batch_size = CORPORA[options.job]
    chosen = [one for one in JOBS[options.job] if any(one.name.startswith(word) for word in options.only.split(";"))]
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as work, ExitStack() as stack:
        files = files_of(corpus, options.limit)
        copies = -(-options.samples // len(files)) if options.samples else -(-SAMPLES[options.job] // len(files))
        folder = linked_copies(files, Path(work) / "images", copies)
        session = Session("loader", "How fast does the loader load?", corpus, copies * len(files))
        stack.enter_context(session)
        common = ["--job", options.job, "--threads", str(options.threads), "--batch-size", str(batch_size)]
        running = {one.name: start(one, folder, Path(work), common, options.rivals) for one in chosen}
        alive = [one for one in chosen if (process := running[one.name]) and stack.enter_context(process)]
        load = run_rounds(alive, running, options.rounds)
        report(alive, options.job, corpus, load, record=options.record, threads=options.threads)
        for one in alive:
            running[one.name].stdin.close()  # type: ignore[union-attr]


def linked_copies(files: list[Path], folder: Path, copies: int) -> Path:
    """Make a folder of links to the files, each several times."""
    for copy in range(copies):
        for index, file in enumerate(files):
            place = folder / f"copy{copy}"
            place.mkdir(parents=True, exist_ok=True)
            (place / f"{index:05d}{file.suffix}").symlink_to(file)
    return folder


def start(one: Contender, folder: Path, work: Path, common: list[str], rivals: Path) -> subprocess.Popen[str] | None:
    """Start a contender and wait until it is warm; None, and a word, if it cannot run here."""
    python = rivals / one.environment / "bin" / "python" if one.environment else Path(sys.executable)
    if shutil.which(python) is None:
        print(f"left out: {one.name} ({python} is missing; bench/README.md says how to make it)", file=sys.stderr)
        return None
    source = dataset_of(folder, work, one.mix) if one.mix else folder
    command = [str(python), "-m", *program(one.module), "--source", str(source), *common]
    command += ["--variant", one.variant] if one.variant else []
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    answer = process.stdout.readline()
    if not answer:
        print(f"left out: {one.name} (it ended with {process.wait()})", file=sys.stderr)
        return None
    one.ready = json.loads(answer)
    one.stored_bytes = bytes_below(folder.with_suffix(".beton") if one.name == FFCV else source)
    return process


def program(module: str) -> list[str]:
    """Return the module that `python -m` runs for a contender: of `bench.contenders`, or a rival of the lab."""
    return [f"bench.contenders.{module}"] if module in ("ours", "regions") else ["bench.contenders.rival", module]


def bytes_below(path: Path) -> int:
    """Return the bytes of a file, or of all files of a folder, with links followed."""
    return sum(file.stat().st_size for file in ([path] if path.is_file() else path.rglob("*")) if file.is_file())


def dataset_of(folder: Path, work: Path, mix: str) -> Path:
    """Return the images as a dataset of one format, built once."""
    path = work / f"{mix.partition('=')[0].replace(':', '-')}.pen"
    if not path.exists():
        build(folder, path, mix=mix)
    return path


def run_rounds(alive: list[Contender], running: dict[str, Any], rounds: int) -> float:
    """Let all take turns; gives the cores that others used meanwhile."""
    levels = [one.ready["level"] for one in alive]
    if max(levels) - min(levels) > MEAN_LEVELS:
        sys.exit(f"contenders do not do the same job: mean levels {levels}")
    busy, began, own = busy_seconds(), time.perf_counter(), 0.0
    order = list(alive)
    for _ in range(rounds):
        for one in order:
            process = running[one.name]
            process.stdin.write("epoch\n")
            process.stdin.flush()
            found = json.loads(process.stdout.readline())
            one.rounds.append(found)
            own += found["cpu_seconds"]
        order.append(order.pop(0))
    return max(0.0, (busy_seconds() - busy - own) / (time.perf_counter() - began))


def report(alive: list[Contender], job: str, corpus: str, load: float, *, record: bool, threads: int) -> None:
    """Print one line per contender, then the goals and whether they are met."""
    print(f"{job}, {corpus}, {threads} threads, {_native.simd_path()}, foreign load {load:.2f} cores")
    found = {one.name: one.measured for one in alive}
    for name, measured in sorted(found.items(), key=lambda item: -item[1].median):
        print(
            f"  {name:<36} {measured.median:8.0f} images/s  {1e3 / measured.images_per_cpu_second:7.3f} ms CPU each  "
            f"first batch {measured.first_batch_seconds:5.2f} s  {measured.stored_bytes / 1e6:7.0f} MB"
        )
    if job == "train224":
        rough = [one.name for one in alive if not one.ready["antialias"]]
        print(f"  resize without antialiasing: {', '.join(rough) or 'none'}; all others antialias")
    bars = verdicts(job, found)
    for line in [*map(str, bars), *other_lines(found)]:
        print(f"  {line}")
    if record:
        append_lines(alive, bars, job, {"corpus": corpus, "threads": threads, "foreign_cores": round(load, 3)})


def append_lines(alive: list[Contender], bars: list[Verdict], job: str, circumstances: dict[str, object]) -> None:
    """Append one line per contender to bench/results, and one with the ratios of the goals."""
    common = {
        "question": f"How fast does the loader load? ({job})",
        **circumstances,
        "commit": commit_text(),
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "cpu": cpu_model(),
        "simd": _native.simd_path(),
    }
    ratios = [asdict(bar) | {"is_met": bar.is_met} for bar in bars]
    with (RESULTS / "loader.jsonl").open("a") as file:
        for one in alive:
            measured = one.measured
            line = {
                "contender": one.name,
                "images_per_second": measured.median,
                "images_per_cpu_second": measured.images_per_cpu_second,
                "cpu_seconds_per_image": 1 / measured.images_per_cpu_second,
                "stored_bytes": one.stored_bytes,
                "rounds": one.rounds,
                "ready": one.ready,
            }
            file.write(json.dumps({**common, **line}, allow_nan=False) + "\n")
        file.write(json.dumps({**common, "ratios": ratios}, allow_nan=False) + "\n")


if __name__ == "__main__":
    main()
