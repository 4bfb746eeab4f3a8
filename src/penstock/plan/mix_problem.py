"""Planning problem in numbers: the costs of images in each format, and the limits of machine and user."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from penstock.codecs import parse_format
from penstock.errors import ArgumentError
from penstock.profile import Measurement, Profile
from penstock.rates import Capacity
from penstock.types import Floats

NO_SEEKING = Measurement.exactly(0.0)


@dataclass(frozen=True, slots=True)
class Goals:
    """Goals and resources of the user. None: as in the profile, or unlimited."""

    min_ms_ssim: float | None = None
    """Smallest mean MS-SSIM of a lossy format; None allows only formats that restore the pixels."""
    storage_bytes: int | None = None
    memory_bytes: int | None = 0
    """Size of the cache; None takes half of what the profile found."""
    compute_rate: float | None = None
    cores: float | None = None
    disk_bytes_per_second: float | None = None


@dataclass(frozen=True, slots=True)
class Problem:
    """Costs per sampled image (rows) and format (columns), and rates of the whole machine."""

    formats: tuple[str, ...]
    source: int
    """The column of the format that keeps the source as it is."""
    bytes: Floats
    cpu_seconds: Floats
    """CPU seconds of reading, decoding and transforming, on one core."""
    num_samples: int
    disk_bytes_per_second: float
    seconds_per_read: float
    """Time of a request on the disk, besides its bytes."""
    cores: float
    """Effective number of cores for a loader, if they did not disturb each other."""
    compute_rate: float
    """Training throughput of the model, in images/s; infinite if unknown."""
    memory_bytes: int
    storage_bytes: float
    page_bytes: int = 0
    """Bytes of a read beyond the record, because reads begin and end with a page."""
    seek_seconds: float = 0.0
    """Extra time of a random read over a sequential one, which a window saves."""

    @property
    def capacity(self) -> Capacity:
        """Rates of the machine, for the module that computes with them."""
        return Capacity(
            storage_bytes_per_second=self.disk_bytes_per_second,
            cores=self.cores,
            compute_rate=self.compute_rate,
            seconds_per_read=self.seconds_per_read,
            page_bytes=self.page_bytes,
        )

    @property
    def read_bytes(self) -> Floats:
        """Bytes that the disk delivers per image, in whole pages."""
        read: Floats = self.bytes + self.page_bytes
        return read

    @property
    def memory_bytes_per_sample(self) -> float:
        """Bytes of the cache per sample."""
        return self.memory_bytes / self.num_samples


def make_problem(profile: Profile, goals: Goals) -> Problem:
    """Combine a profile and goals. Raise ArgumentError if no measured format meets them."""
    allowed = [name for name in profile.formats if _is_allowed(profile, name, goals)]
    source = profile.dataset.source_format
    if source not in allowed:
        raise ArgumentError(
            f"the profile has no figures for {source!r}, the format that keeps the source",
            where="profile.formats",
            fix="measure again with `penstock profile`",
        )
    cores = goals.cores if goals.cores is not None else float(profile.cores)
    compute = goals.compute_rate or (profile.compute.median if profile.compute is not None else math.inf)
    memory = goals.memory_bytes if goals.memory_bytes is not None else profile.memory_bytes // 2
    corrections = np.array([profile.corrections(name) for name in allowed])
    size = np.stack([profile.formats[name].bytes for name in allowed], axis=1) * corrections[:, 0]
    seconds = np.stack([_cpu_seconds(profile, name) for name in allowed], axis=1) * corrections[:, 1]
    read_bytes = float(size.mean()) + profile.disk.page_bytes
    rate, seconds_per_read = _disk(profile, goals, read_bytes)
    return Problem(
        formats=tuple(allowed),
        source=allowed.index(source),
        bytes=size,
        cpu_seconds=seconds,
        num_samples=profile.dataset.num_samples,
        disk_bytes_per_second=rate,
        seconds_per_read=seconds_per_read,
        cores=profile.speedup(cores) * profile.utilisation,
        compute_rate=compute,
        memory_bytes=memory,
        storage_bytes=float(goals.storage_bytes) if goals.storage_bytes is not None else math.inf,
        page_bytes=profile.disk.page_bytes,
        seek_seconds=_beside(profile, rate, read_bytes, profile.disk.seek_seconds or NO_SEEKING),
    )


def _cpu_seconds(profile: Profile, name: str) -> Floats:
    """Return CPU seconds from disk to batch. Decode costs include the pipeline only if it was measured."""
    costs = profile.formats[name]
    if costs.pipeline is not None:
        return costs.decode_seconds
    disk = profile.disk
    seconds: Floats = costs.decode_seconds + disk.cpu_seconds_per_byte * costs.bytes + disk.cpu_seconds_per_read
    return seconds


def _disk(profile: Profile, goals: Goals, read_bytes: float) -> tuple[float, float]:
    """Return bytes per second, and seconds that a request costs beyond its bytes."""
    reads = profile.disk.reads_per_second.median
    rate = goals.disk_bytes_per_second or profile.disk.bytes_per_second.median
    return rate, _beside(profile, rate, read_bytes, Measurement.exactly(1.0 / reads if reads > 0 else 0.0))


def _beside(profile: Profile, rate: float, read_bytes: float, seconds: Measurement) -> float:
    """Return the cost of a read beyond its bytes on a disk of this rate, from that of the measured disk.

    A disk that is slower than the measured one (a throttle, a network) transfers bytes while requests overlap. So
    requests cost extra only if the measured disk itself would be the slower of the two.
    """
    measured = profile.disk.bytes_per_second.median
    return max(0.0, min(seconds.median, read_bytes / measured + seconds.median - read_bytes / rate))


def _is_allowed(profile: Profile, name: str, goals: Goals) -> bool:
    costs = profile.formats[name]
    if costs.is_exact or name == profile.dataset.source_format:
        return True
    parse_format(name)
    return goals.min_ms_ssim is not None and float(np.mean(costs.ms_ssim)) >= goals.min_ms_ssim
