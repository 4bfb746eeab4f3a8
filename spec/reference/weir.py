"""Decodes Weir, version 1, in the order of `spec/weir.md`: slow, short, meant to be read beside it.

python weir.py IMAGE.weir IMAGE.pam
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

TILE = 64
LANES = 64
GROUP = 4
BLOCK = 8
CHUNK = 8
FIRST_CODE = 4
MAX_QUOTIENT = 15
Row = list[int]


class WeirError(ValueError):
    """The file is not a valid Weir image."""


def require(condition: bool, message: str) -> None:
    """Refuse the file unless the condition holds."""
    if not condition:
        raise WeirError(message)


def number(data: bytes, at: int, size: int) -> int:
    """Read an unsigned little-endian number."""
    require(at + size <= len(data), "truncated")
    return int.from_bytes(data[at : at + size], "little")


def crc32c(data: bytes) -> int:
    """Compute CRC-32C, bit by bit.

    >>> hex(crc32c(b"123456789"))
    '0xe3069283'
    """
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def unzigzag(value: int) -> int:
    """Convert 0 1 2 3 4 … to 0 −1 1 −2 2 …."""
    return value >> 1 ^ -(value & 1)


class Bits:
    """A bit stream, least significant bit of each byte first."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0

    def read(self) -> int:
        """Read the next bit."""
        require(self.position < 8 * len(self.data), "a bit stream is too short")
        bit = self.data[self.position >> 3] >> (self.position & 7) & 1
        self.position += 1
        return bit

    @property
    def bytes_used(self) -> int:
        """Bytes that have been touched."""
        return (self.position + 7) // 8


class Bytes:
    """A run of bytes that is read from front to back."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0

    def take(self, size: int) -> bytes:
        """Read the next `size` bytes."""
        require(self.position + size <= len(self.data), "a part of a tile is too short")
        self.position += size
        return self.data[self.position - size : self.position]

    def number(self, size: int) -> int:
        """Read the next `size` bytes as a number."""
        return int.from_bytes(self.take(size), "little")

    @property
    def left(self) -> int:
        """Bytes not yet taken."""
        return len(self.data) - self.position


def half_bytes(data: bytes) -> list[int]:
    """Return the low and the high half of each byte."""
    return [half for byte in data for half in (byte & 15, byte >> 4)]


# File


@dataclass(frozen=True)
class Header:
    """The first 32 bytes."""

    dense: bool
    channels: int
    bits: int
    width: int
    height: int
    offset_bytes: int
    metadata_bytes: int
    table_crc: int

    @property
    def across(self) -> int:
        """Tiles in a row of tiles."""
        return -(-self.width // TILE)

    @property
    def tiles(self) -> int:
        """Tiles of the image."""
        return self.across * -(-self.height // TILE)

    @property
    def first_tile(self) -> int:
        """Return the end of the metadata."""
        return 32 + self.offset_bytes * (self.tiles + 1) + 4 * self.tiles + self.metadata_bytes

    @property
    def highest_code(self) -> int:
        """C of the specification."""
        return self.bits + 1 if self.dense else self.bits


@dataclass(frozen=True)
class Image:
    """Rows of interleaved samples."""

    header: Header
    metadata: list[tuple[str, bytes]]
    rows: list[Row]


def read_header(data: bytes) -> Header:
    """Parse and check the header."""
    require(len(data) >= 32, "truncated")
    require(data[:4] == b"WEIR", "not a Weir image")
    require(data[4] == 1, "unknown version")
    profile, channels, bits = data[5], data[6], data[7]
    width, height = number(data, 8, 4), number(data, 12, 4)
    require(profile <= 1 and 1 <= channels <= 4 and bits in (8, 16), "unknown profile, channels or bits")
    require(0 < width < 2**31 and 0 < height < 2**31, "impossible size")
    require(data[16:18] == b"\6\6" and data[18] <= 1 and data[19] == 0, "unknown tile size or flags")
    require(number(data, 28, 4) == crc32c(data[:28]), "checksum of the header")
    offset_bytes = 8 if data[18] & 1 else 4
    return Header(profile == 1, channels, bits, width, height, offset_bytes, number(data, 20, 4), number(data, 24, 4))


def read_metadata(data: bytes) -> list[tuple[str, bytes]]:
    """Read the entries: tag and content."""
    entries = []
    part = Bytes(data)
    while part.left:
        tag = part.take(4).decode("ascii")
        entries.append((tag, part.take(part.number(4))))
    return entries


def decode(data: bytes) -> Image:
    """Decode a file, checking everything there is to check."""
    header = read_header(data)
    start = header.first_tile
    require(len(data) >= start, "truncated")
    require(crc32c(data[32:start]) == header.table_crc, "checksum of the tables")
    size, tiles = header.offset_bytes, header.tiles
    offsets = [number(data, 32 + size * i, size) for i in range(tiles + 1)]
    require(offsets[0] == start, "the first tile does not follow the metadata")
    require(offsets[-1] >= len(data), "bytes after the last tile")
    require(offsets[-1] <= len(data), "truncated")
    rows = [[0] * (header.width * header.channels) for _ in range(header.height)]
    for i in range(tiles):
        require(offsets[i] < offsets[i + 1] <= len(data), f"offsets of tile {i}")
        tile = data[offsets[i] : offsets[i + 1]]
        require(crc32c(tile) == number(data, 32 + size * (tiles + 1) + 4 * i, 4), f"checksum of tile {i}")
        x, y = i % header.across * TILE, i // header.across * TILE
        try:
            pixels = decode_tile(tile, header, min(TILE, header.width - x), min(TILE, header.height - y))
        except WeirError as error:
            raise WeirError(f"tile {i}: {error}") from None
        for row, samples in enumerate(pixels, start=y):
            rows[row][x * header.channels : x * header.channels + len(samples)] = samples
    return Image(header, read_metadata(data[start - header.metadata_bytes : start]), rows)


# Tile


def decode_tile(data: bytes, header: Header, width: int, height: int) -> list[Row]:
    """Decode the rows of one tile, samples interleaved."""
    channels, bits = header.channels, header.bits
    part = Bytes(data)
    flags = part.number(1)
    transform, constant = flags & 3, flags >> 4
    require(flags & 12 == 0 and constant >> channels == 0, "unknown flags")
    require(transform == 0 or channels >= 3, "a transform without colours")
    base = [part.number(bits // 8) for _ in range(channels)]
    planes = [[[base[p]] * LANES for _ in range(height)] for p in range(channels)]
    coded = [p for p in range(channels) if not constant >> p & 1]
    if coded:
        residuals, modes = read_residuals(part, header, coded, height)
        for index, p in enumerate(coded):
            planes[p] = rebuild_rows(residuals[index], [line[index] for line in modes], base[p], bits)
    require(part.left == 0, "bytes after the last part")
    return [merge_planes([plane[y] for plane in planes], transform, bits, width) for y in range(height)]


Residuals = list[list[Row]]
Codes = list[list[list[int]]]


def read_residuals(part: Bytes, header: Header, coded: list[int], height: int) -> tuple[Residuals, list[list[int]]]:
    """Read residuals [coded plane][row][lane] and modes [group][coded plane]."""
    groups = -(-height // GROUP)
    control_bytes = part.number(2)
    payload_bytes = part.number(2) if header.dense else 0
    unary_bytes = [part.number(2) for _ in range(header.channels - 1)] if header.dense else []
    halves = half_bytes(part.take((groups * len(coded) + 1) // 2))
    modes = [[halves[g * len(coded) + i] for i in range(len(coded))] for g in range(groups)]
    require(all(mode <= 7 for line in modes for mode in line), "unknown mode")
    control = part.take(control_bytes)
    lines = groups if header.dense else height
    codes, used = read_codes(control, lines, len(coded), header.highest_code)
    if not header.dense:
        require(used == control_bytes, "control is too long")
        return read_fast(Bytes(part.take(part.left)), codes, height), modes
    masks = read_masks(control[used:], codes)
    payload = Bytes(part.take(payload_bytes))
    streams = [Bits(part.take(size)) for size in unary_bytes] + [Bits(part.take(part.left))]
    require(all(not streams[p].data for p in range(header.channels) if p not in coded), "a constant plane has bits")
    return read_dense(payload, [streams[p] for p in coded], codes, masks, height, header.bits), modes


def read_codes(control: bytes, lines: int, planes: int, highest: int) -> tuple[Codes, int]:
    """Read codes [plane][line][block], and count the bytes of control that they took."""
    stream = Bits(control)
    codes: Codes = [[] for _ in range(planes)]
    above = [[FIRST_CODE] * BLOCK for _ in range(planes)]
    for _ in range(0, lines, CHUNK):
        values = [0] * (planes * CHUNK * BLOCK)
        alive = list(range(len(values)))
        for _ in range(2 * highest):
            alive = [i for i in alive if stream.read()]
            for i in alive:
                values[i] += 1
        for p in range(planes):
            for line in range(CHUNK):
                begin = (p * CHUNK + line) * BLOCK
                above[p] = [code + unzigzag(v) for code, v in zip(above[p], values[begin : begin + BLOCK], strict=True)]
                require(all(0 <= code <= highest for code in above[p]), "unknown code")
                codes[p].append(above[p])
    return [plane[:lines] for plane in codes], stream.bytes_used


def read_masks(data: bytes, codes: Codes) -> dict[tuple[int, int, int], int]:
    """Read the row mask of each sparse block, by group, plane and block."""
    sparse = [
        (g, p, b) for g in range(len(codes[0])) for p in range(len(codes)) for b in range(BLOCK) if codes[p][g][b] == 1
    ]
    require(len(data) == (len(sparse) + 1) // 2, "control has the wrong length")
    return dict(zip(sparse, half_bytes(data), strict=False))


def field_block(payload: Bytes, width: int) -> list[int]:
    """Read eight fields of `width` bits."""
    bits = payload.number(width)
    return [bits >> lane * width & (1 << width) - 1 for lane in range(BLOCK)]


def read_fast(payload: Bytes, codes: Codes, height: int) -> Residuals:
    """Read residuals of fast: field blocks as wide as their codes."""
    rows: Residuals = [[] for _ in codes]
    for top in range(0, height, GROUP):
        for p in range(len(codes)):
            for y in range(top, min(top + GROUP, height)):
                rows[p].append([z for b in range(BLOCK) for z in field_block(payload, codes[p][y][b])])
    require(payload.left == 0, "payload is too long")
    return rows


def read_dense(
    payload: Bytes, streams: list[Bits], codes: Codes, masks: dict[tuple[int, int, int], int], height: int, bits: int
) -> Residuals:
    """Read residuals of dense: low bits and quotients."""
    rows: Residuals = [[] for _ in codes]
    for g in range(len(codes[0])):
        num_rows = min(GROUP, height - GROUP * g)
        for p in range(len(codes)):
            code = codes[p][g]
            low_bits = [bits if c == bits + 1 else max(c - 2, 0) for c in code]
            low = [[z for b in range(BLOCK) for z in field_block(payload, low_bits[b])] for _ in range(num_rows)]
            alive = []
            for r in range(num_rows):
                for b in range(BLOCK):
                    rice = 2 <= code[b] <= bits
                    if rice or (code[b] == 1 and masks[g, p, b] >> r & 1):
                        byte = payload.number(1)
                        alive += [(r, BLOCK * b + j) for j in range(BLOCK) if byte >> j & 1]
            for r, lane in alive:
                low[r][lane] += 1 << low_bits[lane // BLOCK]
            for _ in range(1, MAX_QUOTIENT):
                alive = [position for position in alive if streams[p].read()]
                for r, lane in alive:
                    low[r][lane] += 1 << low_bits[lane // BLOCK]
            rows[p] += [[z & (1 << bits) - 1 for z in row] for row in low]
    require(payload.left == 0, "payload is too long")
    require(all(stream.bytes_used == len(stream.data) for stream in streams), "a unary stream is too long")
    return rows


# Rows


def smoothed(row: Row) -> Row:
    """Compute A of the specification."""
    wide = [row[0], *row, row[-1]]
    return [(((wide[j] + wide[j + 2]) >> 1) + row[j] + 1) >> 1 for j in range(LANES)]


def reference_row(mode: int, above: Row) -> Row:
    """Compute f of the specification; in modes 0 and 1, it is added to the residual itself."""
    if mode in (0, 3):
        return above
    if mode == 2:
        return [0] * LANES
    if mode == 4:
        return [t >> 1 for t in above]
    smooth = smoothed(above)
    if mode == 6:
        return [a >> 1 for a in smooth]
    return [a - (a >> 2) for a in smooth] if mode == 7 else smooth


def rebuild_rows(residuals: list[Row], modes: list[int], base: int, bits: int) -> list[Row]:
    """Rebuild the samples of a plane."""
    rows = []
    above = [base] * LANES
    for y, row in enumerate(residuals):
        mode = modes[y // GROUP]
        f = reference_row(mode, above)
        total = above[0] - f[0]
        samples = []
        for j, z in enumerate(row):
            total += unzigzag(z)
            samples.append((f[j] + (unzigzag(z) if mode <= 1 else total)) & (1 << bits) - 1)
        rows.append(samples)
        above = samples
    return rows


# Colour


def half_signed(value: int, bits: int) -> int:
    """Compute »1 of the specification."""
    value &= (1 << bits) - 1
    return (value - (1 << bits) if value >> (bits - 1) else value) >> 1


def to_rgb(transform: int, planes: tuple[int, int, int], bits: int) -> list[int]:
    """Convert the planes of one pixel to R, G, B."""
    p, q, s = planes
    half, mask = 1 << (bits - 1), (1 << bits) - 1
    if transform == 0:
        return [q, p, s]
    if transform == 2:
        orange, green = q - half, s - half
        t = p - half_signed(green, bits)
        blue = t - half_signed(orange, bits)
        return [(blue + orange) & mask, (green + t) & mask, blue & mask]
    red = (q + p - half) & mask
    blue = s - half + (p if transform == 1 else (red + p) >> 1)
    return [red, p, blue & mask]


def merge_planes(planes: list[Row], transform: int, bits: int, width: int) -> Row:
    """Merge planes to one row of interleaved samples, without lanes past the edge."""
    merged: Row = []
    for samples in list(zip(*planes, strict=True))[:width]:
        if len(samples) < 3:
            merged += samples
        else:
            merged += to_rgb(transform, (samples[0], samples[1], samples[2]), bits) + list(samples[3:])
    return merged


def main() -> None:
    """Convert a Weir file to PAM (binary, big-endian)."""
    image = decode(Path(sys.argv[1]).read_bytes())
    head = image.header
    kind = ("GRAYSCALE", "GRAYSCALE_ALPHA", "RGB", "RGB_ALPHA")[head.channels - 1]
    text = f"P7\nWIDTH {head.width}\nHEIGHT {head.height}\nDEPTH {head.channels}\n"
    text += f"MAXVAL {2**head.bits - 1}\nTUPLTYPE {kind}\nENDHDR\n"
    body = b"".join(sample.to_bytes(head.bits // 8, "big") for row in image.rows for sample in row)
    Path(sys.argv[2]).write_bytes(text.encode() + body)


if __name__ == "__main__":
    main()
