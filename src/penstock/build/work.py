"""Work folder of a running build: finished files, started files, and files that may be removed."""

from __future__ import annotations

import errno
import json
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from penstock.build.shard_notes import ShardNotes, read_notes
from penstock.codecs import Format
from penstock.errors import DatasetError, StorageError
from penstock.records.manifest import FILE_NAME, INDEX_NAME
from penstock.storage import (
    LockedStore,
    Store,
    entries_of,
    file_checksum,
    file_size,
    is_file,
    is_folder,
    is_taken,
    locked,
    make_folders,
    make_real_folder,
    mode_of,
    read_file,
    remove_file,
    remove_tree,
    sync_file,
    sync_folder,
    sync_names,
    write_file,
)
from penstock.storage.folders import WRITE_FIX
from penstock.storage.refusal import refused

WORK_FOLDER = ".build"
SHARDS_FOLDER = "shards"
RECIPE_NAME = "recipe.json"
LOCK_NAME = "lock"
NOT_DURABLE_NAME = "not-durable"
ATTEMPTS = 100
OWN_FILES = (FILE_NAME, INDEX_NAME)
OWN_FOLDERS = (SHARDS_FOLDER, WORK_FOLDER)
PART_NAME = re.compile(r"\.penstock-\d+-\d+\.part")
"""Files that an earlier version left in OUT if it was killed while it published the index or the manifest."""


class WorkFolder:
    """Output folder while it is being written."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.work = root / WORK_FOLDER
        self.shards = root / SHARDS_FOLDER

    def check(self) -> None:
        """Refuse a folder with files that no build writes."""
        if not is_taken(self.root):
            return
        if not is_folder(self.root):
            raise self._in_the_way("a file is in the way")
        for entry in entries_of(self.root):
            mode = mode_of(entry)
            if mode is None:
                continue  # another build has just ended
            name = entry.name
            if stat.S_ISLNK(mode) and name in (*OWN_FILES, *OWN_FOLDERS):
                raise self._in_the_way(f"'{name}' is a link, which no build writes")
            is_own = name in OWN_FILES or PART_NAME.fullmatch(name) is not None
            if not (stat.S_ISREG(mode) and is_own) and not (stat.S_ISDIR(mode) and name in OWN_FOLDERS):
                raise self._in_the_way(f"'{name}' is here, which no build writes")

    def _in_the_way(self, what: str) -> DatasetError:
        fix = "choose another folder, or an empty one"
        return DatasetError(what, where=str(self.root), fix=fix, code=204)

    def is_finished(self) -> bool:
        """Return whether the folder has a complete dataset."""
        return is_file(self.root / FILE_NAME)

    def has_leftovers(self) -> bool:
        """Return whether the folder has work files of a running or killed build."""
        return is_taken(self.work)

    def check_begun(self, recipe: Mapping[str, object], state: str) -> None:
        """Refuse to continue another build, or a build whose source has changed."""
        place = self.work / RECIPE_NAME
        if is_file(place) and read_file(place) != _note(recipe, state):
            raise DatasetError(
                "another build was begun here: its source, mix or options are not these",
                where=str(self.root),
                fix="give the options that it was begun with, or start over with --force",
                code=205,
            )
        if not is_file(place) and is_folder(self.shards) and any(entries_of(self.shards)):
            raise DatasetError(
                "shards are here that belong to no manifest and to no build",
                where=str(self.shards),
                fix="choose another folder, or remove them with --force",
                code=205,
            )

    def begin(self, recipe: Mapping[str, object], state: str, *, durable: bool) -> None:
        """Prepare the folder, and remove files that a killed build had started."""
        for folder in (self.root, self.work):
            for entry in entries_of(folder):
                if entry.name.endswith(".part"):
                    remove_file(entry)
        remove_file(self.root / INDEX_NAME)  # of a build that was killed before it published the manifest
        if not is_file(self.work / RECIPE_NAME):
            write_file(self.work / RECIPE_NAME, _note(recipe, state), durable=True)
        if not durable:
            write_file(self.work / NOT_DURABLE_NAME, b"", durable=True)
        make_real_folder(self.shards)
        if durable:  # the names of both folders, and of the folders above that may have been made for them
            sync_folder(self.root)
            sync_names(self.root)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Lock the folder against other builds inside the block."""
        make_folders(self.root)
        with ExitStack() as stack:
            for attempt in range(ATTEMPTS):
                make_real_folder(self.work)
                try:
                    stack.enter_context(locked(self.work / LOCK_NAME))
                    break
                except StorageError as error:
                    if error.errno != errno.ENOENT or attempt + 1 == ATTEMPTS:
                        raise  # otherwise another build has just ended and taken the folder away
            yield

    def written_bytes(self) -> int:
        """Return the bytes of finished shards and work files."""
        folders = [folder for folder in (self.shards, self.work) if is_folder(folder)]
        return sum(file_size(entry) for folder in folders for entry in entries_of(folder))

    def clear(self) -> None:
        """Remove everything that a build writes, except the lock that the caller holds.

        The manifest is removed first and durably, so that the rest is not taken for a dataset after a power cut.
        """
        remove_file(self.root / FILE_NAME)
        sync_folder(self.root)
        remove_file(self.root / INDEX_NAME)
        remove_tree(self.shards)
        remove_tree(self.work, keep=frozenset([LOCK_NAME]))

    def finished_shards(self, stem: str) -> list[ShardNotes]:
        """Return the notes of the finished shards of one format, from the first on without a gap."""
        found: list[ShardNotes] = []
        while True:
            notes, shard = self.rows_path(stem, len(found)), self.shard_path(stem, len(found))
            if not is_file(notes) or not is_file(shard):
                return found
            read = read_notes(read_file(notes), str(notes))
            if file_size(shard) != read.shard_bytes:
                return found
            found.append(read)

    def resumed_shards(self, stem: str, *, durable: bool) -> list[ShardNotes]:
        """Return the finished shards of earlier runs. If one of these was not durable, their content is checked.

        A durable build writes the rows of a shard after the disk holds the shard, so checking its size is enough.
        """
        found = self.finished_shards(stem)
        if not is_file(self.work / NOT_DURABLE_NAME):
            return found
        for number, notes in enumerate(found):
            shard = self.shard_path(stem, number)
            if file_checksum(shard) != (notes.shard_bytes, notes.shard_checksum):
                return found[:number]
            if durable:
                sync_file(shard)
        if found and durable:
            sync_folder(self.shards)
        return found

    def rows_path(self, stem: str, number: int) -> Path:
        """Return the path of a shard's rows."""
        return self.work / f"{stem}-{number:05}.rows"

    def shard_path(self, stem: str, number: int) -> Path:
        """Return the path of a shard."""
        return self.shards / f"{stem}-{number:05}.shard"

    def end(self) -> None:
        """Remove the work files. The lock is removed last, so that no other build starts before."""
        remove_tree(self.work, keep=frozenset([LOCK_NAME]))
        remove_file(self.work / LOCK_NAME)
        try:
            self.work.rmdir()
        except FileNotFoundError:
            pass
        except OSError as error:
            if error.errno != errno.ENOTEMPTY:  # else another build has just come, sees the dataset and cleans up
                raise refused(error, "remove the folder", path=self.work, fix=WRITE_FIX, code=420) from error

    def store(self, *, durable: bool) -> Store:
        """Return the store that index and manifest are published in. The folder must be held."""
        return LockedStore(self.root, self.work, durable=durable)


def stem_of(format: Format) -> str:
    """Return the stem of the names of a format's shards.

    >>> from penstock.codecs import parse_format
    >>> stem_of(parse_format("jpeg:q=85:restart"))
    'jpeg-q85-restart'
    """
    return str(format).replace(":", "-").replace("=", "")


def _note(recipe: Mapping[str, object], state: str) -> bytes:
    return json.dumps({**recipe, "state": state}, indent=2, sort_keys=True).encode()
