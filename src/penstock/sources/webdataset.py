"""WebDataset: tar shards in which neighbouring members with one base name form a sample.

cats/0001.jpg  cats/0001.cls  cats/0001.seg.png  cats/0001.json      sample "cats/0001"

The base name ends at the first dot of the file name. Images are read in place from the tar. The table shows what the
members become; members with other endings are left out and counted.

.jpg .png …             the image `image`           .seg.png …   the image `seg`, by its name a mask
.cls .class             the column `label`          .json        one column per key, `__key__` names the sample
.txt .text …            a column of that name       .index .inx .id .count   integers

A file classes.txt next to the tars, one name per line, has the class names. Splits are those of the tars' names, unless
a .json has `split`.
"""

from __future__ import annotations

import json
from array import array
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from penstock.errors import SourceError
from penstock.index import ABSENT, ImageColumns, Listing
from penstock.sources.assemble import CLASSES, assemble, read_classes
from penstock.sources.column_builder import ColumnBuilder
from penstock.sources.files import FileFacts, by_ending, facts_in
from penstock.sources.names import field_name, image_endings, role_of, split_of
from penstock.sources.probe import Probe
from penstock.sources.source import FilesOnly
from penstock.sources.tar import Member, read_members
from penstock.storage import ObjectReader, StorePath

if TYPE_CHECKING:
    import pyarrow as pa

COMPRESSED = (".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz", ".tar.zst", ".tar.lz4")
LABELS = ("cls", "class")
INTEGERS = ("cls", "class", "cls2", "count", "index", "inx", "id")
TEXTS = ("txt", "text", "transcript", "caption")
MAX_FIELD_BYTES = 1 << 24
# Which of several plain endings in one sample is the photograph, and which the drawing beside it.
PREFERRED = ("jpg", "jpeg", "webp", "png", "ppm", "bmp", "tif", "tiff")


class WebDataset(FilesOnly):
    """Tar, or a folder of them at any depth."""

    kind = "webdataset"

    def __init__(self, path: Path | StorePath) -> None:
        self.path = path
        self._place = StorePath.of(path)
        self._facts: FileFacts | None = None

    @classmethod
    def detects(cls, probe: Probe) -> bool:
        """Return whether there are tars, including compressed ones, which are then refused."""
        return probe.is_made_of(".tar", *COMPRESSED)

    def listing(self) -> Listing:
        """Read the headers of all shards, and the small members."""
        shards = _find_shards(self._place)
        self._facts = facts_in(shards.root, shards.names)
        scan = _Scan(shards)
        for index in range(len(shards.names)):
            scan.read_shard(index)
        return scan.finish(str(self.path))

    def state(self) -> bytes:
        """Return sizes and times of the shards."""
        if self._facts is None:
            shards = _find_shards(self._place)
            self._facts = facts_in(shards.root, shards.names)
        return self._facts.state()


@dataclass(frozen=True, slots=True)
class _Shards:
    root: StorePath
    names: list[str]
    left_out: Counter[str] = field(default_factory=Counter)

    def place(self, name: str) -> StorePath:
        return self.root / name


def _find_shards(path: StorePath) -> _Shards:
    is_folder = path.is_folder()
    shards = _Shards(path, path.tree().files) if is_folder else _Shards(path.parent, [path.name.rpartition("/")[2]])
    for name in shards.names:
        if name.lower().endswith(COMPRESSED):
            raise SourceError(
                "a compressed tar cannot be read by offset",
                where=str(shards.place(name)),
                fix="decompress it first: images do not shrink any further (`gunzip`, `zstd -d`…)",
                code=611,
            )
    tars = [name for name in shards.names if name.lower().endswith(".tar") or not is_folder]
    if not tars:
        raise SourceError("there is no tar here", where=str(path), fix="name a .tar file or a folder of them", code=611)
    others = [name for name in shards.names if not name.lower().endswith(".tar") and name != CLASSES]
    return _Shards(shards.root, tars, by_ending(others) if is_folder else Counter())


@dataclass(slots=True)
class _ImageMembers:
    """Places of the members of one suffix: parallel arrays, in the order of samples."""

    sample: array[int] = field(default_factory=lambda: array("q"))
    shard: array[int] = field(default_factory=lambda: array("i"))
    offset: array[int] = field(default_factory=lambda: array("q"))
    length: array[int] = field(default_factory=lambda: array("q"))


class _Scan:
    """State of a scan, in which members become samples."""

    def __init__(self, shards: _Shards) -> None:
        self._shards = shards
        self._endings = {ending[1:] for ending in image_endings()}
        self._bases: list[str] = []
        self._own_keys: dict[int, str] = {}
        self._shard_of = array("i")
        self._images: dict[str, _ImageMembers] = {}
        self._columns = ColumnBuilder(self._where)
        self._left_out: Counter[str] = Counter(shards.left_out)

    def read_shard(self, index: int) -> None:
        """Read one tar from its beginning to its end."""
        with self._shards.place(self._shards.names[index]).open_object() as file:
            base: str | None = None
            suffixes: set[str] = set()
            values: dict[str, object] = {}
            for member in read_members(file):
                found, suffix = split_name(member.name)
                if not suffix:
                    self._left_out["members without an ending"] += 1
                    continue
                if found != base:
                    if base is not None:
                        self._columns.add(values)
                    base, suffixes, values = found, set(), {}
                    self._bases.append(base)
                    self._shard_of.append(index)
                if suffix in suffixes:
                    self._refuse(index, member, f"sample '{base}' has two members that end in .{suffix}")
                suffixes.add(suffix)
                self._take(index, file, member, suffix, values)
            if base is not None:
                self._columns.add(values)

    def _take(self, shard: int, file: ObjectReader, member: Member, suffix: str, values: dict[str, object]) -> None:
        ending = suffix.rpartition(".")[2]
        if ending in self._endings:
            places = self._images.setdefault(suffix, _ImageMembers())
            places.sample.append(len(self._bases) - 1)
            places.shard.append(shard)
            places.offset.append(member.offset)
            places.length.append(member.length)
        elif ending == "json" or ending in INTEGERS or ending in TEXTS:
            values.update(self._small_field(shard, file, member, suffix))
        else:
            self._left_out[f".{suffix}"] += 1

    def _small_field(self, shard: int, file: ObjectReader, member: Member, suffix: str) -> dict[str, object]:
        """Return the columns of a text member."""
        if member.length > MAX_FIELD_BYTES:
            self._refuse(shard, member, f"member '{member.name}' is too long for a text: {member.length} bytes")
        name, _, ending = suffix.rpartition(".")
        try:
            text = file.read_at(member.offset, member.length).decode("utf-8")
            if ending == "json":
                return self._object_fields(json.loads(text, parse_constant=_refuse_constant), name)
        except (ValueError, RecursionError) as error:
            self._refuse(shard, member, f"member '{member.name}' cannot be read: {error}")
        column = (name or ending).replace(".", "_")
        if ending in TEXTS:
            return {column: text}
        plain = text.strip()
        value = int(plain) if plain.removeprefix("-").isdecimal() and len(plain) < 19 else plain
        return {"label" if suffix in LABELS else column: value}

    def _object_fields(self, value: object, name: str) -> dict[str, object]:
        prefix = f"{name}_".replace(".", "_") if name else ""
        if not isinstance(value, dict):
            return {prefix.rstrip("_") or "json": value}
        own_key = value.pop("__key__", None)
        if isinstance(own_key, str):
            self._own_keys[len(self._bases) - 1] = own_key
        return {f"{prefix}{key}": item for key, item in value.items()}

    def finish(self, where: str) -> Listing:
        """Return all samples as columns."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if not self._bases:
            raise SourceError(
                "the tars hold no sample", where=where, fix="members are named KEY.jpg, KEY.cls…", code=611
            )
        places = self._places(where)
        self._check_images(places["image"])
        splits = [split_of(name) for name in self._shards.names]
        known = any(split is not None for split in splits)
        split_column = pa.array([splits[shard] for shard in self._shard_of], pa.string()) if known else None
        columns = self._columns.finish()
        if split_column is not None and pa.types.is_string(columns.get("split", split_column).type):
            split_column = pc.coalesce(columns.pop("split", split_column), split_column)
        classes = read_classes(self._shards.root)
        done = assemble(columns, fields=list(places), splits=split_column, classes=classes, where=where)
        return Listing(
            keys=self._keys(),
            roles={name: role_of(name) for name in places},
            images=places,
            files=self._shards.root.references(self._shards.names),
            store=self._shards.root.foreign_store,
            splits=done.splits,
            columns=done.columns,
            classes=done.classes,
            left_out=self._left_out,
        )

    def _keys(self) -> pa.Array:
        """Return the base names if they are unique, else with the shard's name before them."""
        import pyarrow as pa

        keys = [self._own_keys.get(index, base) for index, base in enumerate(self._bases)]
        if len(set(keys)) < len(keys):
            stems = [name.removesuffix(".tar") for name in self._shards.names]
            keys = [f"{stems[shard]}/{key}" for shard, key in zip(self._shard_of, keys, strict=True)]
        twice = [key for key, count in Counter(keys).items() if count > 1] if len(set(keys)) < len(keys) else []
        if twice:
            raise SourceError(
                f"two samples of a tar are named '{twice[0]}'",
                where=self._where(keys.index(twice[0])),
                fix="members of a sample stand together in the tar; give every sample a name of its own",
                code=611,
            )
        return pa.array(keys, pa.string())

    def _places(self, where: str) -> dict[str, ImageColumns]:
        fields = name_fields({suffix: set(members.sample) for suffix, members in self._images.items()}, where)
        places: dict[str, ImageColumns] = {}
        for name, suffixes in fields.items():
            count = len(self._bases)
            file = np.full(count, ABSENT, np.int32)
            offset, length = np.zeros(count, np.int64), np.zeros(count, np.int64)
            for suffix in suffixes:
                members = self._images[suffix]
                rows = np.frombuffer(members.sample, np.int64)
                file[rows] = members.shard
                offset[rows] = members.offset
                length[rows] = members.length
            places[name] = ImageColumns(file=file, offset=offset, length=length)
        return places

    def _check_images(self, image: ImageColumns) -> None:
        missing = np.flatnonzero(image.file == ABSENT)
        if len(missing):
            row = int(missing[0])
            raise SourceError(
                f"sample '{self._bases[row]}' has no image"
                + f" ({len(missing)} samples have none)" * (len(missing) > 1),
                where=self._where(row),
                fix="every sample needs a member such as KEY.jpg or KEY.png",
                code=611,
            )

    def _where(self, row: int) -> str:
        return f"{self._shards.place(self._shards.names[self._shard_of[row]])}: sample '{self._bases[row]}'"

    def _refuse(self, shard: int, member: Member, what: str) -> NoReturn:
        place = f"{self._shards.place(self._shards.names[shard])}: byte {member.offset}"
        raise SourceError(what, where=place, fix="correct the member and write the tar again", code=611)


def split_name(name: str) -> tuple[str, str]:
    """Return base name and suffix of a member. The suffix is in lower case, and "" if it belongs to no sample.

    >>> split_name("a.b/0001.seg.PNG"), split_name("a/.hidden"), split_name("README")
    (('a.b/0001', 'seg.png'), ('a/.hidden', ''), ('README', ''))
    """
    begin = name.rfind("/") + 1
    dot = name.find(".", begin)
    if dot <= begin or dot == len(name) - 1 or name.startswith("__", begin):
        return name, ""
    return name[:dot], name[dot + 1 :].lower()


def name_fields(suffixes: dict[str, set[int]], where: str) -> dict[str, list[str]]:
    """Return the suffixes of each image field, `image` first. Values are the samples that have the suffix.

    Plain endings form one field unless a sample has two of them; a suffix with a name forms the field of that name.

    >>> name_fields({"jpg": {0}, "png": {1}, "seg.png": {0, 1}}, "")
    {'image': ['jpg', 'png'], 'seg': ['seg.png']}
    >>> name_fields({"jpg": {0}, "png": {0}}, "")
    {'image': ['jpg'], 'png': ['png']}
    """
    plain = sorted(
        (suffix for suffix in suffixes if "." not in suffix),
        key=lambda suffix: PREFERRED.index(suffix) if suffix in PREFERRED else len(PREFERRED),
    )
    fields: dict[str, list[str]] = {}
    taken: dict[str, set[int]] = {}
    for suffix in [*plain, *sorted(suffix for suffix in suffixes if "." in suffix)]:
        name = field_name(suffix.rpartition(".")[0]) if "." in suffix else "image"
        if "." not in suffix and taken.get("image", set()) & suffixes[suffix]:
            name = suffix
        if taken.get(name, set()) & suffixes[suffix]:
            raise SourceError(
                f"a sample has two images named '{name}': {', '.join([*fields[name], suffix])}",
                where=where,
                fix="name one of them differently",
                code=611,
            )
        fields.setdefault(name, []).append(suffix)
        taken.setdefault(name, set()).update(suffixes[suffix])
    if "image" not in fields and len(fields) == 1:
        fields = {"image": next(iter(fields.values()))}
    if "image" not in fields:
        found = ", ".join(f".{suffix}" for suffix in sorted(suffixes)) or "none"
        raise SourceError(
            f"no member is the image of its sample; images found: {found}",
            where=where,
            fix="name it KEY.jpg, KEY.png or KEY.image.jpg",
            code=611,
        )
    return {"image": fields.pop("image"), **fields}


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not JSON")
