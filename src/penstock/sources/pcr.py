"""Progressive Compressed Records, as the reference code of PCR (VLDB 2021) writes them with its protobuf index.

A record holds some labels and the scans of their JPEGs: all first scans, all second scans… The index has the length
of each of these parts. A JPEG consists of its scans, one after the other, and an end mark. Labels are numbers; class
names are not stored.

The reference's index repeats a record once for each of its scans; here it is read once. Its SQLite index holds
pickles, which Penstock does not read. Its raw records (version 2) have no known reader.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path, PurePosixPath
from typing import NoReturn

import numpy as np
import numpy.typing as npt

from penstock.errors import SourceError
from penstock.index import ASK, ImageColumns, Listing, Role
from penstock.sources.files import facts_of
from penstock.sources.probe import Probe
from penstock.sources.protobuf import integers, read_fields
from penstock.storage import StorePath, is_file, read_file

INDEX_NAME = "PCR_index.pb"
RECORD_ENDING = ".pcr"
END_OF_IMAGE = b"\xff\xd9"
PROTOBUF_GROUPS = 1
"""Version of records whose scans are messages."""


@dataclass(frozen=True, slots=True)
class Entry:
    """Name of a record and the lengths of its parts: metadata, then one for each scan."""

    name: str
    lengths: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Record:
    """Labels and image lengths of a record."""

    labels: tuple[int, ...]
    num_bytes: tuple[int, ...]


class PcrRecords:
    """Folder of .pcr files with their index."""

    kind = "pcr"

    def __init__(self, path: Path | StorePath) -> None:
        self.path = path if isinstance(path, Path) else path.local_path(self.kind)
        self._entries: list[Entry] = []
        self._images: tuple[int, list[bytes]] = (-1, [])
        self._records: list[Record] = []

    @classmethod
    def detects(cls, probe: Probe) -> bool:
        """Return whether there are records or their index."""
        return probe.is_folder and (probe.named(INDEX_NAME) or probe.has(RECORD_ENDING))

    def listing(self) -> Listing:
        """Read the index, and the lengths in every record."""
        import pyarrow as pa

        self._entries = self._read_index()
        self._records = [self._read_record(entry) for entry in self._entries]
        keys = [
            f"{PurePosixPath(entry.name).with_suffix('')}/{number:05}.jpg"
            for entry, record in zip(self._entries, self._records, strict=True)
            for number in range(len(record.labels))
        ]
        lengths = np.array([size for record in self._records for size in record.num_bytes], np.int64)
        asked = np.full(len(keys), ASK, np.int32)
        labels = [label for record in self._records for label in record.labels]
        return Listing(
            keys=pa.array(keys, pa.string()),
            roles={"image": Role.IMAGE},
            images={"image": ImageColumns.of_files(asked, lengths)},
            files=[],
            columns={"label": pa.array(labels, pa.int64())},
        )

    def read(self, field: str, rows: npt.NDArray[np.int64]) -> Iterable[bytes]:
        """Yield the original JPEGs, joined from their scans."""
        ends = np.cumsum([len(record.labels) for record in self._records])
        for row in rows.tolist():
            number = int(np.searchsorted(ends, row, side="right"))
            if self._images[0] != number:
                self._images = number, self._read_images(self._entries[number])
            yield self._images[1][row - (int(ends[number - 1]) if number else 0)]

    def state(self) -> bytes:
        """Return sizes and times of the index and the records."""
        names = [INDEX_NAME, *(entry.name for entry in self._entries or self._read_index())]
        return facts_of([os.fsencode(self.path / name) for name in names]).state()

    def _read_index(self) -> list[Entry]:
        place = self.path / INDEX_NAME
        if not is_file(place):
            raise SourceError(
                f"there are records, and no {INDEX_NAME}",
                where=str(self.path),
                fix="write the index as protobuf (`--backends protobuf` of the reference's converter): "
                "its SQLite index holds pickles, which are not read",
                code=630,
            )
        try:
            found = [_entry(value) for number, value in read_fields(read_file(place)) if number == 1]
        except ValueError as error:
            _refuse(f"the index is not a protobuf message: {error}", str(place))
        unique = {entry.name: entry for entry in found}
        for entry in found:
            if unique[entry.name] != entry:
                _refuse(f"the index lists '{entry.name}' twice, with other lengths", str(place))
            if "\0" in entry.name:
                _refuse(f"the index names {entry.name!r}, which no file can be called", str(place))
            if PurePosixPath(entry.name).is_absolute() or ".." in PurePosixPath(entry.name).parts:
                _refuse(f"the index names '{entry.name}', which is not in its folder", str(place))
        if not unique:
            _refuse("the index lists no record", str(place))
        return sorted(unique.values(), key=lambda entry: entry.name)

    def _read_record(self, entry: Entry) -> Record:
        labels, groups = self._parts(entry)
        sizes = [sum(len(group[number]) for group in groups) for number in range(len(labels))]
        return Record(labels, tuple(size + len(END_OF_IMAGE) for size in sizes))

    def _read_images(self, entry: Entry) -> list[bytes]:
        labels, groups = self._parts(entry)
        return [b"".join([*(group[number] for group in groups), END_OF_IMAGE]) for number in range(len(labels))]

    def _parts(self, entry: Entry) -> tuple[tuple[int, ...], list[list[memoryview]]]:
        """Return labels, and for each scan the piece of every image."""
        where = str(self.path / entry.name)
        data = memoryview(read_file(where))
        if len(data) != sum(entry.lengths):
            _refuse(f"the record has {len(data)} bytes, the index says {sum(entry.lengths)}", where)
        edges = [0, *accumulate(entry.lengths)]
        try:
            labels, version = _metadata(data[: edges[1]])
            groups = [_pieces(data[begin:end]) for begin, end in pairwise(edges[1:])]
        except ValueError as error:
            _refuse(f"a part of the record is not a protobuf message: {error}", where)
        if version != PROTOBUF_GROUPS:
            _refuse(f"the record is of version {version}, whose scans cannot be separated", where)
        if any(len(group) != len(labels) for group in groups):
            _refuse(f"the record has {len(labels)} labels and another number of images", where)
        return labels, groups


def _entry(value: int | memoryview) -> Entry:
    if isinstance(value, int):
        raise ValueError("an entry that is a number")
    name, lengths = "", []
    for number, part in read_fields(value):
        if number == 1 and not isinstance(part, int):
            name = bytes(part).decode()
        elif number == 2:
            lengths += integers(part)
    if not name or len(lengths) < 2 or min(lengths) < 0:
        raise ValueError(f"entry '{name}' has lengths {lengths}")
    return Entry(name, tuple(lengths))


def _metadata(part: memoryview) -> tuple[tuple[int, ...], int]:
    labels: list[int] = []
    version = PROTOBUF_GROUPS
    for number, value in read_fields(part):
        if number == 1:
            labels += integers(value)
        elif number == 3:
            version = next(iter(integers(value)), PROTOBUF_GROUPS)
    return tuple(labels), version


def _pieces(part: memoryview) -> list[memoryview]:
    pieces = [value for number, value in read_fields(part) if number == 1]
    found = [value for value in pieces if not isinstance(value, int)]
    if len(found) != len(pieces):
        raise ValueError("a scan that is a number")
    return found


def _refuse(what: str, where: str) -> NoReturn:
    raise SourceError(what, where=where, fix="restore the file from a copy, or convert the source again", code=630)
