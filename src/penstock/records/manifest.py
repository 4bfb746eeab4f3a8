"""Manifest of a dataset: reads, checks and writes it. Layout: spec/dataset.md, "manifest.json"."""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import NoReturn

from penstock import _native
from penstock.documents import Document, read_document
from penstock.errors import DatasetError
from penstock.index.fields import IMAGE_ROLES, Field
from penstock.lane_counts import MOST_LANES

KIND = "penstock dataset"
VERSION = 1
FILE_NAME = "manifest.json"
INDEX_NAME = "index.parquet"
SHARD_NAME = re.compile(r"shards/[A-Za-z0-9][A-Za-z0-9._+-]*\.shard")
MAX_BYTES = 2**28
MAX_FORMAT = 500  # characters of a format's text
MAX_TABLES = 16
MAX_TABLE_TEXT = 2**16  # characters of a table set

_TAIL = re.compile(rb',\n  "checksum": "crc32c:([0-9a-f]{8})"\n\}\n')
_TAIL_BYTES = len(b',\n  "checksum": "crc32c:01234567"\n}\n')


@dataclass(frozen=True, slots=True)
class FormatCount:
    """Number of samples and bytes in one format of `image`."""

    share: float
    samples: int
    bytes: int
    """Bytes of the field `image`, without metadata and padding."""
    kept: int
    transcoded: int
    encoded: int


@dataclass(frozen=True, slots=True)
class FileEntry:
    """File of the dataset."""

    file: str
    bytes: int
    checksum: str


@dataclass(frozen=True, slots=True)
class ShardEntry(FileEntry):
    """Shard of the dataset."""

    format: str
    records: int


@dataclass(frozen=True, slots=True)
class Skipped:
    """Sample of the source that the dataset does not contain."""

    key: str
    reason: str


@dataclass(frozen=True, slots=True)
class TableEntry:
    """Table set that records of the dataset refer to by its id."""

    codec: str
    id: str
    """Sixteen hexadecimal digits."""
    data: bytes


@dataclass(frozen=True, slots=True)
class Manifest:
    """Contents of a dataset."""

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
    kept_as_jpeg: tuple[Skipped, ...] = ()
    """JPEGs that `sluice` could not restore, and why. They are stored as `jpeg`."""
    tables: tuple[TableEntry, ...] = ()

    def field(self, name: str) -> Field:
        """Return the field with this name."""
        for candidate in self.fields:
            if candidate.name == name:
                return candidate
        raise KeyError(name)

    @property
    def image_fields(self) -> tuple[Field, ...]:
        """Fields that are stored in shards, in the order of a record."""
        return tuple(candidate for candidate in self.fields if candidate.is_image)


def checksum_text(crc: int) -> str:
    """Format a checksum as it is written in a manifest.

    >>> checksum_text(0xE3069283)
    'crc32c:e3069283'
    """
    return f"crc32c:{crc:08x}"


def write_manifest(manifest: Manifest) -> bytes:
    """Serialize a manifest to the bytes of `manifest.json`."""
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
        **_sluice_members(manifest),
        "index": asdict(manifest.index),
        "shards": [asdict(entry) for entry in manifest.shards],
    }
    body = json.dumps(members, indent=2, allow_nan=False).removesuffix("\n}").encode("ascii")
    tail = f',\n  "checksum": "{checksum_text(_native.crc32c(body))}"\n}}\n'
    return body + tail.encode("ascii")


def read_manifest(data: bytes, where: str) -> Manifest:
    """Parse and check a manifest; `where` names the file in errors."""
    _check_tail(data, where)
    document = read_document(data, kind=KIND, version=VERSION, where=where, error=DatasetError)
    manifest = Manifest(
        identity=document.text("identity"),
        num_samples=document.integer("num_samples", minimum=1),
        lanes=document.integer("lanes", minimum=1, maximum=MOST_LANES),
        source=document.child("source").members,
        recipe=document.child("recipe").members,
        fields=tuple(_read_field(entry) for entry in document.items("fields")),
        splits=_read_counts(document, "splits"),
        formats={name: _read_format(entry) for name, entry in document.children("formats")},
        index=_read_file(document.child("index"), INDEX_NAME),
        shards=tuple(_read_shard(entry) for entry in document.items("shards")),
        metadata={name: _read_counts(document.child("metadata"), name) for name in ("kept", "dropped")},
        skipped=_read_reasons(document, "skipped"),
        kept_as_jpeg=_read_reasons(document, "kept_as_jpeg") if "kept_as_jpeg" in document else (),
        tables=tuple(_read_table(entry) for entry in document.items("tables")) if "tables" in document else (),
    )
    _check(manifest, where)
    return manifest


def _sluice_members(manifest: Manifest) -> dict[str, object]:
    """Return the members that only datasets with Sluice images have."""
    members: dict[str, object] = {}
    if manifest.kept_as_jpeg:
        members["kept_as_jpeg"] = [asdict(entry) for entry in manifest.kept_as_jpeg]
    if manifest.tables:
        members["tables"] = [
            {"codec": entry.codec, "id": entry.id, "data": b64encode(entry.data).decode("ascii")}
            for entry in manifest.tables
        ]
    return members


def _field_members(entry: Field) -> dict[str, object]:
    if entry.is_image:
        return {"name": entry.name, "role": entry.role, "formats": entry.formats}
    return {"name": entry.name, "role": entry.role, "type": entry.type, "classes": entry.classes}


def _check_tail(data: bytes, where: str) -> None:
    if len(data) > MAX_BYTES:
        _refuse(f"a manifest of {len(data)} bytes is longer than the {MAX_BYTES} that are read", where)
    tail = _TAIL.fullmatch(data, max(0, len(data) - _TAIL_BYTES))
    if tail is None:
        _refuse("the manifest does not end with its checksum", where)
    if int(tail.group(1), 16) != _native.crc32c(data[: tail.start()]):
        _refuse("the manifest does not match its checksum", where)


def _read_field(entry: Document) -> Field:
    role = entry.text("role")
    if role in IMAGE_ROLES:
        return Field(entry.text("name"), role, formats=_read_texts(entry, "formats"))
    classes = None if entry.members.get("classes") is None else _read_texts(entry, "classes")
    return Field(entry.text("name"), role, type=entry.text("type"), classes=classes)


def _read_texts(entry: Document, name: str) -> tuple[str, ...]:
    texts = entry.values(name)
    if not all(isinstance(text, str) for text in texts):
        raise entry.refusal(f"{name} holds something that is no text", name)
    return tuple(str(text) for text in texts)


def _read_counts(entry: Document, name: str) -> dict[str, int]:
    counts = entry.child(name)
    return {key: counts.integer(key) for key in counts.members}


def _read_reasons(document: Document, name: str) -> tuple[Skipped, ...]:
    return tuple(Skipped(entry.text("key"), entry.text("reason")) for entry in document.items(name))


def _read_table(entry: Document) -> TableEntry:
    text = entry.text("data")
    try:
        data = b64decode(text, validate=True) if len(text) <= MAX_TABLE_TEXT else b""
    except ValueError:
        data = b""
    if not data:
        raise entry.refusal(f"a table set is no base64 of at most {MAX_TABLE_TEXT} characters", "data")
    if re.fullmatch(r"[0-9a-f]{16}", entry.text("id")) is None:
        raise entry.refusal(f"'{entry.text('id')}' is no id of a table set", "id")
    return TableEntry(entry.text("codec"), entry.text("id"), data)


def _read_format(entry: Document) -> FormatCount:
    counts = (entry.integer(name) for name in ("samples", "bytes", "kept", "transcoded", "encoded"))
    return FormatCount(entry.number("share", minimum=0), *counts)


def _read_file(entry: Document, name: str = "") -> FileEntry:
    found = FileEntry(entry.text("file"), entry.integer("bytes"), entry.text("checksum"))
    fits = found.file == name if name else SHARD_NAME.fullmatch(found.file) is not None
    if not fits or ".." in found.file:
        raise entry.refusal(f"'{found.file}' is no name that a file of a dataset may have", "file")
    if re.fullmatch(r"crc32c:[0-9a-f]{8}", found.checksum) is None:
        raise entry.refusal(f"'{found.checksum}' is no checksum", "checksum")
    return found


def _read_shard(entry: Document) -> ShardEntry:
    found = _read_file(entry)
    return ShardEntry(found.file, found.bytes, found.checksum, entry.text("format"), entry.integer("records"))


def _check(manifest: Manifest, where: str) -> None:
    for entry in manifest.image_fields:
        if any(len(format) > MAX_FORMAT for format in entry.formats):
            _refuse(f"field '{entry.name}' lists a format of more than {MAX_FORMAT} characters", where)
        if len(set(entry.formats)) != len(entry.formats):
            _refuse(f"field '{entry.name}' lists a format twice", where)
    names = [entry.name for entry in manifest.fields]
    if len(set(names)) != len(names):
        _refuse("two fields have the same name", where)
    if not manifest.image_fields or manifest.image_fields[0].name != "image":
        _refuse("there is no field 'image' in front of the other image fields", where)
    if re.fullmatch(r"[0-9a-f]{32}", manifest.identity) is None:
        _refuse(f"identity '{manifest.identity}' is not 32 hexadecimal digits", where)
    if len({entry.id for entry in manifest.tables}) != len(manifest.tables) or len(manifest.tables) > MAX_TABLES:
        _refuse(f"it lists a table set twice, or more than {MAX_TABLES}", where)
    files = [entry.file for entry in manifest.shards]
    if len(set(files)) != len(files):
        _refuse("a shard is listed twice", where)


def _refuse(what: str, where: str, fix: str = "restore the file from a copy, or build the dataset again") -> NoReturn:
    raise DatasetError(what, where=where, fix=fix, code=210)
