"""Write records and indices of PCR: protobuf messages, as far as seeds and targets need them."""

from __future__ import annotations

from collections.abc import Sequence


def record_of(labels: Sequence[int], scans: Sequence[Sequence[bytes]]) -> list[bytes]:
    """Return the parts of a record: labels, then for each scan the piece of every image."""
    metadata = message((1, b"".join(varint(label) for label in labels)), (3, 1))
    return [metadata, *(message(*((1, piece) for piece in scan)) for scan in scans)]


def index_of(name: str, lengths: Sequence[int]) -> bytes:
    """Make an index of one record."""
    return message((1, message((1, name.encode()), (2, b"".join(varint(length) for length in lengths)))))


def message(*fields: tuple[int, int | bytes]) -> bytes:
    """Make a message of integers and bytes."""
    return b"".join(
        varint(number << 3 | 2) + varint(len(value)) + value
        if isinstance(value, bytes)
        else varint(number << 3) + varint(value)
        for number, value in fields
    )


def varint(value: int) -> bytes:
    """Encode an integer with seven bits per byte."""
    found = bytearray()
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)
