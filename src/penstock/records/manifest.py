"""The manifest of a dataset: read, checked, written. Layout: spec/dataset.md, "manifest.json"."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import NoReturn, TypeVar

from penstock import _native
from penstock.errors import DatasetError

KIND = "penstock dataset"
VERSION = 1
FILE_NAME = "manifest.json"
INDEX_NAME = "index.parquet"
SHARD_NAME = re.compile(r"shards/[A-Za-z0-9][A-Za-z0-9._+-]*\.shard")
IMAGE_ROLES = ("image", "mask", "depth", "source")
MAX_BYTES = 2**30

_TAIL = re.compile(rb',\n  "checksum": "crc32c:([0-9a-f]{8})"\n\}\n')
_TAIL_BYTES = len(b',\n  "checksum": "crc32c:01234567"\n}\n')
_LANES = (960, 720, 480, 360, 240, 120, 60, 24, 12, 4, 1)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Field:
    """A field of every sample: an image field, which has formats, or a column, which has a type."""

    name: str
    role: str
    formats: tuple[str, ...] = ()
    """Of an image field, in the order of the records' formats."""
    type: str = ""
    """Arrow's name of a column's type."""
    classes: tuple[str, ...] | None = None
    """Names that an integer column counts."""

    @property
    def is_image(self) -> bool:
        """Whether it is stored in shards."""
        return self.role in IMAGE_ROLES


@dataclass(frozen=True, slots=True)
class FormatCount:
    """How much of a dataset is in one format of `image`."""

    share: float
    samples: int
    bytes: int
    """Of the field `image`, metadata and padding not counted."""
    kept: int
    transcoded: int
    encoded: int


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file of the dataset."""

    file: str
    bytes: int
    checksum: str


@dataclass(frozen=True, slots=True)
class ShardEntry(FileEntry):
    """A shard."""

    format: str
    records: int


@dataclass(frozen=True, slots=True)
class Skipped:
    """A sample of the source that the dataset does not have."""

    key: str
    reason: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a dataset holds."""

    identity: str
    num_samples: int
    lanes: int
    source: Mapping[str, object]
    recipe: Mapping[str, object]
    fields: tuple[Field, ...]
    splits: Mapping[str, int]
    formats: Mapping[str, FormatCount]
    index: FileEntry
    shards: tuple[ShardEntry, ...]
    metadata: Mapping[str, Mapping[str, int]] = field(default_factory=lambda: {"kept": {}, "dropped": {}})
    skipped: tuple[Skipped, ...] = ()

    def field(self, name: str) -> Field:
        """The field of that name."""
        for candidate in self.fields:
            if candidate.name == name:
                return candidate
        raise KeyError(name)

    @property
    def image_fields(self) -> tuple[Field, ...]:
        """Fields that are stored in shards, in the order of a record."""
        return tuple(candidate for candidate in self.fields if candidate.is_image)


def checksum_text(crc: int) -> str:
    """A checksum as it stands in a manifest.

    >>> checksum_text(0xE3069283)
    'crc32c:e3069283'
    """
    return f"crc32c:{crc:08x}"


def lanes_for(num_samples: int) -> int:
    """How many lanes the order of a dataset of this size has.

    >>> lanes_for(1_000_000), lanes_for(300), lanes_for(3)
    (960, 12, 1)
    """
    return next(lanes for lanes in _LANES if lanes * 16 <= num_samples or lanes == 1)


def write_manifest(manifest: Manifest) -> bytes:
    """The bytes of `manifest.json`."""
    members = {
        "kind": KIND,
        "version": VERSION,
        "identity": manifest.identity,
        "num_samples": manifest.num_samples,
        "lanes": manifest.lanes,
        "source": manifest.source,
        "recipe": manifest.recipe,
        "fields": [_field_members(entry) for entry in manifest.fields],
        "splits": manifest.splits,
        "formats": {name: asdict(count) for name, count in manifest.formats.items()},
        "metadata": manifest.metadata,
        "skipped": [asdict(entry) for entry in manifest.skipped],
        "index": asdict(manifest.index),
        "shards": [asdict(entry) for entry in manifest.shards],
    }
    body = json.dumps(members, indent=2, allow_nan=False).removesuffix("\n}").encode("ascii")
    tail = f',\n  "checksum": "{checksum_text(_native.crc32c(body))}"\n}}\n'
    return body + tail.encode("ascii")


def read_manifest(data: bytes, where: str) -> Manifest:
    """Parse and check; `where` names the file in errors."""
    members = _checked_members(data, where)
    reader = _Reader(members, where)
    if reader.take("kind", str) != KIND:
        _refuse("the file is no manifest of a dataset", where)
    version = reader.take("version", int)
    if version != VERSION:
        _refuse(
            f"the dataset has version {version}, this Penstock reads version {VERSION}",
            where,
            "use a newer Penstock, or build the dataset again",
        )
    manifest = Manifest(
        identity=reader.take("identity", str),
        num_samples=reader.take("num_samples", int),
        lanes=reader.take("lanes", int),
        source=reader.take("source", dict),
        recipe=reader.take("recipe", dict),
        fields=tuple(_read_field(entry) for entry in reader.entries("fields")),
        splits=reader.take("splits", dict),
        formats={name: _read_format(entry) for name, entry in reader.named("formats").items()},
        index=_read_file(reader.entry("index"), INDEX_NAME),
        shards=tuple(_read_shard(entry) for entry in reader.entries("shards")),
        metadata=reader.take("metadata", dict),
        skipped=tuple(
            Skipped(entry.take("key", str), entry.take("reason", str)) for entry in reader.entries("skipped")
        ),
    )
    _check(manifest, where)
    return manifest


def _field_members(entry: Field) -> dict[str, object]:
    if entry.is_image:
        return {"name": entry.name, "role": entry.role, "formats": entry.formats}
    return {"name": entry.name, "role": entry.role, "type": entry.type, "classes": entry.classes}


def _checked_members(data: bytes, where: str) -> dict[str, object]:
    if len(data) > MAX_BYTES:
        _refuse(f"a manifest of {len(data)} bytes is longer than the {MAX_BYTES} that are read", where)
    tail = _TAIL.fullmatch(data, max(0, len(data) - _TAIL_BYTES))
    if tail is None:
        _refuse("the manifest does not end with its checksum", where)
    if int(tail.group(1), 16) != _native.crc32c(data[: tail.start()]):
        _refuse("the manifest does not match its checksum", where)
    try:
        members = json.loads(data)
    except (ValueError, RecursionError) as error:
        _refuse(f"the manifest is no JSON: {error}", where)
    if not isinstance(members, dict):
        _refuse("the manifest is no JSON object", where)
    return members


def _read_field(entry: _Reader) -> Field:
    role = entry.take("role", str)
    if role in IMAGE_ROLES:
        return Field(entry.take("name", str), role, formats=tuple(entry.texts("formats")))
    classes = entry.members.get("classes")
    return Field(
        entry.take("name", str),
        role,
        type=entry.take("type", str),
        classes=None if classes is None else tuple(entry.texts("classes")),
    )


def _read_format(entry: _Reader) -> FormatCount:
    share = entry.members.get("share")
    if isinstance(share, bool) or not isinstance(share, (int, float)):
        _refuse("'share' is no number", entry.where)
    counts = (entry.take(name, int) for name in ("samples", "bytes", "kept", "transcoded", "encoded"))
    return FormatCount(float(share), *counts)


def _read_file(entry: _Reader, name: str = "") -> FileEntry:
    found = FileEntry(entry.take("file", str), entry.take("bytes", int), entry.take("checksum", str))
    fits = found.file == name if name else SHARD_NAME.fullmatch(found.file) is not None
    if not fits or ".." in found.file:
        _refuse(f"'{found.file}' is no name that a file of a dataset may have", entry.where)
    if re.fullmatch(r"crc32c:[0-9a-f]{8}", found.checksum) is None:
        _refuse(f"'{found.checksum}' is no checksum", entry.where)
    return found


def _read_shard(entry: _Reader) -> ShardEntry:
    found = _read_file(entry)
    return ShardEntry(found.file, found.bytes, found.checksum, entry.take("format", str), entry.take("records", int))


def _check(manifest: Manifest, where: str) -> None:
    names = [entry.name for entry in manifest.fields]
    if len(set(names)) != len(names):
        _refuse("two fields have the same name", where)
    if not manifest.image_fields or manifest.image_fields[0].name != "image":
        _refuse("there is no field 'image' in front of the other image fields", where)
    if re.fullmatch(r"[0-9a-f]{32}", manifest.identity) is None:
        _refuse(f"identity '{manifest.identity}' is not 32 hexadecimal digits", where)
    if manifest.lanes < 1:
        _refuse("there are no lanes", where)
    files = [entry.file for entry in manifest.shards]
    if len(set(files)) != len(files):
        _refuse("a shard is listed twice", where)


class _Reader:
    """Takes members out of an object, of the type they must have."""

    def __init__(self, members: Mapping[str, object], where: str) -> None:
        self.members = members
        self.where = where

    def take(self, name: str, kind: type[T]) -> T:
        value = self.members.get(name)
        is_negative = kind is int and isinstance(value, int) and value < 0
        if not isinstance(value, kind) or is_negative or (kind is int and isinstance(value, bool)):
            _refuse(f"'{name}' is missing, or is not what it must be ({kind.__name__})", self.where)
        return value

    def entry(self, name: str) -> _Reader:
        return _Reader(self.take(name, dict), f"{self.where}: {name}")

    def entries(self, name: str) -> list[_Reader]:
        found = self.take(name, list)
        if not all(isinstance(entry, dict) for entry in found):
            _refuse(f"'{name}' holds something that is no object", self.where)
        return [_Reader(entry, f"{self.where}: {name}[{number}]") for number, entry in enumerate(found)]

    def named(self, name: str) -> dict[str, _Reader]:
        found = self.take(name, dict)
        if not all(isinstance(entry, dict) for entry in found.values()):
            _refuse(f"'{name}' holds something that is no object", self.where)
        return {key: _Reader(entry, f"{self.where}: {name}.{key}") for key, entry in found.items()}

    def texts(self, name: str) -> list[str]:
        found = self.take(name, list)
        if not all(isinstance(text, str) for text in found):
            _refuse(f"'{name}' holds something that is no text", self.where)
        return found


def _refuse(what: str, where: str, fix: str = "restore the file from a copy, or build the dataset again") -> NoReturn:
    raise DatasetError(what, where=where, fix=fix, code=210)
