"""Datasets, version 1: a reader in the order of spec/dataset.md. Slow, short, and meant to be read.

Uses the standard library, and pyarrow for the Parquet file alone. Images are left as the bytes they are stored as.
"""

from __future__ import annotations

import base64
import json
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet


class DamagedError(ValueError):
    """The folder does not follow the format."""


def check(condition: bool, what: str) -> None:
    """Raise `DamagedError` unless the condition holds."""
    if not condition:
        raise DamagedError(what)


# Checksums


def _crc_table() -> list[int]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


CRC_TABLE = _crc_table()


def crc32c(data: bytes) -> int:
    """Compute the CRC-32C of some bytes."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ CRC_TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


# Shard

HEADER = struct.Struct("<8sHHI16sI24sI")


def check_header(data: bytes, identity: str, number: int) -> None:
    """Check the first 64 bytes of a shard."""
    magic, version, kind, alignment, owner, own_number, zero, crc = HEADER.unpack(data)
    check(magic == b"PENSHARD" and crc == crc32c(data[:60]), "the header is damaged")
    check(version == 1 and kind in (1, 2), "another version or kind")
    check(alignment in [1 << bit for bit in range(13)] and zero == bytes(24), "the header is damaged")
    check(owner.hex() == identity and own_number == number, "the shard is of another dataset")


def read_metadata(data: bytes) -> list[tuple[str, bytes]]:
    """Read the entries behind a field's bytes."""
    content, crc = data[:-4], data[-4:]
    check(crc32c(content) == int.from_bytes(crc, "little"), "metadata does not match its checksum")
    entries = []
    while content:
        length = int.from_bytes(content[4:8], "little")
        entries.append((content[:4].decode("ascii"), content[8 : 8 + length]))
        content = content[8 + length :]
    return entries


# The index

SHARD_NAME = re.compile(r"shards/[A-Za-z0-9][A-Za-z0-9._+-]*\.shard")


def read_samples(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield every sample: the columns of its row, and each image field's bytes and metadata."""
    manifest = read_manifest((folder / "manifest.json").read_bytes())
    fields = [field["name"] for field in manifest["fields"] if "formats" in field]
    index = pyarrow.parquet.ParquetFile(folder / "index.parquet", pre_buffer=False)
    for batch in index.iter_batches(1024):
        for row in batch.to_pylist():
            sample = {name: value for name, value in row.items() if "." not in name}
            for field in fields:
                own = {name.removeprefix(f"{field}."): row[name] for name in row if name.startswith(f"{field}.")}
                sample[field] = None if own["shard"] is None else read_field(folder, own)
            yield sample


def read_field(folder: Path, column: Mapping[str, Any]) -> tuple[bytes, list[tuple[str, bytes]]]:
    """Read the bytes of an image, and its metadata."""
    check(SHARD_NAME.fullmatch(column["shard"]) is not None, "no name of a shard")
    pieces = column["segments"] or [column["offset"], column["length"]]
    checksums = column["segment_checksums"] if column["segments"] else [column["checksum"]]
    with (folder / column["shard"]).open("rb") as shard:
        data = b""
        for offset, length, checksum in zip(pieces[::2], pieces[1::2], checksums, strict=True):
            shard.seek(offset)
            piece = shard.read(length)
            check(crc32c(piece) == checksum, "a piece does not match its checksum")
            data += piece
        metadata = shard.read(column["metadata_length"])
    check(len(data) == column["length"] and crc32c(data) == column["checksum"], "an image does not match its checksum")
    return data, read_metadata(metadata) if metadata else []


# Blocks

BLOCK_RECORDS = 64


def read_block(folder: Path, rows: Sequence[Mapping[str, Any]], num_groups: int) -> dict[int, bytes]:
    """Read every image of a block at a fidelity, by id, with one read. `rows` has the columns of `image`, and `id`."""
    begin = min(row["segments"][0] for row in rows)
    end = max(sum(row["segments"][2 * num_groups - 2 : 2 * num_groups]) for row in rows)
    with (folder / rows[0]["shard"]).open("rb") as shard:
        shard.seek(begin)
        group_bytes = shard.read(end - begin)
    images = {}
    for row in rows:
        pieces = row["segments"][: 2 * num_groups]
        ranges = zip(pieces[::2], pieces[1::2], strict=True)
        images[row["id"]] = b"".join(group_bytes[at - begin : at - begin + size] for at, size in ranges)
    return images


def blocks(rows: Sequence[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    """Yield the records of one shard of kind 2, block by block."""
    in_turn = sorted(rows, key=lambda row: row["offset"])
    for first in range(0, len(in_turn), BLOCK_RECORDS):
        yield in_turn[first : first + BLOCK_RECORDS]


def jpeg_file(data: bytes) -> bytes:
    """Convert a `pjpeg` for other programs: move segments from behind the end mark to the front."""
    place = 2
    while data[place + 1] in (0xE0, 0xEE):
        place += 2 + int.from_bytes(data[place + 2 : place + 4])
    at = place
    while data[at + 1] != 0xDA:  # segments up to the first scan, which may hold any bytes
        at += 2 + int.from_bytes(data[at + 2 : at + 4])
    while data[at + 1] != 0xD9:  # tables between scans may hold these two bytes too
        at += 2 + int.from_bytes(data[at + 2 : at + 4])
        while at + 1 < len(data) and (data[at] != 0xFF or data[at + 1] == 0 or 0xD0 <= data[at + 1] <= 0xD7):
            at += 1 if data[at] != 0xFF else 2
    end = at + 2
    return data[:place] + data[end:] + data[place:end]


# The hash of pixels

MASK = 2**64 - 1
PRIMES32 = (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D)
PRIMES64 = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)
SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221"
    "b8084674f743248ee03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb"
    "170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
)


def pixel_hash(height: int, width: int, channels: int, bits: int, samples: bytes) -> bytes:
    """Compute the hash of an image; `samples` are its rows, channels interleaved, 16 bits little-endian."""
    return xxh3_128(struct.pack("<IIII240x", height, width, channels, bits) + samples)


def xxh3_128(data: bytes) -> bytes:
    """Compute XXH3 of 128 bits, seed 0, of more than 240 bytes."""
    check(len(data) > 240, "short inputs are hashed otherwise")
    acc = [PRIMES32[2], *PRIMES64[:4], PRIMES32[1], PRIMES64[4], PRIMES32[0]]
    num_stripes = (len(data) - 1) // 64
    for stripe in range(num_stripes):
        _accumulate(acc, data[64 * stripe : 64 * stripe + 64], 8 * (stripe % 16))
        if stripe % 16 == 15:
            _scramble(acc)
    _accumulate(acc, data[-64:], len(SECRET) - 64 - 7)
    low = _merge(acc, 11, len(data) * PRIMES64[0])
    high = _merge(acc, len(SECRET) - 64 - 11, ~(len(data) * PRIMES64[1]))
    return struct.pack(">QQ", high, low)


def _words(data: bytes, offset: int) -> tuple[int, ...]:
    return struct.unpack_from("<8Q", data, offset)


def _accumulate(acc: list[int], stripe: bytes, secret: int) -> None:
    for i, (value, key) in enumerate(zip(_words(stripe, 0), _words(SECRET, secret), strict=True)):
        mixed = value ^ key
        acc[i ^ 1] = (acc[i ^ 1] + value) & MASK
        acc[i] = (acc[i] + (mixed & 0xFFFFFFFF) * (mixed >> 32)) & MASK


def _scramble(acc: list[int]) -> None:
    for i, key in enumerate(_words(SECRET, len(SECRET) - 64)):
        acc[i] = (acc[i] ^ acc[i] >> 47 ^ key) * PRIMES32[0] & MASK


def _merge(acc: list[int], secret: int, start: int) -> int:
    keys = _words(SECRET, secret)
    result = start
    for i in range(0, 8, 2):
        product = (acc[i] ^ keys[i]) * (acc[i + 1] ^ keys[i + 1])
        result += product & MASK ^ product >> 64
    result &= MASK
    result = (result ^ result >> 37) * 0x165667919E3779F9 & MASK
    return result ^ result >> 32


# manifest.json

TAIL = re.compile(rb',\n  "checksum": "crc32c:([0-9a-f]{8})"\n\}\n')


def read_manifest(data: bytes) -> dict[str, Any]:
    """Return the members of a manifest."""
    tail = TAIL.fullmatch(data, len(data) - 36)
    assert tail is not None, "the manifest does not end with its checksum"
    check(int(tail.group(1), 16) == crc32c(data[: tail.start()]), "the manifest does not match its checksum")
    manifest: dict[str, Any] = json.loads(data)
    check(manifest["kind"] == "penstock dataset" and manifest["version"] == 1, "another kind or version")
    return manifest


def read_table_sets(manifest: Mapping[str, Any]) -> dict[int, bytes]:
    """Return the table sets of `sluice` by id. Their own reader, `sluice.py`, compares the id with the bytes."""
    entries = [entry for entry in manifest.get("tables", []) if entry["codec"] == "sluice"]
    return {int(entry["id"], 16): base64.b64decode(entry["data"], validate=True) for entry in entries}


def check_files(folder: Path) -> None:
    """Check every byte of every file against the manifest."""
    manifest = read_manifest((folder / "manifest.json").read_bytes())
    for entry in [manifest["index"], *manifest["shards"]]:
        data = (folder / entry["file"]).read_bytes()
        check(len(data) == entry["bytes"], f"{entry['file']} has another size")
        check(f"crc32c:{crc32c(data):08x}" == entry["checksum"], f"{entry['file']} does not match its checksum")
    for shard in manifest["shards"]:
        number = int(shard["file"].removesuffix(".shard").rpartition("-")[2])
        with (folder / shard["file"]).open("rb") as file:
            check_header(file.read(HEADER.size), manifest["identity"], number)
