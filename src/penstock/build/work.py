"""The folder of a build under way: what is finished, what is begun, what may be thrown away."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from penstock.build.rows import ShardNotes, read_notes
from penstock.codecs import Format
from penstock.errors import DatasetError
from penstock.records.manifest import FILE_NAME, INDEX_NAME
from penstock.storage import locked, make_folders, read_file, write_file

WORK_FOLDER = ".build"
SHARDS_FOLDER = "shards"
RECIPE_NAME = "recipe.json"
LOCK_NAME = "lock"
OWN_NAMES = (FILE_NAME, INDEX_NAME, SHARDS_FOLDER, WORK_FOLDER)


class WorkFolder:
    """OUT while it is written."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.work = root / WORK_FOLDER
        self.shards = root / SHARDS_FOLDER

    def check(self) -> None:
        """Refuse a folder that holds what no build writes."""
        if not os.path.lexists(self.root):
            return
        foreign = sorted({entry.name for entry in self.root.iterdir()} - set(OWN_NAMES)) if self.root.is_dir() else [""]
        if foreign:
            raise DatasetError(
                f"'{foreign[0]}' is here, which no build writes" if foreign[0] else "a file is in the way",
                where=str(self.root),
                fix="choose another folder, or an empty one",
                code=204,
            )

    def is_finished(self) -> bool:
        """Whether a whole dataset is here."""
        return (self.root / FILE_NAME).is_file()

    def check_begun(self, recipe: Mapping[str, object], state: str) -> None:
        """Refuse to go on with what another build began, or with a source that has changed since."""
        place = self.work / RECIPE_NAME
        if place.is_file() and read_file(place) != _note(recipe, state):
            raise DatasetError(
                "another build was begun here: its source, mix or options are not these",
                where=str(self.root),
                fix="give the options that it was begun with, or start over with --force",
                code=205,
            )

    def begin(self, recipe: Mapping[str, object], state: str) -> None:
        """Make the folder ready."""
        make_folders(self.work)
        if not (self.work / RECIPE_NAME).is_file():
            write_file(self.work / RECIPE_NAME, _note(recipe, state), durable=True)
        make_folders(self.shards)

    def held(self) -> AbstractContextManager[None]:
        """For the length of a `with`, no other build may work here."""
        make_folders(self.work)
        return locked(self.work / LOCK_NAME)

    def written_bytes(self) -> int:
        """Bytes of the shards that are there, and of the work files."""
        folders = [folder for folder in (self.shards, self.work) if folder.is_dir()]
        return sum(entry.stat().st_size for folder in folders for entry in folder.iterdir())

    def clear(self) -> None:
        """Remove everything that a build writes. The manifest goes first: what is left is no dataset."""
        if self.root.is_dir():
            (self.root / FILE_NAME).unlink(missing_ok=True)
            (self.root / INDEX_NAME).unlink(missing_ok=True)
            shutil.rmtree(self.shards, ignore_errors=True)
            shutil.rmtree(self.work, ignore_errors=True)

    def finished_shards(self, stem: str) -> list[ShardNotes]:
        """Notes of the shards of one format that are finished, from the first on without a gap."""
        found: list[ShardNotes] = []
        while True:
            notes, shard = self.rows_path(stem, len(found)), self.shard_path(stem, len(found))
            if not notes.is_file() or not shard.is_file():
                return found
            read = read_notes(read_file(notes), str(notes))
            if shard.stat().st_size != read.shard_bytes:
                return found
            found.append(read)

    def rows_path(self, stem: str, number: int) -> Path:
        """Where the rows of a shard are noted."""
        return self.work / f"{stem}-{number:05}.rows"

    def shard_path(self, stem: str, number: int) -> Path:
        """Where a shard lies."""
        return self.shards / f"{stem}-{number:05}.shard"

    def end(self) -> None:
        """Remove the work files, if there are any."""
        if self.work.is_dir():
            shutil.rmtree(self.work)


def stem_of(format: Format) -> str:
    """How the shards of a format are named.

    >>> from penstock.codecs import parse_format
    >>> stem_of(parse_format("jpeg:q=85:restart"))
    'jpeg-q85-restart'
    """
    return str(format).replace(":", "-").replace("=", "")


def _note(recipe: Mapping[str, object], state: str) -> bytes:
    return json.dumps({**recipe, "state": state}, indent=2, sort_keys=True).encode()
