"""A folder of a local disk as a store."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from penstock.storage.local import make_folders, read_file, read_range, write_file
from penstock.storage.object_tree import Entry, ObjectFolder, Tree, no_check
from penstock.storage.paths import first_names, is_folder
from penstock.storage.ranges import InputFile, ObjectReader
from penstock.storage.refusal import refused
from penstock.storage.store import NO_LIMIT, ByteRange, Store, StoredObject, check_object_name
from penstock.storage.tree import list_tree, walk_tree
from penstock.types import Buffer

WORK_SUFFIX = ".penstock-part"


class LocalStore(Store):
    """Store of the files below a folder. Hidden files, pipes and devices are not objects.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = LocalStore(folder)
    ...     store.publish("a/greeting", b"hello")
    ...     [found.name for found in store.list("a/")], store.read("a/greeting")
    (['a/greeting'], b'hello')
    """

    root: Path

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = Path(root)

    @property
    def place(self) -> str:
        """Path of the folder."""
        return str(self.root)

    def list(self, prefix: str = "") -> Iterator[StoredObject]:
        """Yield the files whose names begin with a prefix; none if the folder does not exist."""
        if self.root.is_dir():
            tree = list_tree(self.root)
            for name in tree.files:
                if name.startswith(prefix):
                    status = os.stat(tree.path(name))  # noqa: PTH116
                    yield StoredObject(name, status.st_size, status.st_mtime_ns)

    def size(self, name: str) -> int | None:
        """Return the size of a file; None if there is no regular file of that name."""
        check_object_name(name)
        try:
            found = os.stat(self.root / name)  # noqa: PTH116
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise refused(error, "look at the file", path=self.root / name) from error
        return found.st_size if stat.S_ISREG(found.st_mode) else None

    def read(self, name: str, *, max_bytes: int = NO_LIMIT) -> bytes:
        """Return a whole file."""
        check_object_name(name)
        return read_file(self.root / name, max_bytes=max_bytes)

    def read_ranges(self, name: str, ranges: Sequence[ByteRange]) -> Sequence[bytes]:
        """Return the bytes of some ranges."""
        check_object_name(name)
        found: list[bytes] = []
        for wanted in ranges:
            found.append(read_range(self.root / name, wanted.offset, wanted.length))
            if len(found[-1]) < wanted.length:
                raise self.too_short(name, wanted, self.size(name) or 0)
        if not ranges and self.size(name) is None:
            raise self.missing(name)
        return found

    def publish(self, name: str, data: Buffer) -> None:
        """Write a file once: under a hidden name first, then linked to its own, which fails if there is one."""
        check_object_name(name)
        target = self.root / name
        make_folders(target.parent)
        work = target.with_name(f".{target.name}.{os.urandom(4).hex()}{WORK_SUFFIX}")
        write_file(work, data)
        try:
            os.link(work, target)
        except FileExistsError:
            raise self.exists_already(name) from None
        except OSError as error:
            raise refused(error, "publish the file", path=target, code=420) from error
        finally:
            with suppress(OSError):
                work.unlink()

    def is_folder(self, name: str) -> bool:
        """Tell whether a path is a folder, be it an empty one."""
        return is_folder(self.root / name)

    def names_in(self, folder: str, most: int | None = None) -> dict[str, bool]:
        """Return visible names in a folder, in no special order. Raises plain `OSError`."""
        return first_names(self.root / folder, most)

    def tree(self, folder: str = "") -> Tree:
        """Return the names of all files below a folder; links are followed."""
        return list_tree(self.root / folder)

    def folders(self, folder: str = "", check: Callable[[Entry], None] = no_check) -> Iterator[ObjectFolder]:
        """Yield a folder and those below it; no file is looked at before its entry is asked."""
        return walk_tree(self.root / folder, check=check)

    def open_object(self, name: str) -> ObjectReader:
        """Open a file for positioned reads."""
        check_object_name(name)
        return InputFile(self.root / name)

    def where(self, name: str) -> str:
        """Return the path of a file."""
        return str(self.root / name)


class LockedStore(LocalStore):
    """Store of a folder that this process has locked, so that no other process publishes in it.

    An object is published by one rename, after the disk holds its bytes if `durable`. What a killed process had
    written of it stays in `work_folder`, which is on the same disk.
    """

    def __init__(self, root: str | os.PathLike[str], work_folder: str | os.PathLike[str], *, durable: bool) -> None:
        super().__init__(root)
        self._work_folder = work_folder
        self._durable = durable

    def publish(self, name: str, data: Buffer) -> None:
        """Write a file once. The folder of the file must exist."""
        if self.size(name) is not None:
            raise self.exists_already(name)
        write_file(self.root / name, data, durable=self._durable, work_folder=self._work_folder)
