"""Define what a rival loader is asked for, and what it gives. Imports the standard library alone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True)
class RivalSpec:
    """The job of a rival loader, the same for all of them."""

    files: list[tuple[str, int]]
    """Path and label of every image."""
    batch_size: int
    threads: int
    """Threads or worker processes; 0 means all usable cores."""
    size: int
    """Side of the square crop; 0: whole images."""
    crop: str = "resized"
    """`resized`: a random resized crop. `plain`: a random crop. `stretch`: the whole image, resized."""
    seed: int = 0
    variant: str = ""
    """One of the rival's `VARIANTS`; empty: the first."""
    layout: str = "NCHW"
    """`NCHW` for training; `NHWC` spares a rival that makes this layout the transposition."""
    reads_disk: bool = False
    """True if epochs should read the disk instead of the page cache."""
    maps_files: bool = False
    """True if files may be mapped into memory. Mapped pages stay in the page cache when it is dropped."""
    made_file: str = ""
    """Path of the file of a rival with its own file format, which it reads or writes."""

    @property
    def num_threads(self) -> int:
        """Return the number of threads, with 0 replaced by the usable cores."""
        return self.threads or len(os.sched_getaffinity(0))


class Rival(Protocol):
    """A rival loader that is open. Its threads and processes end with the process."""

    num_images: int
    """Images of an epoch."""
    about: dict[str, Any]
    """Version of the rival, and whether its resize antialiases."""

    def epoch(self) -> Iterator[tuple[Any, Any, int]]:
        """Yield the images, labels and number of images of each batch of the next epoch."""

    def settle(self) -> None:
        """Drop the batches that were loaded ahead, so that the next epoch pays for its own."""
