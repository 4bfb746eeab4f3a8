"""Row offsets in a JPEG, version 1: a reader in the order of spec/jpeg.md. Slow, short, and meant to be read."""

from __future__ import annotations

from dataclasses import dataclass

APP9, DRI, SOS = 0xE9, 0xDD, 0xDA
SEQUENTIAL = (0xC0, 0xC1)
NAME = b"PENROWS\1"


@dataclass
class Header:
    """Header of a JPEG, before the scan."""

    scan: int = 0
    """Offset of the entropy-coded data."""
    num_rows: int = 0
    mcus_per_row: int = 0
    restart_interval: int = 0
    components: int = 0
    sequential: bool = False
    one_scan: bool = False
    offsets: bytes | None = None


def read_header(data: bytes) -> Header:
    """Read everything up to the end of the first SOS segment."""
    header = Header()
    position = 2
    while True:
        position = data.index(b"\xff", position)
        while data[position] == 0xFF:
            position += 1
        marker = data[position]
        length = int.from_bytes(data[position + 1 : position + 3], "big")
        content = data[position + 3 : position + 1 + length]
        position += 1 + length
        if marker in range(0xC0, 0xD0) and marker not in (0xC4, 0xC8, 0xCC):
            read_frame(header, marker, content)
        elif marker == DRI:
            header.restart_interval = int.from_bytes(content, "big")
        elif marker == APP9 and content.startswith(NAME) and header.offsets is None:
            header.offsets = content[len(NAME) :]
        elif marker == SOS:
            header.one_scan = content[0] == header.components
            header.scan = position
            return header


def read_frame(header: Header, marker: int, content: bytes) -> None:
    """Count rows of MCUs, and MCUs in a row."""
    height, width = (int.from_bytes(content[begin : begin + 2], "big") for begin in (1, 3))
    header.components = content[5]
    factors = [(factor >> 4, factor & 15) for factor in content[7::3]]
    across = max(across for across, _ in factors) if len(factors) > 1 else 1
    down = max(down for _, down in factors) if len(factors) > 1 else 1
    header.mcus_per_row = -(-width // (8 * across))
    header.num_rows = -(-height // (8 * down))
    header.sequential = marker in SEQUENTIAL


def row_offsets(data: bytes) -> list[int] | None:
    """Return the offsets of the rows from the scan, including row 0; None if they are missing or invalid."""
    header = read_header(data)
    may_have = header.sequential and header.one_scan and header.restart_interval == header.mcus_per_row
    if header.offsets is None or not may_have or len(header.offsets) != 4 * (header.num_rows - 1):
        return None
    kept = header.offsets
    offsets = [0, *(int.from_bytes(kept[at : at + 4], "big") for at in range(0, len(kept), 4))]
    for row in range(1, header.num_rows):
        at = header.scan + offsets[row]
        before = max(offsets[row - 1], 1)
        if offsets[row] <= before or data[at - 2 : at] != bytes([0xFF, 0xD0 + (row - 1) % 8]):
            return None
    return offsets if header.num_rows > 1 else None
