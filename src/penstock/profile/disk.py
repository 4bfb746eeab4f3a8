"""Measurement of a disk: reads a probe file past the page cache, in several patterns, and removes it."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from penstock.counter_rng import draw
from penstock.documents import Json
from penstock.errors import StorageError
from penstock.order.disk_rates import seek_seconds
from penstock.profile.profile_values import Disk, Measurement
from penstock.storage import AppendFile, probe_reads, time_opens, write_file
from penstock.types import OnProgress, no_progress
from penstock.units import bytes_text

LARGE = 1 << 20
MIDDLE = 1 << 16  # as large as an image may be: what it takes beyond its bytes is seeking
SMALL = 4096
DEPTHS = (1, 4, 16, 32)
MAX_PROBE_BYTES = 1 << 30
FEWEST = 64
ROUND_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class DiskProbe:
    """Amounts to read in a disk measurement."""

    file_bytes: int = 256 << 20
    repeats: int = 3
    num_small_reads: int = 2048
    """Fewer on a disk that seeks: a round ends after about half a second."""


def check_room(folder: Path, probe: DiskProbe | None = None) -> None:
    """Raise StorageError unless a probe file fits into a folder, before other measurements start."""
    needed = 2 * _probe_bytes(probe or DiskProbe())
    path = _probe_path(folder)
    try:
        write_file(path, b"")
    except StorageError as cause:
        raise StorageError(
            f"the probe of the disk cannot be written: {cause.what}",
            where=str(folder),
            fix="name a folder that can be written, on the disk of the dataset to be: --on of profile, OUT of auto",
            code=cause.code,
        ) from cause
    path.unlink()
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise StorageError(
            f"{bytes_text(free)} are free, the probe of the disk needs {bytes_text(needed)}",
            where=str(folder),
            fix="free some, or choose another folder: --on of profile, OUT of auto",
            code=410,
        )


def measure_disk(folder: Path, probe: DiskProbe | None = None, *, on_progress: OnProgress = no_progress) -> Disk:
    """Measure the disk of a folder. Raise StorageError if there is no room for the probe file.

    The file has random bytes, and is read past the page cache if the file system allows direct reads; `direct` tells
    whether it does.
    """
    probe = probe or DiskProbe()
    check_room(folder, probe)
    size, path = _probe_bytes(probe), _probe_path(folder)
    try:
        _write(path, size)
        return _measure(path, size, probe, on_progress)
    finally:
        path.unlink(missing_ok=True)


def _probe_bytes(probe: DiskProbe) -> int:
    return min(probe.file_bytes, MAX_PROBE_BYTES)


def _probe_path(folder: Path) -> Path:
    return folder / f".penstock-probe-{uuid.uuid4().hex[:8]}"


def _write(path: Path, size: int) -> None:
    """Write bytes that no disk can compress."""
    hidden = path.with_name(path.name + ".part")
    try:
        file = AppendFile(hidden)
        block = np.random.default_rng(0).integers(0, 256, LARGE, np.uint8).tobytes()
        for _ in range(size // LARGE):
            file.append(block)
        file.publish(path)
    finally:
        with suppress(FileNotFoundError):
            hidden.unlink()


def _measure(path: Path, size: int, probe: DiskProbe, on_progress: OnProgress) -> Disk:
    num_scattered = _affordable(path, size, probe.num_small_reads)
    patterns = {
        "sequential": (LARGE, list(range(0, size, LARGE))),
        "random": (SMALL, _scattered(size, num_scattered, SMALL)),
        "random records": (MIDDLE, _scattered(size, num_scattered // 4, MIDDLE)),
    }
    seconds: dict[tuple[str, int], list[float]] = {}
    cpu: dict[str, list[float]] = {name: [] for name in patterns}
    is_direct = False
    rounds = [(repeat, name, depth) for repeat in range(probe.repeats) for name in patterns for depth in DEPTHS]
    for done, (_, name, depth) in enumerate(rounds):
        on_progress("disk", done, len(rounds))
        request, offsets = patterns[name]
        found = probe_reads(path, offsets, request, depth=depth, direct=True)
        seconds.setdefault((name, depth), []).append(found["wall_seconds"] / len(offsets))
        is_direct = bool(found["is_direct"])
        cpu[name].append(found["cpu_seconds"] / len(offsets))
    rates = {key: Measurement.of([1 / value for value in values]) for key, values in seconds.items()}
    best = {name: max(DEPTHS, key=lambda depth: rates[name, depth].median) for name in patterns}
    sequential, records = (rates[name, best[name]] for name in ("sequential", "random records"))
    small, large = (float(np.median(cpu[name])) for name in ("random", "sequential"))
    cpu_per_byte = max(0.0, (large - small) / (LARGE - SMALL))
    return Disk(
        bytes_per_second=_scaled(sequential, LARGE),
        reads_per_second=rates["random", best["random"]],
        file_seconds=Measurement.exactly(0.0),
        cpu_seconds_per_byte=cpu_per_byte,
        cpu_seconds_per_read=max(0.0, small - cpu_per_byte * SMALL),
        page_bytes=SMALL,
        depth=best["random"],
        direct=is_direct,
        seek_seconds=_seeking(records, sequential),
        probes=tuple(_probe_line(name, patterns[name][0], depth, rate) for (name, depth), rate in rates.items()),
    )


def _affordable(path: Path, size: int, most: int) -> int:
    """Return the number of random reads per round; a slow disk would take minutes for all of them."""
    trial = probe_reads(path, _scattered(size, FEWEST, SMALL), SMALL, depth=DEPTHS[-1], direct=True)
    return max(FEWEST, min(most, int(FEWEST * ROUND_SECONDS / max(trial["wall_seconds"], 1e-9))))


def _scattered(size: int, count: int, request: int) -> list[int]:
    blocks = draw(0, 0, np.arange(count)) % np.uint64(size // request)
    return [int(block) * request for block in blocks]


def _seeking(records: Measurement, sequential: Measurement) -> Measurement:
    """Return the seconds of a random read beyond those of its bytes."""
    in_a_row = MIDDLE / LARGE / sequential.median
    return Measurement(*(seek_seconds(1 / rate, in_a_row) for rate in (records.median, records.high, records.low)))


def _scaled(figure: Measurement, factor: float) -> Measurement:
    return Measurement(figure.median * factor, figure.low * factor, figure.high * factor)


def _probe_line(name: str, request: int, depth: int, rate: Measurement) -> Mapping[str, Json]:
    scaled = _scaled(rate, request)
    figure: dict[str, Json] = {"median": scaled.median, "low": scaled.low, "high": scaled.high}
    return {"pattern": name.split()[0], "request_bytes": request, "depth": depth, "bytes_per_second": figure}


def measure_opens(paths: list[bytes], repeats: int = 3) -> Measurement:
    """Measure the cost of opening one more file whose name the system already knows."""
    return Measurement.of([time_opens(paths) / max(1, len(paths)) for _ in range(repeats)])
