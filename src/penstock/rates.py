"""Compute the rates of a data pipeline, and name the stage that limits it.

This is the only module with this arithmetic: the loader's statistics, `plan`, `doctor`, `lab` and the reports call it.
It is pure: it measures nothing and reads nothing.

A pipeline has up to four stages that work side by side. `storage` reads bytes, `decode` keeps the cores busy with
native code, `python` runs transforms written in Python, and `compute` is the model. The slowest stage is the
bottleneck. A loader can also be late although no stage is busy, because batches are made one after the other: that is
`latency`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeVar

from penstock.errors import ArgumentError
from penstock.types import Floats

Bottleneck = Literal["storage", "decode", "python", "compute", "latency"]

BOTTLENECKS: tuple[Bottleneck, ...] = ("storage", "decode", "python", "compute", "latency")
"""The words for what limits a pipeline, in every document, table and chart."""

CORNERS = ("compute", "decode", "storage")
"""The corners of a utilisation triangle: how busy the model, the cores and the disk are."""

CLOSE = 0.9
"""A run that reaches this share of another run's rate is not limited by the difference between them."""

LITTLE_STALL = 0.05
"""Below this share of waiting, the model is the bottleneck."""

BUSY = 0.85
"""A resource that is used more than this share of the time counts as saturated."""

PATIENT_SHARE = 0.02
"""A consumer that waits less than this share of the time is not waiting for its loader."""

_FORMER_WORDS: Mapping[str, Bottleneck] = {
    "read": "storage",
    "disk": "storage",
    "cpu": "decode",
    "preparation": "decode",
    "consumer": "compute",
    "model": "compute",
}
"""Version 0.1 wrote these into plans, results and printed JSON."""

Amount = TypeVar("Amount", float, Floats)


def read_bottleneck(word: str) -> Bottleneck:
    """Translate a bottleneck from a document, which may be written with the words of version 0.1.

    >>> read_bottleneck("cpu"), read_bottleneck("storage")
    ('decode', 'storage')
    """
    found = _FORMER_WORDS.get(word)
    if found is not None:
        return found
    for known in BOTTLENECKS:
        if word == known:
            return known
    raise ArgumentError(f"{word!r} is not a bottleneck", where="bottleneck", fix=f"use one of {', '.join(BOTTLENECKS)}")


@dataclass(frozen=True, slots=True)
class Rates:
    """The rate of each stage alone, in images per second, and what a mean image costs."""

    load: float
    decode: float
    compute: float
    bytes_per_image: float
    cached_share: float
    """Share of the samples that the cache serves."""

    @property
    def prep(self) -> float:
        """Return the rate at which batches reach a model that never makes the loader wait."""
        return min(self.load, self.decode)

    @property
    def end_to_end(self) -> float:
        """Return the rate of the slowest stage."""
        return min(self.load, self.decode, self.compute)

    @property
    def bottleneck(self) -> Bottleneck:
        """Name the slowest stage; ties are resolved in the order compute, decode, storage."""
        slowest = self.end_to_end * (1 + 1e-9)
        if self.compute <= slowest:
            return "compute"
        return "decode" if self.decode <= slowest else "storage"


@dataclass(frozen=True, slots=True)
class Capacity:
    """The speed of the machine that a pipeline runs on."""

    storage_bytes_per_second: float
    cores: float
    """The cores' combined throughput, in units of one undisturbed core."""
    compute_rate: float = math.inf
    """Training throughput of the model, in images/s; infinite if it is not known."""
    seconds_per_read: float = 0.0
    """Storage time of a request beyond the transfer of its bytes."""
    page_bytes: int = 0
    """Bytes read beyond a record, because reads begin and end at page boundaries."""

    def transfer_seconds(self, size: Amount) -> Amount:
        """Return how long storage takes to transfer one read of `size` bytes (a number or an array)."""
        return (size + self.page_bytes) / self.storage_bytes_per_second

    def storage_seconds(self, size: float, cached_share: float = 0.0) -> float:
        """Return the storage time of a sample of `size` bytes; cached samples cost none."""
        return (1 - cached_share) * (self.transfer_seconds(size) + self.seconds_per_read)

    def decode_seconds(self, cpu_seconds: Amount) -> Amount:
        """Return the time in which all cores together do `cpu_seconds` of work (a number or an array)."""
        return cpu_seconds / self.cores

    def rates(self, size: float, cpu_seconds: float, cached_share: float = 0.0) -> Rates:
        """Return the rates for samples of `size` bytes that take `cpu_seconds` of one core.

        >>> Capacity(storage_bytes_per_second=100e6, cores=2).rates(100e3, 4e-3, cached_share=0.5).bottleneck
        'decode'
        """
        return Rates(
            load=per_second(self.storage_seconds(size, cached_share)),
            decode=per_second(self.decode_seconds(cpu_seconds)),
            compute=self.compute_rate,
            bytes_per_image=size,
            cached_share=cached_share,
        )

    def cached_share_for(self, size: float, rate: float) -> float:
        """Return the share of samples that must be cached for storage to deliver `rate` images per second.

        >>> Capacity(storage_bytes_per_second=100e6, cores=2).cached_share_for(1e6, 200.0)
        0.5
        """
        return max(0.0, 1 - 1 / rate / self.storage_seconds(size))


def per_second(seconds: float) -> float:
    """Return how many things of this duration fit in a second; infinitely many if they take no time.

    >>> per_second(0.25), per_second(0.0)
    (4.0, inf)
    """
    return 1 / seconds if seconds > 0 else math.inf


def share_in_memory(memory_bytes: float, total_bytes: float) -> float:
    """Return the share of the data that fits in memory, between 0 and 1.

    >>> share_in_memory(30, 100), share_in_memory(200, 100), share_in_memory(10, 0)
    (0.3, 1.0, 1.0)
    """
    return min(max(memory_bytes / total_bytes, 0.0), 1.0) if total_bytes > 0 else 1.0


def slowest_seconds(*stage_seconds: float) -> float:
    """Return the time per sample of stages that work side by side: the slowest one's.

    >>> slowest_seconds(0.001, 0.004)
    0.004
    """
    return max(stage_seconds)


def reads_rate(bytes_per_second: float, reads_per_second: float, record_bytes: float, run: int = 1) -> float:
    """Return how many records per second a disk delivers when one request reads `run` neighbouring records.

    >>> round(reads_rate(150e6, 120, 100_000)), round(reads_rate(150e6, 120, 100_000, run=64))
    (111, 1255)
    """
    return run / (1 / reads_per_second + run * record_bytes / bytes_per_second)


def loading_rate(fetch: float, prepare: float, cached_share: float = 0.0, compute: float = math.inf) -> float:
    """Return DS-Analyzer's rate: the slowest of fetching, preparing and computing. Cached samples are not fetched.

    >>> loading_rate(100.0, 500.0, cached_share=0.5), loading_rate(100.0, 500.0, cached_share=0.9)
    (200.0, 500.0)
    """
    left = 1 - cached_share
    return min(fetch / left if left > 0 else math.inf, prepare, compute)


def mixed_rate(first: float, second: float, share: float) -> float:
    """Return a stage's rate over a mix with this share of the second format: times per image add up.

    >>> mixed_rate(100.0, 300.0, 0.5)
    150.0
    """
    return 1 / ((1 - share) / first + share / second)


def best_share(load: tuple[float, float], decode: tuple[float, float]) -> float:
    """Return the share of the second format at which the slower of both stages is fastest.

    `load` and `decode` are each stage's rates with the first and with the second format alone. The optimum is at one
    end, or where the stages cross: times per image are linear in the share.

    >>> round(best_share((400.0, 100.0), (100.0, 1000.0)), 3)
    0.455
    >>> best_share((400.0, 500.0), (100.0, 1000.0))
    1.0
    """
    candidates = [0.0, 1.0]
    gap_first = 1 / load[0] - 1 / decode[0]
    gap_second = 1 / load[1] - 1 / decode[1]
    if gap_first * gap_second < 0:
        candidates.append(crossing(gap_first, gap_second))
    return max(candidates, key=lambda share: min(mixed_rate(*load, share), mixed_rate(*decode, share)))


def crossing(gap_first: float, gap_second: float) -> float:
    """Return where a line from `gap_first` at 0 to `gap_second` at 1 is zero; the signs must differ.

    >>> crossing(1.0, -3.0)
    0.25
    """
    return gap_first / (gap_first - gap_second)


def break_even_bandwidth(sizes: tuple[float, float], decode_seconds: tuple[float, float]) -> float:
    """Return the storage bandwidth, in bytes per second, at which mixing two formats has most to gain.

    If one format is smaller and the other decodes faster, each alone is equally fast at this bandwidth: the small one
    is limited by decoding, the large one by storage. If one format is both smaller and faster, mixing gains nothing at
    any bandwidth; the result is the one at which half of each takes as long to read as to decode.

    >>> break_even_bandwidth((100e3, 400e3), (1e-3, 1e-4)), break_even_bandwidth((100e3, 400e3), (1e-4, 1e-3))
    (400000000.0, 454545454.5454545)
    """
    first, second = zip(sizes, decode_seconds, strict=True)
    small, large = sorted((first, second))
    if large[1] < small[1]:
        return large[0] / small[1]
    return sum(sizes) / sum(decode_seconds)


def bottleneck_by_difference(from_disk: float, from_memory: float, synthetic: float) -> Bottleneck:
    """Name the bottleneck from the rates of three runs, each of which leaves out one more cause.

    >>> bottleneck_by_difference(200, 1000, 1050), bottleneck_by_difference(2500, 2600, 8500)
    ('storage', 'decode')
    >>> bottleneck_by_difference(1000, 1010, 1050)
    'compute'
    """
    if from_disk < CLOSE * min(from_memory, synthetic):
        return "storage"
    return "decode" if from_memory < CLOSE * synthetic else "compute"


def bottleneck_by_usage(stall_share: float, core_share: float, storage_share: float | None) -> Bottleneck:
    """Name the bottleneck of a run from how long it waited for data and how busy cores and storage were.

    Pass None for storage whose maximum bandwidth is not known.

    >>> bottleneck_by_usage(0.6, 0.9, None), bottleneck_by_usage(0.6, 0.9, 0.95), bottleneck_by_usage(0.6, 0.1, 0.2)
    ('decode', 'storage', 'latency')
    """
    if stall_share < LITTLE_STALL:
        return "compute"
    if storage_share is not None and storage_share >= BUSY and storage_share >= core_share:
        return "storage"
    return "decode" if core_share >= BUSY else "latency"


def bottleneck_by_stages(stages: Mapping[str, Mapping[str, float]], seconds: float) -> Bottleneck | Literal[""]:
    """Name the stage of a loader that the others waited for; "" before anything ran.

    `stages` has the `busy_seconds` and `wait_seconds` of `storage`, `decode` and `compute`, and of `python` if there
    are transforms in Python. `seconds` is how long the loader ran.
    """
    if seconds == 0:
        return ""
    waited = stages["compute"]["wait_seconds"]
    if waited < PATIENT_SHARE * seconds:
        return "compute"
    if "python" in stages and 2 * stages["python"]["wait_seconds"] >= waited:
        return "python"
    return "decode" if stages["decode"]["busy_seconds"] >= stages["decode"]["wait_seconds"] else "storage"
