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
    """Bytes `offset` to `offset` + `length` of a file; fewer only if it ends before."""
    return _native.read_range(os.fsencode(path), offset, length)


def write_file(
    path: str | os.PathLike[str],
    data: Buffer,
    *,
    durable: bool = False,
    work_folder: str | os.PathLike[str] | None = None,
) -> None:
    """Publish `data` at `path`: readers see what was there before, or all of it, never a part.

    A failed write (disk full, no permission) leaves no file behind and an older file as it was.
    The folder must exist. `durable` waits until the disk holds it, so that it survives a power cut. A killed process
    may leave a hidden file beside `path`, or in `work_folder`, which must be on the same disk.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_file(Path(folder) / "greeting", b"hello")
    ...     read_file(Path(folder) / "greeting")
    b'hello'
    """
    _native.write_file(os.fsencode(path), data, durable, b"" if work_folder is None else os.fsencode(work_folder))


def make_folders(path: str | os.PathLike[str]) -> None:
    """Create a folder and those above it, unless they exist."""
    _native.make_folders(os.fsencode(path))


def file_checksum(path: str | os.PathLike[str]) -> tuple[int, int]:
    """Size and CRC-32C of a file, which is read once from end to end."""
    return _native.file_checksum(os.fsencode(path))


class AppendFile:
    """A new file that grows under a work name and is put in its place when it is whole."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._file: _native.AppendFile | None = _native.AppendFile(os.fsencode(path))

    def append(self, data: Buffer) -> None:
        """Write behind what is there."""
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
    """Time reads of `request_bytes` at each offset, `depth` of them under way, past the page cache if `direct`.

    Gives `wall_seconds`, `cpu_seconds`, `num_bytes`, `is_direct` and `used_ring` (otherwise one after the other).
    Offsets and length are multiples of 4096.
    """
    return _native.probe_reads(os.fsencode(path), offsets, request_bytes, depth, direct, disk_limit())


def disk_limit() -> _native.ReadLimit | None:
    """The slower disk that this process is to pretend, one for all its readers; None if it has none to pretend."""
    return _limit_of(os.environ.get(EMULATED_DISK, ""))


@functools.cache
def _limit_of(text: str) -> _native.ReadLimit | None:
    disk = EmulatedDisk.of_text(text)
    return _native.ReadLimit(disk.bytes_per_second or 0.0, disk.reads_per_second or 0.0) if disk else None


atexit.register(_limit_of.cache_clear)  # an object of the extension must not outlive it


def time_opens(paths: list[bytes]) -> float:
    """Seconds that opening and closing these files takes, one after the other."""
    begin = time.perf_counter()
    for path in paths:
        os.close(os.open(path, os.O_RDONLY | os.O_CLOEXEC))
    return time.perf_counter() - begin


def append_line(path: str | os.PathLike[str], line: Buffer) -> None:
    """Add a line, and its end, to a file that grows; made if it is not there.

    One write, so a kill leaves at most a half line at the end, which the next call takes away.
    """
    with open(path, "ab+", buffering=0) as file:  # noqa: PTH123
        file.seek(0)
        there = file.read() or b""
        file.truncate(there.rfind(b"\n") + 1)
        file.write(bytes(line) + b"\n")


def drop_cached(path: str | os.PathLike[str], *, is_on_disk: bool = False) -> None:
    """Let the page cache forget a file, or every file below a folder: what reads it next reads the disk.

    Pages that are not on the disk yet are written first, unless it is known that there are none. Another process
    that maps the file may keep its pages.
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
