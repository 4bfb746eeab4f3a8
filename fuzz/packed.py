"""A tiny dataset as one JSON text that a fuzzer can change, and back: checksums are made right again on the way.

{"manifest": {…},
 "index": {COLUMN: {"type": "int64", "values": […]}},
 "shards": {FILE: {"bytes": n, "parts": [[OFFSET, "hex"]]}}}
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock import _native

if TYPE_CHECKING:
    import pyarrow as pa

HEADER_BYTES = 64
MAX_SHARD_BYTES = 1 << 20
LEAST_GAP = 16
"""Zeros in a shard, such as its padding, that are left out."""


class UnpackError(Exception):
    """A text that says nothing of a dataset; nothing to look at."""


@dataclass(frozen=True, slots=True)
class Files:
    """The files of a dataset."""

    manifest: bytes
    index: bytes
    shards: dict[str, bytes]

    def write(self, folder: Path) -> None:
        """Write them below an empty folder."""
        (folder / "shards").mkdir(parents=True, exist_ok=True)
        for name, data in self.shards.items():
            (folder / name).write_bytes(data)
        (folder / "index.parquet").write_bytes(self.index)
        (folder / "manifest.json").write_bytes(self.manifest)


def pack(dataset: Path, *, with_shards: bool) -> bytes:
    """Return the text of a built dataset."""
    import pyarrow.parquet as pq

    manifest = json.loads((dataset / "manifest.json").read_bytes())
    del manifest["checksum"]
    table = pq.read_table(dataset / "index.parquet")
    index = {
        name: {"type": str(table.schema.field(name).type), "values": _plain(table.column(name).to_pylist())}
        for name in table.schema.names
    }
    shards = {}
    for entry in manifest["shards"] if with_shards else ():
        data = (dataset / entry["file"]).read_bytes()
        shards[entry["file"]] = {"bytes": len(data), "parts": _parts(data)}
    return json.dumps({"manifest": manifest, "index": index, "shards": shards}, separators=(",", ":")).encode()


def unpack(text: bytes) -> Files:
    """Return the files that a text describes, sealed: shards, then records, then the index, then the manifest."""
    try:
        document = json.loads(text)
        members, columns, packed = (document[name] for name in ("manifest", "index", "shards"))
        if not (isinstance(members, dict) and isinstance(columns, dict) and isinstance(packed, dict)):
            raise UnpackError("not the three objects")
        shards = {str(name): _shard(value) for name, value in packed.items()}
        _seal_records(columns, shards)
        index = _parquet(columns)
    except UnpackError:
        raise
    except Exception as error:  # whatever NumPy, Arrow and Python say of such values
        raise UnpackError(str(error)) from error
    return Files(seal_manifest(_seal_members(members, index, shards)), index, shards)


def seal_manifest(members: Any) -> bytes:  # noqa: ANN401  # JSON
    """Return the bytes of a manifest with these members and its checksum."""
    body = members if isinstance(members, bytes) else json.dumps(members, indent=2).encode()
    body = body.rstrip().removesuffix(b"}").rstrip()
    return body + f',\n  "checksum": "crc32c:{_native.crc32c(body):08x}"\n}}\n'.encode()


def _plain(values: list[Any]) -> list[Any]:
    return [value.hex() if isinstance(value, bytes) else value for value in values]


def _parts(data: bytes) -> list[list[object]]:
    """Return the parts that are not zero, with their offsets."""
    found: list[list[object]] = []
    position = 0
    while position < len(data):
        gap = data.find(bytes(LEAST_GAP), position)
        end = len(data) if gap < 0 else gap
        if end > position:
            found.append([position, data[position:end].hex()])
        position = end + 1
        while position < len(data) and data[position] == 0:
            position += 1
    return found


def _shard(value: dict[str, Any]) -> bytes:
    size = value["bytes"]
    if not isinstance(size, int) or not 0 <= size <= MAX_SHARD_BYTES:
        raise UnpackError("a shard that is too large")
    data = bytearray(size)
    for offset, digits in value["parts"]:
        content = bytes.fromhex(digits)
        if not 0 <= offset <= MAX_SHARD_BYTES:
            raise UnpackError("a part that is far away")
        data[offset : offset + len(content)] = content
    if len(data) >= HEADER_BYTES:
        data[HEADER_BYTES - 4 : HEADER_BYTES] = _native.crc32c(bytes(data[: HEADER_BYTES - 4])).to_bytes(4, "little")
    return bytes(data)


def _seal_records(columns: dict[str, Any], shards: dict[str, bytes]) -> None:
    """Correct the checksums of every image and piece whose place is valid."""
    for name in [name.removesuffix(".checksum") for name in columns if name.endswith(".checksum")]:
        part = {key: columns.get(f"{name}.{key}", {}).get("values", []) for key in ("shard", "offset", "length")}
        checksums = columns[f"{name}.checksum"]["values"]
        pieces = columns.get(f"{name}.segments", {}).get("values", [])
        piece_checksums = columns.get(f"{name}.segment_checksums", {}).get("values", [])
        for row in range(min(map(len, [*part.values(), checksums]))):
            shard = shards.get(part["shard"][row]) if isinstance(part["shard"][row], str) else None
            whole = _cut(shard, part["offset"][row], part["length"][row])
            own = pieces[row] if row < len(pieces) else None
            if isinstance(own, list) and len(own) % 2 == 0 and own:
                cuts = [_cut(shard, own[i], own[i + 1]) for i in range(0, len(own), 2)]
                if None not in cuts and row < len(piece_checksums):
                    piece_checksums[row] = [_native.crc32c(cut) for cut in cuts if cut is not None]
                    whole = b"".join(cut for cut in cuts if cut is not None)
            if whole is not None:
                checksums[row] = _native.crc32c(whole)


def _cut(shard: bytes | None, offset: object, length: object) -> bytes | None:
    if shard is None or not isinstance(offset, int) or not isinstance(length, int):
        return None
    return shard[offset : offset + length] if 0 <= offset <= len(shard) and length >= 0 else None


def _parquet(columns: dict[str, Any]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    arrays = {name: _array(column["type"], column["values"]) for name, column in columns.items()}
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(arrays), sink, compression="none")
    return bytes(sink.getvalue().to_pybytes())


def _array(type_text: str, values: list[Any]) -> pa.Array:
    kind = _type(type_text)
    import pyarrow as pa

    if pa.types.is_binary(kind) or pa.types.is_fixed_size_binary(kind):
        values = [None if value is None else bytes.fromhex(value) for value in values]
    return pa.array(values, kind)


def _type(text: str) -> pa.DataType:
    import pyarrow as pa

    for prefix, closing in (("list<element: ", ">"), ("list<item: ", ">"), ("list<", ">")):
        if text.startswith(prefix) and text.endswith(closing):
            return pa.list_(_type(text[len(prefix) : -len(closing)]))
    if text.startswith("fixed_size_binary["):
        return pa.binary(int(text[len("fixed_size_binary[") : -1]))
    if text.startswith("dictionary<"):
        return pa.string()
    return pa.type_for_alias(text)


def _seal_members(members: dict[str, Any], index: bytes, shards: dict[str, bytes]) -> dict[str, Any]:
    """Return the manifest with the current sizes and checksums of the files."""
    if isinstance(members.get("index"), dict):
        members["index"].update(bytes=len(index), checksum=f"crc32c:{_native.crc32c(index):08x}")
    entries = members.get("shards")
    for entry in entries if isinstance(entries, list) else ():
        data = shards.get(entry["file"]) if isinstance(entry, dict) and isinstance(entry.get("file"), str) else None
        if data is not None:
            entry.update(bytes=len(data), checksum=f"crc32c:{_native.crc32c(data):08x}")
    return members
