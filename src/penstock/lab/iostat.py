"""Disk reads during a training run, from sysstat's `iostat -o JSON` and the ends of its epochs. Pure functions."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from datetime import datetime
from statistics import fmean

from penstock.errors import ArgumentError
from penstock.lab.dllogger import Epoch

STAMP = "%m/%d/%y %H:%M:%S"


def read_samples(data: bytes, where: str) -> list[tuple[datetime, float]]:
    """Return (end of the second, bytes read from all disks) of every sample."""
    try:
        (host,) = json.loads(data)["sysstat"]["hosts"]
        return [
            (_moment(sample["timestamp"]), 1024.0 * sum(disk["kB_read"] for disk in sample["disk"]))
            for sample in host["statistics"]
        ]
    except (ValueError, KeyError, TypeError) as cause:
        raise ArgumentError(
            "this is not an output of iostat -o JSON with dates", where=where, fix="leave the run out"
        ) from cause


def bytes_per_epoch(samples: Sequence[tuple[datetime, float]], epochs: Sequence[Epoch]) -> float | None:
    """Return the mean bytes over the epochs after the first, each from the end of the one before; None without.

    >>> ends = [Epoch(number, ended=f"2021-09-06 06:0{number}:00.5") for number in (1, 2, 3)]
    >>> at = [(datetime(2021, 9, 6, 6, minute, 30), float(minute)) for minute in (0, 1, 2)]
    >>> bytes_per_epoch(at, ends)
    1.5
    """
    ends = [datetime.fromisoformat(epoch.ended) for epoch in epochs if epoch.ended]
    read = [sum(count for moment, count in samples if begin < moment <= end) for begin, end in itertools.pairwise(ends)]
    return fmean(read) if read else None


def _moment(text: str) -> datetime:
    return datetime.strptime(text, STAMP)  # of the machine's own clock, as the report's are
