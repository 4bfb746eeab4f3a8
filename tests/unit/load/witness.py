"""Which records a loader reads, as the kernel saw it: inotify on the folder of shards, one sample a shard."""

from __future__ import annotations

import ctypes
import os
import struct
from pathlib import Path

import numpy as np
import numpy.typing as npt

import penstock
from penstock.build import BuildOptions, build

ACCESS, OPENED, OVERFLOW, NONBLOCK = 0x1, 0x20, 0x4000, 0o4000  # as <sys/inotify.h> has them
EVENT = struct.Struct("iIII")
HEIGHT, WIDTH = 40, 44
SHARD_BYTES = 4096  # less than any of these records: each of them gets a shard of its own

Pixels = npt.NDArray[np.uint8]


class FolderWatch:
    """Tells the names of the files in a folder that were read, or opened, since it was last asked."""

    def __init__(self, folder: Path, event: int = ACCESS) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self._descriptor = libc.inotify_init1(NONBLOCK)
        if libc.inotify_add_watch(self._descriptor, os.fsencode(folder), event) < 0:
            raise OSError(ctypes.get_errno(), "inotify sees nothing here")

    def close(self) -> None:
        os.close(self._descriptor)

    def names(self) -> set[str]:
        """Of several reads of one file it tells one: names, not how often."""
        found: set[str] = set()
        while True:
            try:
                data = os.read(self._descriptor, 1 << 16)
            except BlockingIOError:
                return found
            begin = 0
            while begin < len(data):
                _, mask, _, length = EVENT.unpack_from(data, begin)
                assert not mask & OVERFLOW
                found.add(data[begin + EVENT.size : begin + EVENT.size + length].rstrip(b"\0").decode())
                begin += EVENT.size + length


class Witness:
    """Tells the ids of the samples that were read since it was last asked."""

    def __init__(self, dataset: Path) -> None:
        place = penstock.Dataset(dataset).locations("image")
        folder = {(dataset / name).parent for name in place.shard_files}
        assert len(folder) == 1
        assert len(set(place.file.tolist())) == len(place.file)
        self._id_of = {Path(place.shard_files[shard]).name: id_ for id_, shard in enumerate(place.file.tolist())}
        self._watch = FolderWatch(folder.pop())

    def close(self) -> None:
        self._watch.close()

    def read(self) -> set[int]:
        """Of several reads of one file it tells one: ids, not how often."""
        return {self._id_of[name] for name in self._watch.names()}


def make_scattered(folder: Path, count: int, mix: str) -> tuple[Path, Pixels]:
    """A dataset of one sample a shard, and the pixels that it was made of."""
    source = folder / "images"
    source.mkdir()
    pixels = np.empty((count, HEIGHT, WIDTH, 3), np.uint8)
    for number in range(count):
        noise = np.random.default_rng(number).integers(0, 128 + number % 129, (HEIGHT, WIDTH, 3))
        pixels[number] = noise.astype(np.uint8)
        (source / f"{number:05d}.png").write_bytes(penstock.encode(pixels[number], "png"))
    build(source, folder / "data.pen", mix=mix, options=BuildOptions(shard_bytes=SHARD_BYTES), durable=False)
    return folder / "data.pen", pixels
