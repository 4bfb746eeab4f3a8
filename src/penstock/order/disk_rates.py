"""Choice of how to read a dataset from a disk: record by record in any order, or runs of neighbours. Pure arithmetic.

A disk with fast random reads loses nothing with a full permutation. On a slow one, a run of records costs one request
instead of many; a window gives up some of the shuffling for that.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, inf

from penstock.order.window import WINDOW_LANES, Window
from penstock.rates import reads_rate

NOISE = 1.25  # reads of records that take so many times longer than their bytes are no sign of seeking
WORTH_IT = 1.25  # so many times faster must runs be: a window shuffles less, and a little speed is no reason
SEEKING_SHARE = 0.1  # of the time of a run that may go into its request
MOST_RUN_BYTES = 16 << 20  # a run waits in memory, one a lane and format


@dataclass(frozen=True, slots=True)
class DiskRates:
    """Measured rates of a disk, with large sequential reads and with single random requests."""

    bytes_per_second: float
    reads_per_second: float

    def records_per_second(self, record_bytes: float, run: int = 1) -> float:
        """Return the number of records per second, with `run` records per request.

        >>> hdd = DiskRates(bytes_per_second=150e6, reads_per_second=120)
        >>> round(hdd.records_per_second(100_000)), round(hdd.records_per_second(100_000, run=64))
        (111, 1255)
        """
        return reads_rate(self.bytes_per_second, self.reads_per_second, record_bytes, run)


def seek_seconds(scattered_seconds: float, in_a_row_seconds: float) -> float:
    """Return how much longer a random read takes than a sequential one; 0 if the difference may be noise.

    >>> seek_seconds(8.3e-3, 0.3e-3), seek_seconds(0.35e-3, 0.3e-3)
    (0.008, 0.0)
    """
    return scattered_seconds - in_a_row_seconds if scattered_seconds > NOISE * in_a_row_seconds else 0.0


def choose_window(
    disk: DiskRates, record_bytes: float, num_samples: int, *, most_open_bytes: float = inf, num_formats: int = 1
) -> Window | None:
    """Return the window that a disk needs for records of this mean size; None if it needs none.

    At most `most_open_bytes` may wait in memory for their batches: about one window per lane and format.

    >>> choose_window(DiskRates(2e9, 200_000), 100_000, 50_000) is None
    True
    >>> choose_window(DiskRates(150e6, 120), 100_000, 50_000)
    Window(run=113, runs=2)
    """
    wanted = ceil(disk.bytes_per_second / (disk.reads_per_second * record_bytes * SEEKING_SHARE / (1 - SEEKING_SHARE)))
    most_bytes = min(MOST_RUN_BYTES, most_open_bytes / (WINDOW_LANES * num_formats * Window(1).runs))
    run = max(1, min(wanted, int(most_bytes // max(record_bytes, 1)), num_samples // 64))
    gain = disk.records_per_second(record_bytes, run) / disk.records_per_second(record_bytes)
    return Window(run) if run > 1 and gain >= WORTH_IT else None
