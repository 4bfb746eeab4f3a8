"""Positioned reads of a local file, for parsers of containers (tar, manifests)."""

from __future__ import annotations

import os
import stat
from types import TracebackType

from penstock.errors import StorageError
from penstock.storage.refusal import refused


class InputFile:
    """Regular file that is open for positioned reads. Failures are `StorageError`s that name the path.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "greeting")
    ...     _ = path.write_bytes(b"hello")
    ...     with InputFile(path) as file:
    ...         file.size, file.read_at(1, 3), file.read_at(4, 100)
    (5, b'ell', b'o')
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        try:
            # Not blocking: a pipe among the files must be refused below, not waited for.
            self._descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError as error:
            raise refused(error, "open the file") from error
        status = os.fstat(self._descriptor)
        self.size = status.st_size
        """Size in bytes when the file was opened."""
        if not stat.S_ISREG(status.st_mode):
            self.close()
            raise StorageError(
                f"'{self.path}' is not a regular file", where=self.path, fix="name a file of data", code=400
            )

    def read_at(self, offset: int, length: int) -> bytes:
        """Read the bytes of a range; fewer only at the end of the file."""
        parts: list[bytes] = []
        while length > 0:
            try:
                part = os.pread(self._descriptor, min(length, 1 << 30), offset)
            except OSError as error:
                raise refused(error, f"read {length} bytes at byte {offset}", path=self.path) from error
            if not part:
                break
            parts.append(part)
            offset += len(part)
            length -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def close(self) -> None:
        """Close the file; it cannot be read afterwards."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> InputFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
