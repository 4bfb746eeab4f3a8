"""Whole files of a local disk. Failures are `StorageError`s that name the path, with `errno` set."""

from __future__ import annotations

import atexit
import functools
import os
import stat
import time

from penstock import _native
from penstock.machine import EMULATED_DISK, EmulatedDisk
from penstock.storage.refusal import refused
from penstock.types import Buffer

NO_LIMIT = 2**63 - 1


def read_file(path: str | os.PathLike[str], *, max_bytes: int = NO_LIMIT) -> bytes:
    """Read a whole regular file.

    Pipes and devices are refused at once, because reading one may never end; so is a file of more than `max_bytes`.
    """
    return _native.read_file(os.fsencode(path), max_bytes)


def read_input(path: str | os.PathLike[str]) -> bytes:
    """Read a file that the user named, to its end; it may be a pipe or a device. An interrupt ends the wait."""
    try:
        is_special = stat.S_IFMT(os.stat(path).st_mode) not in (stat.S_IFREG, stat.S_IFDIR)  # noqa: PTH116
    except (OSError, ValueError):
        is_special = False  # `read_file` says what is wrong
    if not is_special:
        return read_file(path)
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - in Python, whose reads a signal interrupts
            return file.read()
    except OSError as error:
        raise refused(error, "read", path=path) from error


def read_range(path: str | os.PathLike[str], offset: int, length: int) -> bytes:
    """Read bytes `offset` to `offset` + `length` of a file; fewer only if it ends before."""
    return _native.read_range(os.fsencode(path), offset, length)


def write_file(
    path: str | os.PathLike[str],
    data: Buffer,
    *,
    durable: bool = False,
    work_folder: str | os.PathLike[str] | None = None,
) -> None:
    """Publish `data` at `path`: readers see the old file or all of the new one, never a part.

    A failed write (disk full, no permission) leaves no file behind and does not change an older file. The folder must
    exist. `durable` waits until the disk holds the file, so that it survives a power cut. A killed process may leave a
    hidden file next to `path`, or in `work_folder`, which must be on the same disk.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_file(Path(folder) / "greeting", b"hello")
    ...     read_file(Path(folder) / "greeting")
    b'hello'
    """
    _native.write_file(os.fsencode(path), data, durable, b"" if work_folder is None else os.fsencode(work_folder))


def make_folders(path: str | os.PathLike[str]) -> None:
    """Create a folder and its parents if they do not exist."""
    _native.make_folders(os.fsencode(path))


def file_checksum(path: str | os.PathLike[str]) -> tuple[int, int]:
    """Return size and CRC-32C of a file, which is read once."""
    return _native.file_checksum(os.fsencode(path))


class AppendFile:
    """New file that grows under a work name, and gets its name when it is complete."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._file: _native.AppendFile | None = _native.AppendFile(os.fsencode(path))

    def append(self, data: Buffer) -> None:
        """Append data to the file."""
        assert self._file is not None, "the file is closed"
        self._file.append(data)

    def publish(self, path: str | os.PathLike[str]) -> None:
        """Wait until the disk holds the file, then rename it."""
        assert self._file is not None, "the file is closed"
        self._file.publish(os.fsencode(path))

    def __enter__(self) -> AppendFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._file = None


def probe_reads(
    path: str | os.PathLike[str], offsets: list[int], request_bytes: int, *, depth: int, direct: bool
) -> dict[str, float]:
    """Time reads of `request_bytes` at each offset, with `depth` in flight, past the page cache if `direct`.

    Returns `wall_seconds`, `cpu_seconds`, `num_bytes`, `is_direct` and `used_ring` (otherwise one after the other).
    Offsets and length are multiples of 4096.
    """
    return _native.probe_reads(os.fsencode(path), offsets, request_bytes, depth, direct, disk_limit())


def disk_limit() -> _native.ReadLimit | None:
    """Return the emulated disk of this process, shared by all its readers; None if there is no limit."""
    return _limit_of(os.environ.get(EMULATED_DISK, ""))


@functools.cache
def _limit_of(text: str) -> _native.ReadLimit | None:
    disk = EmulatedDisk.of_text(text)
    return _native.ReadLimit(disk.bytes_per_second or 0.0, disk.reads_per_second or 0.0) if disk else None


atexit.register(_limit_of.cache_clear)  # an object of the extension must not outlive it


def time_opens(paths: list[bytes]) -> float:
    """Return the seconds that opening and closing these files takes, one after the other."""
    begin = time.perf_counter()
    for path in paths:
        os.close(os.open(path, os.O_RDONLY | os.O_CLOEXEC))
    return time.perf_counter() - begin


def append_line(path: str | os.PathLike[str], line: Buffer) -> None:
    """Append a line to a file, which is created if it does not exist.

    The line is one write, so a kill leaves at most a partial line at the end, which the next call removes.
    """
    with open(path, "ab+", buffering=0) as file:  # noqa: PTH123
        file.seek(0)
        there = file.read() or b""
        file.truncate(there.rfind(b"\n") + 1)
        file.write(bytes(line) + b"\n")


def drop_cached(path: str | os.PathLike[str], *, is_on_disk: bool = False) -> None:
    """Drop a file, or all files below a folder, from the page cache, so that the next read uses the disk.

    Pages that are not on the disk yet are written first, unless `is_on_disk` says that all are. If another process maps
    the file, its pages may stay.
    """
    place = os.fspath(path)
    names = [os.path.join(folder, name) for folder, _, found in os.walk(place) for name in found] or [place]  # noqa: PTH118
    for name in names:
        descriptor = os.open(name, os.O_RDONLY | os.O_CLOEXEC)
        try:
            if not is_on_disk:
                os.fdatasync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)
