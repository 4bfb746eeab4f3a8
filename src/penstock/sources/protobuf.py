"""Reader of the wire format of Protocol Buffers: fields in order, without interpretation."""

from __future__ import annotations

from collections.abc import Iterator

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
MOST_VARINT_BYTES = 10


def read_fields(message: bytes | memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Yield number and value of each field of a message: an integer or its bytes. ValueError if it is invalid.

    >>> list(read_fields(bytes([0x08, 0x96, 0x01])))
    [(1, 150)]
    """
    view = memoryview(message)
    at = 0
    while at < len(view):
        tag, at = read_varint(view, at)
        number, kind = tag >> 3, tag & 7
        if kind == VARINT:
            value, at = read_varint(view, at)
            yield number, value
            continue
        if kind == BYTES:
            length, at = read_varint(view, at)
        elif kind in (FIXED32, FIXED64):
            length = 4 if kind == FIXED32 else 8
        else:
            raise ValueError(f"byte {at}: a field of wire type {kind}")
        if length > len(view) - at:
            raise ValueError(f"byte {at}: a field of {length} bytes does not fit")
        yield number, view[at : at + length]
        at += length


def read_varint(view: memoryview, at: int) -> tuple[int, int]:
    """Read an integer, and return it with the position behind it."""
    value = 0
    for place in range(MOST_VARINT_BYTES):
        if at + place >= len(view):
            break
        value |= (view[at + place] & 0x7F) << 7 * place
        if view[at + place] < 0x80:
            return value & 2**64 - 1, at + place + 1
    raise ValueError(f"byte {at}: a number without an end")


def integers(value: int | memoryview) -> list[int]:
    """Return a repeated integer field, single or packed, with its sign."""
    if isinstance(value, int):
        return [_signed(value)]
    found, at = [], 0
    while at < len(value):
        number, at = read_varint(value, at)
        found.append(_signed(number))
    return found


def _signed(value: int) -> int:
    return value - 2**64 if value >= 2**63 else value
