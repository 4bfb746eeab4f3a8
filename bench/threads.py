"""Do two Python threads get 1.8 times as much done as one (1.85 with Weir)? They do if the GIL is released.

The answer is the median over many short rounds, each of which runs one thread and two threads side by side. The best
round of each would compare luck: one thread alone now and then meets a core that runs a third faster than usual (an
idle neighbour on the host, a higher clock); two threads hardly ever meet two of them at once.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

import penstock
from bench.corpus import files_of
from bench.timing import Session, arguments
from penstock.codecs import Format, find, names, parse_format
from penstock.codecs.native import NativeCodec
from penstock.errors import CodecError
from penstock.types import Pixels

GOAL, WEIR_GOAL = 1.8, 1.85
ROUND_SECONDS = 0.06  # short, so that both sides of a round meet the same clock and the same neighbours
EXTRA_FORMATS = ("webp:lossless", "weir:fast", "weir:dense")


def main() -> None:
    """Measure every native codec that writes; exit 1 if one misses the goal."""
    parser = arguments(__doc__ or "")
    parser.set_defaults(limit=24, rounds=51)
    parser.add_argument("--formats", default="", help="Formats, separated by commas; all native ones if empty.")
    options = parser.parse_args()
    pixels = [penstock.decode(path.read_bytes()) for path in files_of("imagenet", options.limit)]
    missed = []
    for format in formats_of(options.formats):
        for action, found in measure(format, pixels, rounds=options.rounds, record=options.record).items():
            if found < goal_of(format):
                missed.append(f"{action} {format} {found:.2f} < {goal_of(format)}")
    if missed:
        sys.exit("too little: " + ", ".join(missed))


def goal_of(format: Format) -> float:
    """Return the required speed of two threads relative to one."""
    return WEIR_GOAL if format.codec == "weir" else GOAL


def measure(format: Format, pixels: Sequence[Pixels], *, rounds: int, record: bool) -> dict[str, float]:
    """Measure the median speed of two threads relative to one, for decoding and encoding."""
    held, encoded = encode_all(format, pixels)
    jobs: dict[str, Job] = {
        "decode": Job(penstock.decode, encoded),
        "encode": Job(lambda image: penstock.encode(image, format), held),
    }
    found = {}
    for action, job in jobs.items():
        question = f"Do two threads {action} {format} {goal_of(format)} times as fast as one?"
        with Session(
            "threads", question, "imagenet", len(job.items), threads=2, rounds=rounds, record=record
        ) as session:
            timings = session.compare(
                {"one thread": job.on_one_thread, "two threads": job.on_two_threads},
                verify=lambda: verify(held, encoded),
                clock=job.clock,
            )
            amount_bytes = 2 * job.passes * sum(image.nbytes for image in held[: len(job.items)])
            ratios = session.report(
                timings, baseline="one thread", amount_bytes=amount_bytes, format=str(format), action=action
            )
        found[action] = ratios["two threads"].median
    return found


class Job:
    """The same work over all items, 2 n times: on one thread, or n times on each of two.

    `clock` counts the seconds that the slower thread took, less those in which it was ready and had no core: what
    neighbours on the machine take is not held against us, waiting for the GIL or for a lock is.
    """

    def __init__(self, work: Callable[..., object], items: Sequence[object]) -> None:
        self.work, self.items = work, items
        self._elapsed_seconds = 0.0
        begin = time.thread_time()
        for number, item in enumerate(items):
            work(item)
            if time.thread_time() - begin > ROUND_SECONDS:
                self.items = items[: number + 1]  # a slow encoder says as much on a few images
                break
        self.passes = math.ceil(ROUND_SECONDS / 2 / (time.thread_time() - begin))

    def on_one_thread(self) -> None:
        self._run(2 * self.passes)

    def on_two_threads(self) -> None:
        self._run(self.passes, self.passes)

    def clock(self) -> float:
        return self._elapsed_seconds

    def _run(self, *passes: int) -> None:
        # One thread is not the main thread either: malloc treats that one differently.
        with ThreadPoolExecutor(len(passes)) as pool:
            self._elapsed_seconds += max(pool.map(self._do, passes))

    def _do(self, passes: int) -> float:
        begin, delay = time.perf_counter(), seconds_without_a_core()
        for _ in range(passes):
            for item in self.items:
                self.work(item)
        return time.perf_counter() - begin - (seconds_without_a_core() - delay)


def seconds_without_a_core() -> float:
    """Return the time that the calling thread was ready to run without getting a core."""
    return int(Path("/proc/thread-self/schedstat").read_text().split()[1]) / 1e9


def formats_of(text: str) -> list[Format]:
    """Return the requested formats, or all that native codecs write."""
    if text:
        return [parse_format(part) for part in text.split(",")]
    codecs = [name for name in names() if isinstance(find(name), NativeCodec) and find(name).can_encode]
    extras = [text for text in EXTRA_FORMATS if text.partition(":")[0] in codecs]
    return list(dict.fromkeys(parse_format(text) for text in (*codecs, *extras)))


def encode_all(format: Format, pixels: Sequence[Pixels]) -> tuple[list[Pixels], list[bytes]]:
    """Return the images that the format holds, and their files."""
    held, encoded = [], []
    for image in pixels:
        try:
            encoded.append(penstock.encode(image, format))
        except CodecError:
            continue
        held.append(image)
    return held, encoded


def verify(pixels: Sequence[Pixels], encoded: Sequence[bytes]) -> None:
    """Check that two threads give the pixels of one, with the shapes of the source."""
    with ThreadPoolExecutor(2) as pool:
        together = list(pool.map(penstock.decode, encoded))
    for image, data, decoded in zip(pixels, encoded, together, strict=True):
        assert decoded.shape == image.shape
        assert np.array_equal(decoded, penstock.decode(data))


if __name__ == "__main__":
    main()
