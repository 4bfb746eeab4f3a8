"""L3 images, versions 0 and 1: a decoder in the order of spec/l3.md. Slow, short, and meant to be read.

Uses nothing but the standard library; `decode` gives the pixels as bytes, rows of interleaved channels.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate, pairwise

MAGIC = b"LLL."


class DamagedError(ValueError):
    """The file does not follow the format."""


def check(condition: bool, what: str) -> None:
    """Raise `DamagedError` unless the condition holds."""
    if not condition:
        raise DamagedError(what)


@dataclass(frozen=True)
class Header:
    """Section 1: what the file says about its image, and where its tables are."""

    version: int
    width: int
    height: int
    patch: int
    channels: int
    sizes_offset: int

    @property
    def patch_columns(self) -> int:
        """Patches side by side."""
        return -(-self.width // self.patch)

    @property
    def num_patches(self) -> int:
        """Patches of the image."""
        return self.patch_columns * -(-self.height // self.patch)


def decode(data: bytes) -> tuple[Header, bytes]:
    """Decode the header and the pixels of an image."""
    header = read_header(data)
    cells = read_cells(data, header)
    image = bytearray(header.width * header.height * header.channels)
    for index in range(header.num_patches):
        y = index // header.patch_columns * header.patch
        x = index % header.patch_columns * header.patch
        columns = min(header.patch, header.width - x)
        rows = min(header.patch, header.height - y)
        for plane in range(header.channels):
            pixels = decode_cell(cells[plane * header.num_patches + index], rows, columns, header.version)
            for r, row in enumerate(pixels):
                first = ((y + r) * header.width + x) * header.channels + plane
                image[first : first + columns * header.channels : header.channels] = row
    return header, bytes(image)


# Section 1: the file


def read_header(data: bytes) -> Header:
    """Read bytes 0 to 12 (version 0) or 0 to 19 (version 1)."""
    check(len(data) >= 13 and data[:4] == MAGIC, "not an L3 file")
    width, height = number(data, 4, 4), number(data, 8, 4)
    if data[12] != 0:
        header = Header(0, width, height, data[12], 3, 13)
    else:
        check(len(data) >= 20 and data[13] == 1, "unknown version")
        header = Header(1, width, height, data[14], data[15], 20)
    check(0 < width < 2**31 and 0 < height < 2**31, "no size")
    check(8 <= header.patch <= 128 and 1 <= header.channels <= 4, "patch side or channels out of range")
    if header.version == 0:
        check(width % header.patch == 0 and height % header.patch == 0, "not made of whole patches")
    return header


def read_cells(data: bytes, header: Header) -> list[bytes]:
    """Return the bytes of every cell, plane by plane."""
    num_cells = header.num_patches * header.channels
    tables_end = header.sizes_offset + 2 * num_cells + (4 * header.num_patches if header.version == 1 else 0)
    check(len(data) >= tables_end, "cut off inside the tables")
    sizes = [number(data, header.sizes_offset + 2 * i, 2) for i in range(num_cells)]
    ends = list(accumulate(sizes, initial=tables_end))
    check(ends[-1] == len(data), "the cells do not fill the file")
    cells = [data[begin:end] for begin, end in pairwise(ends)]
    if header.version == 1:
        check(number(data, 16, 4) == crc32c(data[:16] + data[20:tables_end]), "checksum of the header")
        for index in range(header.num_patches):
            stored = number(data, header.sizes_offset + 2 * num_cells + 4 * index, 4)
            check(stored == crc32c(b"".join(cells[index :: header.num_patches])), f"checksum of patch {index}")
    return cells


def number(data: bytes, offset: int, size: int) -> int:
    """Read an unsigned little-endian number."""
    return int.from_bytes(data[offset : offset + size], "little")


def crc32c(data: bytes) -> int:
    """Compute CRC-32C, one bit at a time."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


# Section 2: the cell


def decode_cell(cell: bytes, rows: int, columns: int, version: int) -> list[bytes]:
    """Decode the rows of one plane of one patch."""
    decoded: list[bytes] = []
    begin = 0
    for _ in range(rows):
        check(begin + 2 <= len(cell), "row starts outside its cell")
        width = cell[begin] & 15
        check(width <= 8, "row with more than 8 bits")
        end = begin + (12 + columns * width + 7) // 8
        check(end <= len(cell), "row ends outside its cell")
        bits = int.from_bytes(cell[begin:end], "little")
        base = bits >> 4 & 255
        deltas = [bits >> 12 + k * width & (1 << width) - 1 for k in range(columns)]
        predictions = predict_row(decoded[-1], version) if decoded else [128 * version] * columns
        decoded.append(bytes((base + d + p) % 256 for d, p in zip(deltas, predictions, strict=True)))
        begin = end
    check(begin == len(cell), "the rows do not fill their cell")
    return decoded


# Section 3: the pixels


def predict_row(above: bytes, version: int) -> list[int]:
    """Predict a row from the row above it."""
    padded = b"\0" + above + b"\0"
    return [predict(padded[k], padded[k + 1], padded[k + 2], version) for k in range(len(above))]


def predict(tl: int, t: int, tr: int, version: int) -> int:
    """Predict from top left, top and top right."""
    a = abs(tr - t)
    b = abs(tl + tr - 2 * t)
    c = abs(tl - t)
    if tl == 0:
        return t if b <= c else tr
    if tr == 0:
        return tl if a <= b else t
    if a <= b and a <= c:
        return tl
    return t if (a if version == 0 else b) <= c else tr
