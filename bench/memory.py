"""What does memory for a share of the dataset save, by policy, next to the page cache? Under real limits.

python -m bench.memory [--parts reads,rivals,rate,shuffle,ranks,decoded] [--limit 6000] [--rivals DIR] [--record]
                       [--minutes 10]

reads    disk reads of an epoch, counted by the disk's control group, memory for 10, 30 and 70 % of the dataset
rivals   the same for torch's DataLoader and DALI: the page cache has what a memory limit leaves, as in (DL)² Fig 2
rate     images a second on a disk of 100 MB/s with memory for 30 %, and how even the batches come
shuffle  how random the delivered order is (place, company, neighbours); 1 is a full permutation
ranks    hits of 1, 2 and 8 processes that share memory for 30 %
decoded  CPU time and images a second of PNGs in the same memory: encoded, as pixels, as weir:fast, or as measured

Every measurement is a process of its own under `penstock.limits`, and a line of bench/results/memory.jsonl. A line that
the same commit has recorded is not measured again, so a run that was killed goes on. All of it takes about 22 minutes,
`rate` alone 9.

How even batches come is asked four times. The kernel's throttle lets through a tenth of a second's bytes at once, so
batches of 30 ms tell about it and not about the loader (those lines stand for images a second). `count` needs no clock:
bytes read for each batch, one batch under way at a time. `readers` times small batches on a token bucket of our own
readers, which lets single reads through; it would slow hits of the page cache too, which therefore has no line there.
`long` times batches of about a second on the kernel's throttle, those of the page cache too.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from shutil import rmtree
from typing import Any

import numpy as np

import penstock
from bench.circumstances import commit_text
from bench.corpus import files_of
from bench.timing import RESULTS, arguments
from penstock.build import build
from penstock.limits import Completed, Limits, run
from penstock.load import Loader, plan_loader
from penstock.load.open_samples import open_samples
from penstock.machine import EMULATED_DISK, EmulatedDisk, cpu_model
from penstock.transforms import RandomResizedCrop

ROOT = Path(__file__).parents[1]
LINES = RESULTS / "memory.jsonl"
QUESTION = "What does memory for a share of the dataset save?"
SIDE = 144  # raw records of 62 kB
BATCH = 64
LONG_SIDE = 1440  # raw records of 6.2 MB
LONG_BATCH = 20  # 0.9 s for 14 misses: many bytes, next to which the throttle's grain is small, but few samples
CROP = 64
DISK = 100e6
SHARE = 0.3  # of the dataset, in memory, for `rate`
DECODED_CROP = 224
DECODED_SHARE = 0.5  # of the pixels
SLACK = 32 << 20  # what a process holds for moments; without it the kernel kills at small shares
COUNT_ONLY = 1e11  # a throttle that never bites, so that the group counts
POLICIES = ("rolling", "pinned", "liquid", "none")
RIVALS = {"torch DataLoader + Pillow": ("torch_dataloader", "", "pillow"), "DALI, CPU": ("dali", "dali", "")}
RIVAL_COPIES = 5  # of the JPEGs, as files of their own


class Lines:
    """Recorder that measures each line once per commit."""

    def __init__(self, *, record: bool, minutes: float) -> None:
        self._record = record
        self._commit = commit_text()
        self._ends = time.monotonic() + minutes * 60
        known = LINES.read_text().splitlines() if record and LINES.exists() else []
        self._done = {self._key(line) for line in map(json.loads, known) if line["commit"] == self._commit}

    def wants(self, part: str, **what: object) -> bool:
        """Return whether this is still to be measured, and time is left."""
        return self._key({"part": part, **what}) not in self._done and time.monotonic() < self._ends

    def add(self, part: str, what: dict[str, object], found: dict[str, object]) -> None:
        """Print, and record if asked to."""
        line = {"question": QUESTION, "part": part, **what, **found, "commit": self._commit, "cpu": cpu_model()}
        line["date"] = datetime.now(timezone.utc).isoformat(timespec="seconds")
        print(f"  {part}: {' '.join(map(str, what.values()))}: {_shown(found)}", flush=True)
        if self._record:
            with LINES.open("a") as file:
                file.write(json.dumps(line, allow_nan=False) + "\n")

    @staticmethod
    def _key(line: dict[str, Any]) -> str:
        names = ("part", "contender", "memory_share", "world_size", "by", "cached", "disk")
        return json.dumps({name: line.get(name) for name in names})


def main() -> None:
    """Run the parts."""
    parser = arguments(QUESTION)
    parser.set_defaults(limit=6000)
    parser.add_argument("--parts", default="reads,rivals,rate,shuffle,ranks,decoded")
    parser.add_argument(
        "--rivals", type=Path, default=ROOT.parent / "rivals", help="Folder with the environments of rivals."
    )
    parser.add_argument("--minutes", type=float, default=30, help="Minutes after which no measurement starts.")
    options = parser.parse_args()
    lines = Lines(record=options.record, minutes=options.minutes)
    with tempfile.TemporaryDirectory(prefix="penstock-memory-") as work:
        for part in options.parts.split(","):
            print(f"{part}:", flush=True)
            if part == "rivals":
                measure_rivals(lines, Path(work), options.rivals, options.limit)
            elif part == "decoded":
                measure_decoded(lines, Path(work), options.limit)
            else:
                dataset = make_dataset(Path(work) / "small", options.limit)
                {"reads": measure_reads, "rate": measure_rate, "shuffle": measure_shuffle, "ranks": measure_ranks}[
                    part
                ](lines, dataset)


def make_dataset(work: Path, count: int, side: int = SIDE) -> Path:
    """Make raw records of one size, once per run."""
    path = work / "data.pen"
    if not path.exists():
        source = work / "images"
        source.mkdir(parents=True)
        pixels = np.random.default_rng(0).integers(0, 256, (side, side, 3), np.uint8)
        for number in range(count):
            pixels[number % side, number // side % side] = number % 256
            (source / f"{number:06d}.ppm").write_bytes(b"P6 %d %d 255\n" % (side, side) + pixels.tobytes())
        build(source, path, mix="raw=1")
        rmtree(source)
    return path


def memory_for(dataset: Path, cache: str, share: float, batch_size: int = BATCH, world_size: int = 1) -> int:
    """Return the memory with which each rank's cache holds its part of a share of the dataset."""
    plan = plan_loader(
        dataset,
        batch_size=batch_size,
        threads=2,
        cache=cache,
        memory=0,
        transform=[RandomResizedCrop(CROP)],
        world_size=world_size,
    )
    return plan.memory_for(int(plan.samples.sizes.sum() * share / world_size))


def wish_for(dataset: Path, cache: str, share: float, batch_size: int = BATCH, **more: object) -> dict[str, object]:
    """Return the request for `memory_epochs`."""
    own = cache in ("rolling", "pinned", "liquid")
    memory = memory_for(dataset, cache, share, batch_size) if own else 0
    return {
        "path": str(dataset),
        "cache": cache,
        "memory": memory,
        "batch_size": batch_size,
        "threads": 2,
        "crop": CROP,
        "window": False,  # no look at the disk in the middle of an epoch
        "epochs": 3,
        **more,
    }


def epochs_of(
    wish: dict[str, object], limits: Limits, disk: EmulatedDisk | None = None
) -> tuple[Completed, list[dict[str, Any]]]:
    """Run our loader under limits; `disk` is emulated by its own readers."""
    forget(Path(str(wish["path"])))
    command = [sys.executable, "-m", "bench.memory_epochs", json.dumps(wish)]
    environment = dict(os.environ) if disk is None else {**os.environ, EMULATED_DISK: disk.as_text()}
    done = run(command, limits, on=str(wish["path"]), environment=environment, quiet=True)
    if done.exit_code != 0:
        sys.exit(f"{wish}: ended with {done.exit_code}\n{done.stderr.decode()[-2000:]}")
    return done, [json.loads(line) for line in done.stdout.splitlines()]


def forget(folder: Path) -> None:
    """Let no page of these files be in memory: those that another process read are not charged to the limit."""
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def measure_reads(lines: Lines, dataset: Path) -> None:
    """Measure disk reads by policy and share of memory; `system` gets its own memory and that share."""
    for share in (0.1, 0.3, 0.7):
        for cache in (*POLICIES, "system"):
            if not lines.wants("reads", contender=cache, memory_share=share):
                continue
            wish = wish_for(dataset, cache, share)
            limits = Limits(disk_bytes_per_second=COUNT_ONLY)
            if cache == "system":
                limits = page_cache_limits(wish, share, dataset)
            done, epochs = epochs_of(wish, limits)
            lines.add("reads", {"contender": cache, "memory_share": share}, reads_found(epochs, done))


def page_cache_limits(wish: dict[str, object], share: float, dataset: Path) -> Limits:
    """Return a memory limit that leaves the page cache a share of the dataset."""
    _, free = epochs_of({**wish, "epochs": 1}, Limits(disk_bytes_per_second=COUNT_ONLY, memory_bytes=64 << 30))
    held = int(free[-1]["held_bytes"] or 0)
    return Limits(disk_bytes_per_second=COUNT_ONLY, memory_bytes=held + SLACK + int(dataset_bytes(dataset) * share))


def dataset_bytes(dataset: Path) -> int:
    return sum(path.stat().st_size for path in dataset.rglob("*.shard"))


def reads_found(epochs: list[dict[str, Any]], done: Completed) -> dict[str, object]:
    """Compare reads of the epochs after the first with all bytes, in whole pages of each record."""
    total = epochs[0]["bytes_read"]
    by_disk = [epoch["disk_bytes"] / total for epoch in epochs[1:] if epoch["disk_bytes"] is not None]
    return {
        "read_share_by_disk": statistics.mean(by_disk) if by_disk else None,
        "read_share": statistics.mean(epoch["bytes_read"] / total for epoch in epochs[1:]),
        "num_samples": epochs[-1]["num_images"],
        "enforced_by": done.enforced_by.as_dict(),
        "peak_memory_bytes": epochs[-1]["peak_memory_bytes"],
    }


def measure_rivals(lines: Lines, work: Path, rivals: Path, limit: int) -> None:
    """Measure loaders that rely on the page cache, with their own memory and 30 or 70 % of the images."""
    folder, total = copied_images(work / "jpegs", RIVAL_COPIES if limit >= 6000 else 1)
    for name, (module, environment, variant) in RIVALS.items():
        python = rivals / environment / "bin" / "python" if environment else Path(sys.executable)
        if not python.exists():
            print(f"  left out: {name} ({python} is missing; bench/README.md says how to make it)")
            continue
        command = [
            str(python),
            "-m",
            "bench.contenders.rival",
            module,
            "--source",
            str(folder),
            "--batch-size",
            str(BATCH),
        ]
        command += ["--variant", variant] if variant else []
        held = 0
        for share in (0.3, 0.7):
            if not lines.wants("rivals", contender=name, memory_share=share):
                continue
            free = Limits(memory_bytes=64 << 30, disk_bytes_per_second=COUNT_ONLY)
            held = held or int(rival_epochs(command, 1, free, folder)[-1]["held_bytes"])
            limits = Limits(memory_bytes=held + SLACK + int(share * total), disk_bytes_per_second=COUNT_ONLY)
            epochs = rival_epochs(command, 2, limits, folder)
            reads = [epoch["disk_bytes"] / total for epoch in epochs if epoch["disk_bytes"] is not None]
            found: dict[str, object] = {
                "read_share_by_disk": statistics.mean(reads) if reads else None,
                "held_bytes": held,
            }
            found["images_per_second"] = epochs[-1]["num_images"] / epochs[-1]["wall_seconds"]
            lines.add("rivals", {"contender": name, "memory_share": share}, found)


def copied_images(folder: Path, copies: int) -> tuple[Path, int]:
    """Copy JPEGs as separate files (links would share pages), and drop them from the page cache."""
    total = 0
    for copy in range(copies):
        place = folder / f"copy{copy}"
        place.mkdir(parents=True)
        for file in files_of("imagenet"):
            data = file.read_bytes()
            total += len(data)
            with (place / file.name).open("wb") as out:
                out.write(data)
                out.flush()
                os.fsync(out.fileno())
                os.posix_fadvise(out.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return folder, total


def rival_epochs(command: list[str], epochs: int, limits: Limits, folder: Path) -> list[dict[str, Any]]:
    """Measure epochs of a rival after its first, under limits."""
    forget(folder)
    driver = [sys.executable, "-m", "bench.contenders.counting", str(epochs), "--", *command]
    done = run(driver, limits, on=folder, quiet=True)
    if done.exit_code != 0:
        sys.exit(f"{command}: ended with {done.exit_code}\n{done.stderr.decode()[-2000:]}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def measure_rate(lines: Lines, dataset: Path) -> None:
    """Measure throughput on a slow disk, and the evenness of batches."""
    for cache in ("none", "rolling", "pinned", "liquid", "system"):
        if lines.wants("rate", contender=cache, memory_share=SHARE):
            wish = wish_for(dataset, cache, SHARE)
            done, epochs = epochs_of(wish, slow_disk(wish, dataset))
            lines.add("rate", {"contender": cache, "memory_share": SHARE}, rate_found(epochs, done))
    measure_counts(lines, dataset)
    measure_by_readers(lines, dataset)
    measure_long_batches(lines, dataset)


def slow_disk(wish: dict[str, object], dataset: Path) -> Limits:
    """Return limits of 100 MB/s and, for the page cache, of memory."""
    if wish["cache"] != "system":
        return Limits(disk_bytes_per_second=DISK)
    return replace(page_cache_limits(wish, SHARE, dataset), disk_bytes_per_second=DISK)


def measure_counts(lines: Lines, dataset: Path) -> None:
    """Count the bytes that the disk reads for each batch, without a clock."""
    for cache in (*POLICIES, "system"):
        what: dict[str, object] = {"contender": cache, "memory_share": SHARE, "by": "count"}
        if lines.wants("rate", **what):
            wish = wish_for(dataset, cache, SHARE, alone=True)
            limits = Limits(disk_bytes_per_second=COUNT_ONLY)
            if cache == "system":
                limits = page_cache_limits(wish, SHARE, dataset)
            done, epochs = epochs_of(wish, limits)
            found = spread_of([count for epoch in epochs[1:] for count in whole(epoch, "batch_disk_bytes")])
            lines.add("rate", what, {"batch_disk_bytes": found, "enforced_by": done.enforced_by.as_dict()})


def measure_by_readers(lines: Lines, dataset: Path) -> None:
    """Time small batches on a disk that our own readers slow down, read by read."""
    for cache in POLICIES:
        what: dict[str, object] = {"contender": cache, "memory_share": SHARE, "by": "readers"}
        if lines.wants("rate", **what):
            done, epochs = epochs_of(wish_for(dataset, cache, SHARE), Limits(), EmulatedDisk(DISK, None))
            lines.add("rate", what, rate_found(epochs, done) | {"enforced_by": {"disk": "readers"}})


def measure_long_batches(lines: Lines, small: Path) -> None:
    """Time batches that are long compared with the grain of the kernel's throttle."""
    count = max(8, len(penstock.open(small)) // 200) * LONG_BATCH
    for cache in ("none", "rolling", "pinned", "system"):
        what: dict[str, object] = {"contender": cache, "memory_share": SHARE, "by": "long"}
        if lines.wants("rate", **what):
            dataset = make_dataset(small.parents[1] / "long", count, LONG_SIDE)
            wish = wish_for(dataset, cache, SHARE, LONG_BATCH, epochs=2 if cache == "none" else 3)
            done, epochs = epochs_of(wish, slow_disk(wish, dataset))
            lines.add("rate", what, rate_found(epochs, done))


def rate_found(epochs: list[dict[str, Any]], done: Completed) -> dict[str, object]:
    """Summarize the epochs after the first."""
    warm = epochs[1:]
    return {
        "images_per_second": statistics.mean(epoch["num_images"] / epoch["wall_seconds"] for epoch in warm),
        "batch_seconds": spread_of([seconds for epoch in warm for seconds in whole(epoch, "batch_seconds")]),
        "enforced_by": done.enforced_by.as_dict(),
    }


def whole(epoch: dict[str, Any], name: str) -> list[float]:
    """Return the values of full batches, without the first of an epoch, which waits for the pipeline."""
    last = -1 if epoch["num_images"] % epoch["batch_size"] else None
    return list(epoch[name][1:last])


def spread_of(values: list[float]) -> dict[str, object]:
    """Summarize values of batches; the variation is their standard deviation divided by their mean."""
    ordered, mean = sorted(values), statistics.mean(values)
    return {
        "num_batches": len(values),
        "mean": mean,
        "variation": statistics.stdev(values) / mean,
        "least": ordered[0],
        "p5": ordered[len(ordered) // 20],
        "p95": ordered[-1 - len(ordered) // 20],
        "most": ordered[-1],
    }


def measure_shuffle(lines: Lines, dataset: Path) -> None:
    """Measure the randomness of delivered samples. `none` has the order of `rolling`, and is not compared."""
    for cache, share in (("rolling", 0.3), ("liquid", 0.7), ("liquid", 0.3), ("liquid", 0.1)):
        if not lines.wants("shuffle", contender=cache, memory_share=share):
            continue
        _, epochs = epochs_of(wish_for(dataset, cache, share, quality=True), Limits(disk_bytes_per_second=COUNT_ONLY))
        lines.add("shuffle", {"contender": cache, "memory_share": share}, epochs[-1]["quality"])


def measure_ranks(lines: Lines, dataset: Path) -> None:
    """Measure parallel processes that share the node's memory."""
    for ranks in (1, 2, 8):
        if not lines.wants("ranks", contender="rolling", memory_share=0.3, world_size=ranks):
            continue
        wish = wish_for(dataset, "rolling", 0.3, world_size=ranks)
        wish["memory"] = ranks * memory_for(dataset, "rolling", 0.3, world_size=ranks)
        environment = {**os.environ, "LOCAL_WORLD_SIZE": str(ranks)}
        running = [
            subprocess.Popen(
                [sys.executable, "-m", "bench.memory_epochs", json.dumps({**wish, "rank": rank})],
                cwd=ROOT,
                env=environment,
                stdout=subprocess.PIPE,
            )
            for rank in range(ranks)
        ]
        last = [json.loads(process.communicate()[0].splitlines()[-1]) for process in running]
        found: dict[str, object] = {
            "hit_ratio": sum(epoch["hits"] for epoch in last) / sum(epoch["num_images"] for epoch in last),
            "images_per_second": sum(epoch["num_images"] / epoch["wall_seconds"] for epoch in last),
        }
        lines.add("ranks", {"contender": "rolling", "memory_share": 0.3, "world_size": ranks}, found)


def measure_decoded(lines: Lines, work: Path, limit: int) -> None:
    """Measure each form in memory for half of the pixels; disks with and without a limit."""
    dataset = make_png_dataset(work, max(200, limit // 3))
    transform = [RandomResizedCrop(DECODED_CROP)]
    with Loader(dataset, batch_size=BATCH, threads=2, cache="pinned", memory=0, transform=transform) as loader:
        pixel_bytes = open_samples(dataset).pixel_sizes
        assert pixel_bytes is not None
        memory = loader.stats()["working_bytes"] + int(DECODED_SHARE * pixel_bytes.sum())
    for disk in (COUNT_ONLY, DISK):
        for cache in ("pinned", "rolling"):
            for cached in ("encoded", "pixels", "weir:fast", "decoded"):
                shown = "as it is" if disk == COUNT_ONLY else f"{disk / 1e6:.0f}MB/s"
                what: dict[str, object] = {"contender": cache, "memory_share": DECODED_SHARE, "cached": cached}
                what["disk"] = shown
                if not lines.wants("decoded", **what):
                    continue
                wish = {
                    **wish_for(dataset, "none", 0, cache_format=cached, memory=memory, crop=DECODED_CROP),
                    "cache": cache,
                }
                done, epochs = epochs_of({**wish, "epochs": 4}, Limits(disk_bytes_per_second=disk))
                lines.add("decoded", what, decoded_found(epochs[2:], done))


def decoded_found(epochs: list[dict[str, Any]], done: Completed) -> dict[str, object]:
    """Summarize epochs with a full memory."""
    num_images = sum(epoch["num_images"] for epoch in epochs)
    kept = epochs[-1]["cached"]
    return {
        "cpu_ms_per_image": 1e3 * sum(epoch["cpu_seconds"] for epoch in epochs) / num_images,
        "images_per_second": num_images / sum(epoch["wall_seconds"] for epoch in epochs),
        "hit_ratio": sum(epoch["hits"] for epoch in epochs) / num_images,
        "kept_as": kept["formats"],
        "num_unfit": kept["num_unfit"],
        "measured": kept.get("measured"),
        "peak_memory_bytes": epochs[-1]["peak_memory_bytes"],
        "enforced_by": done.enforced_by.as_dict(),
    }


def make_png_dataset(work: Path, count: int) -> Path:
    """Make a dataset of repeated PNG photographs, where each copy is a separate record."""
    source, path = work / "pngs", work / "pngs.pen"
    source.mkdir()
    files = files_of("cityscapes")
    for number in range(count):
        (source / f"{number:06d}.png").write_bytes(files[number % len(files)].read_bytes())
    build(source, path, mix="png=1")
    return path


def _shown(found: dict[str, object]) -> str:
    return ", ".join(
        f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}" for name, value in found.items()
    )


if __name__ == "__main__":
    main()
