"""Limits and their text: `disk=200MB/s,memory=1GiB,cores=2`."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.errors import ArgumentError
from penstock.units import bytes_text, parse_bytes, parse_rate


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a run; None leaves a resource unlimited."""

    memory_bytes: int | None = None
    """Memory of all processes of the run together, including the page cache."""
    disk_bytes_per_second: float | None = None
    """Bytes per second that are read from the disk; reads from the page cache do not count."""
    disk_reads_per_second: float | None = None
    """Requests per second. A hard disk with random reads serves about a hundred."""
    cores: int | None = None

    def __post_init__(self) -> None:
        for name in ("memory_bytes", "disk_bytes_per_second", "disk_reads_per_second", "cores"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise ArgumentError(f"{name} is {value}, too little to run anything", where=name, fix="give more")

    def __str__(self) -> str:
        """Format the limits as `parse_limits` reads them; `none` without limits."""
        parts = []
        if self.disk_bytes_per_second is not None:
            parts.append(f"disk={self.disk_bytes_per_second / 1e6:g}MB/s")
        if self.disk_reads_per_second is not None:
            parts.append(f"reads={self.disk_reads_per_second:g}/s")
        if self.memory_bytes is not None:
            parts.append(f"memory={bytes_text(self.memory_bytes).replace(' ', '')}")
        if self.cores is not None:
            parts.append(f"cores={self.cores}")
        return ",".join(parts) or "none"


NO_LIMITS = Limits()


def parse_limits(text: str) -> Limits:
    """Parse limits as `--emulate` takes them.

    >>> parse_limits("disk=200MB/s,memory=1GiB,cores=2")
    Limits(memory_bytes=1073741824, disk_bytes_per_second=200000000.0, disk_reads_per_second=None, cores=2)
    """
    found: dict[str, str] = {}
    for item in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = item.partition("=")
        if not equals or name not in ("disk", "reads", "memory", "cores"):
            raise _refusal(f"{item!r} is no limit", text)
        if name in found:
            raise _refusal(f"{name!r} is limited twice", text)
        found[name] = value
    return Limits(
        memory_bytes=parse_bytes(found["memory"]) if "memory" in found else None,
        disk_bytes_per_second=parse_rate(found["disk"], name="disk") if "disk" in found else None,
        disk_reads_per_second=_reads(found["reads"], text) if "reads" in found else None,
        cores=_cores(found["cores"], text) if "cores" in found else None,
    )


def _reads(value: str, text: str) -> float:
    number = value.removesuffix("/s")
    try:
        return float(number)
    except ValueError:
        raise _refusal(f"reads is {value!r}, which is no number per second", text) from None


def _cores(value: str, text: str) -> int:
    if value.isdecimal():
        return int(value)
    raise _refusal(f"cores is {value!r}, which is no whole number", text)


def _refusal(what: str, text: str) -> ArgumentError:
    example = "disk=200MB/s,reads=100/s,memory=1GiB,cores=2"
    return ArgumentError(what, where=f"limits {text!r}", fix=f"write {example!r}, or some of it")
