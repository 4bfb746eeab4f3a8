"""Diagnosis from timings and counters: how much time is waiting, for what, and what could be gained."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from penstock.documents import Json
from penstock.rates import CORNERS, Bottleneck, bottleneck_by_usage


@dataclass(frozen=True, slots=True)
class Observed:
    """Observations of a training run."""

    num_batches: int
    wait_seconds: float
    """Time in `next()` of the loader, without the first batches."""
    step_seconds: float
    """Time between batches: the model, and everything else in the loop."""
    first_wait_seconds: float
    """Time until the first batches arrived."""
    wall_seconds: float
    cpu_seconds: float
    cores: int
    disk_bytes: int
    disk_bytes_per_second: float | None = None
    """Measured rate of the disk, if known."""
    gpu_share: float | None = None
    """Busy share of the GPUs' time; None if no GPU was seen."""
    num_workers: int | None = None
    roots: tuple[str, ...] = ()
    """Folders of the datasets that were read."""
    num_epochs: int = 1
    """Passes over a loader."""
    batch_size: int | None = None


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Bottleneck of a training run. Shares are of the time between first and last batch."""

    stall_share: float
    bottleneck: Bottleneck
    """`compute`, `decode`, `storage`, or `latency`: the loader is late although neither cores nor disk are busy."""
    cpu_share: float
    disk_share: float | None
    most_to_gain: float
    """Speed-up if the loop never waited."""
    advice: tuple[str, ...]
    gpu_share: float | None = None

    @property
    def triangle(self) -> tuple[float, float, float]:
        """Liquid's triangle: utilisation of compute (goodput), decode (cores) and storage; 0 if unknown.

        Goodput is the rate divided by the rate with all data in memory. That rate is estimated from the steps: without
        waiting, a run of `wait + step` seconds would take `step` seconds.
        """
        return 1 - self.stall_share, self.cpu_share, min(1.0, self.disk_share or 0.0)

    def as_dict(self) -> dict[str, Json]:
        """Convert the diagnosis for `--json` and reports."""
        members = asdict(self)
        triangle: dict[str, Json] = dict(zip(CORNERS, self.triangle, strict=True))
        return members | {"advice": list(self.advice), "triangle": triangle}


def diagnose_run(observed: Observed) -> Diagnosis:
    """Name the bottleneck of a run.

    >>> run = Observed(100, 6.0, 4.0, 0.5, 11.0, 20.0, 2, 0)
    >>> found = diagnose_run(run)
    >>> found.bottleneck, found.stall_share, round(found.most_to_gain, 2)
    ('decode', 0.6, 2.5)
    """
    timed = observed.wait_seconds + observed.step_seconds
    stall = observed.wait_seconds / timed if timed > 0 else 0.0
    cpu = observed.cpu_seconds / (observed.wall_seconds * observed.cores) if observed.wall_seconds > 0 else 0.0
    disk = None
    if observed.disk_bytes_per_second is not None and observed.wall_seconds > 0:
        disk = observed.disk_bytes / observed.wall_seconds / observed.disk_bytes_per_second
    bottleneck = bottleneck_by_usage(stall, cpu, disk)
    gain = timed / observed.step_seconds if observed.step_seconds > 0 else float("inf")
    advice = tuple(_advice(observed, bottleneck, stall, gain))
    return Diagnosis(stall, bottleneck, min(cpu, 1.0), disk, gain, advice, observed.gpu_share)


def _advice(observed: Observed, bottleneck: str, stall: float, gain: float) -> list[str]:
    if observed.num_batches == 0:
        return ["No batch of a torch DataLoader was seen: does the command train in this process, and for long enough?"]
    if bottleneck == "compute":
        return [f"Only {stall:.0%} of the time is spent waiting for data: a faster loader buys next to nothing."]
    said = [f"{stall:.0%} of the time is spent waiting for data; without it training would be {gain:.2f} times faster."]
    if bottleneck == "decode":
        said.append(
            "The cores are busy: decode less (regions, a format that decodes faster), or use fewer copies in Python."
        )
    if bottleneck == "storage":
        said.append("The disk is busy: smaller formats, or a cache that keeps what it read, would spare it.")
    if bottleneck == "latency":
        workers = "It has no workers: start with num_workers > 0, " if observed.num_workers == 0 else "More workers, "
        said.append("Neither cores nor disk are busy: batches are made one after the other.")
        said.append(workers + "or a loader that reads ahead, would overlap them.")
    for root in observed.roots:
        said.append(f"To see what Penstock would do: penstock profile {root}, then penstock plan profile.json")
    return said
