"""Rebuild a JPEG from its coefficients and restoration data, version 1, in the order of spec/jpeg-restoration.md.

Slow, short, and meant to be read beside the page.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

Block = list[int]
"""64 coefficients in zigzag order."""

SOF0, SOF1, SOF2, DHT, SOI, EOI, SOS, DQT, DRI, APP0 = 0xC0, 0xC1, 0xC2, 0xC4, 0xD8, 0xD9, 0xDA, 0xDB, 0xDD, 0xE0
ZRL = 0xF0
MAX_RUN = 32767
LIBRARY_BITS = 937
MAX_SCANS = 100
ONES, ZEROS, LISTED_BITS = 0, 1, 2
LIBRARY, LONGEST, SINGLE, LISTED_RUNS = 0, 1, 2, 3

AC_LUMA = bytes.fromhex(
    "01020300041105122131410613516107227114328191a1082342b1c11552d1f02433627282090a161718191a25262728292a3435363738393a"
    "434445464748494a535455565758595a636465666768696a737475767778797a838485868788898a92939495969798999aa2a3a4a5a6a7a8a9"
    "aab2b3b4b5b6b7b8b9bac2c3c4c5c6c7c8c9cad2d3d4d5d6d7d8d9dae1e2e3e4e5e6e7e8e9eaf1f2f3f4f5f6f7f8f9fa"
)
AC_CHROMA = bytes.fromhex(
    "000102031104052131061241510761711322328108144291a1b1c109233352f0156272d10a162434e125f11718191a262728292a3536373839"
    "3a434445464748494a535455565758595a636465666768696a737475767778797a82838485868788898a92939495969798999aa2a3a4a5a6a7"
    "a8a9aab2b3b4b5b6b7b8b9bac2c3c4c5c6c7c8c9cad2d3d4d5d6d7d8d9dae2e3e4e5e6e7e8e9eaf2f3f4f5f6f7f8f9fa"
)
STANDARD_CODES = (
    bytes.fromhex("00010501010101010100000000000000") + bytes(range(12)),
    bytes.fromhex("0002010303020403050504040000017d") + AC_LUMA,
    bytes.fromhex("00030101010101010101010000000000") + bytes(range(12)),
    bytes.fromhex("00020102040403040705040400010277") + AC_CHROMA,
)
"""Annex K.3: codes of each length, then symbols; DC luma, AC luma, DC chroma, AC chroma."""


class RestorationError(ValueError):
    """The data is not valid, or not of this image."""


def require(condition: bool, message: str) -> None:
    """Refuse the data unless the condition holds."""
    if not condition:
        raise RestorationError(message)


@dataclass
class Component:
    """A component of the image, without fill blocks."""

    across: int
    down: int
    quantization: list[int]
    blocks: list[list[Block]]
    """Rows of blocks."""


@dataclass
class Image:
    """Facts that are known from elsewhere."""

    width: int
    height: int
    components: list[Component]

    def mcus(self) -> tuple[int, int]:
        """Return MCUs across and down, in scans of several components."""
        wide = max(component.across for component in self.components)
        high = max(component.down for component in self.components)
        return -(-self.width // (8 * wide)), -(-self.height // (8 * high))

    def padded(self, component: Component) -> tuple[int, int]:
        """Return blocks across and down, including fill blocks."""
        if len(self.components) == 1:
            return len(component.blocks[0]), len(component.blocks)
        across, down = self.mcus()
        return across * component.across, down * component.down


@dataclass
class Notes:
    """Choices with which a scan was written."""

    padding: int = ONES
    bits: list[int] = field(default_factory=list)
    end_runs: int = LIBRARY
    lengths: list[int] = field(default_factory=list)
    extra_zeros: dict[int, int] = field(default_factory=dict)


@dataclass
class Restoration:
    """The body, unpacked."""

    skeleton: bytes
    notes: dict[int, Notes] = field(default_factory=dict)
    """Notes by scan."""
    fills: dict[tuple[int, int, int], Block] = field(default_factory=dict)
    """Fill blocks by component, row and column; missing ones are as libjpeg writes them."""


class Data:
    """Bytes that are read from front to back."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, count: int) -> bytes:
        """Take some bytes."""
        require(self.at + count <= len(self.data), "truncated")
        self.at += count
        return self.data[self.at - count : self.at]

    def byte(self) -> int:
        """Take a byte."""
        return self.take(1)[0]

    def number(self) -> int:
        """Take a number: seven bits a byte, low ones first."""
        value = 0
        for shift in range(0, 63, 7):
            byte = self.byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
        raise RestorationError("a number is too long")

    def folded(self) -> int:
        """Take a signed number."""
        value = self.number()
        return value >> 1 ^ -(value & 1)


# ---- Head


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


def restore(image: Image, data: bytes) -> bytes:
    """Rebuild the file and check that it is the one that was taken apart."""
    length, checksum, body = read_head(data)
    file = rebuild(image, read_body(Data(body), image))
    require(len(file) == length and crc32c(file) == checksum, "not the file that it was")
    return file


def read_head(data: bytes) -> tuple[int, int, bytes]:
    """Read length and checksum of the file, and the body."""
    head = Data(data)
    require(head.byte() == 1, "unknown version")
    flags = head.byte()
    require(flags < 2, "unknown flags")
    length, checksum = head.number(), int.from_bytes(head.take(4), "little")
    if not flags & 1:
        return length, checksum, data[head.at :]
    body_length = head.number()
    stream = data[head.at :]
    require(body_length <= 1032 * len(stream), "impossible length")
    inflate = zlib.decompressobj(-15)
    try:
        body = inflate.decompress(stream, body_length + 1)
    except zlib.error as error:
        raise RestorationError(str(error)) from None
    require(inflate.eof and len(body) == body_length, "wrong length of the body")
    return length, checksum, body


def read_body(data: Data, image: Image) -> Restoration:
    """Read skeleton, notes of scans, and fill blocks."""
    restoration = Restoration(read_skeleton(data, image), read_scans(data), read_fills(data, image))
    require(data.at == len(data.data), "bytes behind the end")
    return restoration


# ---- Skeleton


def segment(marker: int, content: bytes) -> bytes:
    """Make a segment."""
    return bytes([0xFF, marker]) + (len(content) + 2).to_bytes(2, "big") + content


def read_skeleton(data: Data, image: Image) -> bytes:
    """Carry out operations."""
    skeleton, expanded, names = bytes([0xFF, SOI]), 0, b""
    while (code := data.byte()) != 0:
        if code == 1:
            skeleton += data.take(data.number())
            continue
        if code in (5, 6):
            marker = data.byte()
            pairs = data.take(2 * len(image.components)) if code == 5 else bytes([1, 0, 2, 1, 3, 1])
            names = pairs[0 : 2 * len(image.components) : 2]
            made = frame(image, marker, pairs)
        elif code in (9, 10):
            made = scan_header(data, image, code, names)
        else:
            made = tables(data, image, code)
        expanded += len(made)
        require(expanded <= 1 << 20, "operations append too much")
        skeleton += made
    return skeleton


def tables(data: Data, image: Image, code: int) -> bytes:
    """Carry out the operations that need no frame."""
    if code in (2, 3):
        fields = data.take(6) if code == 3 else bytes([1, 0, 0, 1, 0, 1])
        return segment(APP0, b"JFIF\0\1" + fields + b"\0\0")
    if code == 4:
        content = b""
        for _ in range(data.byte()):
            name, index = data.take(2)
            require(index < len(image.components), "no such component")
            values, is_wide = image.components[index].quantization, name >> 4 != 0
            content += bytes([name])
            content += b"".join(value.to_bytes(2, "big") if is_wide else bytes([value & 255]) for value in values)
        return segment(DQT, content)
    if code == 7:
        return codes(data.take(data.byte()))
    if code == 8:
        return b"".join(codes(bytes([name])) for name in ([0, 1] if len(image.components) == 1 else [0, 1, 6, 7]))
    if code == 12:
        return b"".join(round(65535 * light(i / 1023)).to_bytes(2, "big") for i in range(1024))
    require(code == 11, "unknown operation")
    return bytes([0xFF, EOI])


def light(value: float) -> float:
    """Compute the transfer function of sRGB."""
    return value / 12.92 if value <= 0.04045 else float(((value + 0.055) / 1.055) ** 2.4)


def codes(choices: bytes) -> bytes:
    """Make a DHT segment with codes of annex K.3."""
    return segment(
        DHT, b"".join(bytes([(choice & 1) << 4 | choice >> 2 & 3]) + STANDARD_CODES[choice & 3] for choice in choices)
    )


def frame(image: Image, marker: int, pairs: bytes) -> bytes:
    """Make a frame header."""
    content = b"\x08" + image.height.to_bytes(2, "big") + image.width.to_bytes(2, "big")
    content += bytes([len(image.components)])
    for index, component in enumerate(image.components):
        content += bytes([pairs[2 * index], component.across << 4 | component.down, pairs[2 * index + 1]])
    return segment(marker, content)


def scan_header(data: Data, image: Image, code: int, names: bytes) -> bytes:
    """Make an SOS segment."""
    if code == 9:
        count = data.byte()
        pairs, parameters = data.take(2 * count), data.take(3)
    else:
        count = len(image.components)
        pairs, parameters = bytes([0, 0x00, 1, 0x11, 2, 0x11][: 2 * count]), b"\x00\x3f\x00"
    content = bytes([count])
    for index, code_names in zip(pairs[::2], pairs[1::2], strict=True):
        require(index < len(names), "no such component")
        content += bytes([names[index], code_names])
    return segment(SOS, content + parameters)


# ---- Scans


def read_scans(data: Data) -> dict[int, Notes]:
    """Read notes of the scans that have any."""
    scans: dict[int, Notes] = {}
    scan = -1
    for _ in range(data.number()):
        scan += data.number() + 1
        require(scan < MAX_SCANS, "too many scans")
        flags = data.byte()
        require(flags < 32 and flags & 3 != 3, "unknown flags")
        notes = scans[scan] = Notes(padding=flags & 3, end_runs=flags >> 2 & 3)
        if notes.padding == LISTED_BITS:
            count = data.number()
            packed = data.take(-(-count // 8))
            notes.bits = [packed[i // 8] >> 7 - i % 8 & 1 for i in range(count)]
        if notes.end_runs == LISTED_RUNS:
            notes.lengths = [data.number() for _ in range(data.number())]
            require(all(1 <= length <= MAX_RUN for length in notes.lengths), "impossible run")
        if flags & 16:
            block = 0
            for _ in range(data.number()):
                block += data.number()
                notes.extra_zeros[block] = data.number()
                require(1 <= notes.extra_zeros[block] <= 3, "impossible run of zeros")
    return scans


# ---- Fill blocks


def read_fills(data: Data, image: Image) -> dict[tuple[int, int, int], Block]:
    """Read the fill blocks that are listed."""
    fills: dict[tuple[int, int, int], Block] = {}
    for index, component in enumerate(image.components):
        high, wide = len(component.blocks), len(component.blocks[0])
        across, down = image.padded(component)
        places = [(index, y, x) for y in range(down) for x in range(across) if y >= high or x >= wide]
        if not places:
            continue
        kind = data.byte()
        require(kind < 2, "unknown flags")
        dc = 0
        for place in places if kind == 1 else ():
            dc += data.folded()
            last = data.byte()
            require(last < 64, "impossible coefficient")
            fills[place] = [dc] + [data.folded() for _ in range(last)] + [0] * (63 - last)
    return fills


# ---- How a file is rebuilt


@dataclass
class State:
    """Tables, frame and restart interval, as segments define them."""

    codes: dict[int, bytes] = field(default_factory=dict)
    """Code tables by class and name, as in DHT."""
    names: list[int] = field(default_factory=list)
    progressive: bool = False
    interval: int = 0

    def take(self, marker: int, content: bytes) -> None:
        """Note a segment."""
        if marker == DHT:
            while content:
                size = 17 + sum(content[1:17])
                self.codes[content[0]] = content[1:size]
                content = content[size:]
        elif marker in (SOF0, SOF1, SOF2):
            self.progressive = marker == SOF2
            self.names = list(content[6::3])
        elif marker == DRI:
            self.interval = int.from_bytes(content, "big")

    def code(self, name: int) -> dict[int, tuple[int, int]]:
        """Give the code and its length by symbol."""
        definition = self.codes.get(name)
        if definition is None and not self.progressive and name & 15 < 2:
            definition = STANDARD_CODES[2 * (name & 15) + (name >> 4)]
        require(definition is not None, "a Huffman code is missing")
        assert definition is not None
        by_symbol: dict[int, tuple[int, int]] = {}
        value, at = 0, 16
        for length in range(1, 17):
            for _ in range(definition[length - 1]):
                by_symbol.setdefault(definition[at], (value, length))
                value, at = value + 1, at + 1
            value <<= 1
        return by_symbol


def rebuild(image: Image, restoration: Restoration) -> bytes:
    """Walk over the skeleton and put the scans in."""
    skeleton, state = restoration.skeleton, State()
    file, copied, at, scan = b"", 0, 2, 0
    while (at := skeleton.find(b"\xff", at)) >= 0:
        while at < len(skeleton) and skeleton[at] == 0xFF:
            at += 1
        if at == len(skeleton) or skeleton[at] == EOI:
            break
        marker, at = skeleton[at], at + 1
        if marker == 0 or marker == 1 or marker in range(0xD0, 0xD8):
            continue
        size = int.from_bytes(skeleton[at : at + 2], "big")
        content, at = skeleton[at + 2 : at + size], at + size
        if marker != SOS:
            state.take(marker, content)
            continue
        file += skeleton[copied:at]
        file += ScanWriter(image, restoration, state, content, restoration.notes.get(scan, Notes())).write()
        copied, scan = at, scan + 1
    return file + skeleton[copied:]


class ScanWriter:
    """Writes one scan."""

    def __init__(self, image: Image, restoration: Restoration, state: State, header: bytes, notes: Notes) -> None:
        self.image, self.restoration, self.notes = image, restoration, notes
        self.interval, self.progressive = state.interval, state.progressive
        count = header[0]
        self.indices = [state.names.index(name) for name in header[1 : 1 + 2 * count : 2]]
        self.first, self.last, approximation = header[-3:] if state.progressive else b"\x00\x3f\x00"
        self.refines, self.low = approximation >> 4 != 0, approximation & 15
        selected = header[2 : 2 + 2 * count : 2]
        has_dc, has_ac = self.first == 0 and not self.refines, self.last > 0
        self.dc = [state.code(name >> 4) if has_dc else {} for name in selected]
        self.ac = [state.code(0x10 | name & 15) if has_ac else {} for name in selected]
        self.bits: list[int] = []
        self.predicted = [0] * count
        self.run, self.corrections = 0, list[int]()
        self.padding, self.lengths = iter(notes.bits), iter(notes.lengths)
        self.run_length = next(self.lengths, 0)
        self.block_number = 0

    def write(self) -> bytes:
        """Give the entropy-coded data."""
        code_block = self.coder()
        data, restarts = b"", 0
        for number, mcu in enumerate(self.mcus()):
            if self.interval and number and number % self.interval == 0:
                data += self.end_interval() + bytes([0xFF, 0xD0 + restarts % 8])
                restarts += 1
            for slot, block in mcu:
                code_block(slot, block)
                self.block_number += 1
        return data + self.end_interval()

    def mcus(self) -> Iterator[list[tuple[int, Block]]]:
        """Give the blocks of each MCU, with the number of their component in the scan."""
        if len(self.indices) == 1:
            yield from ([(0, block)] for row in self.image.components[self.indices[0]].blocks for block in row)
            return
        wide, high = self.image.mcus()
        for mcu_y in range(high):
            for mcu_x in range(wide):
                yield [pair for slot in range(len(self.indices)) for pair in self.blocks_of(slot, mcu_x, mcu_y)]

    def blocks_of(self, slot: int, mcu_x: int, mcu_y: int) -> Iterator[tuple[int, Block]]:
        """Give the blocks of one component in an MCU."""
        index = self.indices[slot]
        component = self.image.components[index]
        block: Block = []
        for y in range(mcu_y * component.down, (mcu_y + 1) * component.down):
            for x in range(mcu_x * component.across, (mcu_x + 1) * component.across):
                if y < len(component.blocks) and x < len(component.blocks[0]):
                    block = component.blocks[y][x]
                else:
                    block = self.restoration.fills.get((index, y, x), [block[0]] + [0] * 63)
                yield slot, block

    def coder(self) -> Callable[[int, Block], None]:
        """Choose how blocks are coded."""
        if not self.progressive:
            return self.sequential
        if self.first == 0:
            return self.dc_refine if self.refines else self.dc_first
        return self.ac_refine if self.refines else self.ac_first

    def sequential(self, slot: int, block: Block) -> None:
        """Code DC and AC."""
        self.put_dc(slot, block[0])
        run = self.put_ac(slot, block, 0)
        if run:
            self.put_symbol(self.ac[slot], 0)

    def dc_first(self, slot: int, block: Block) -> None:
        """Code the high bits of DC."""
        self.put_dc(slot, block[0] >> self.low)

    def dc_refine(self, slot: int, block: Block) -> None:
        """Code one more bit of DC."""
        self.bits.append(block[0] >> self.low & 1)

    def ac_first(self, slot: int, block: Block) -> None:
        """Code the high bits of a band."""
        if self.put_ac(slot, block, self.low):
            self.end_block([])

    def ac_refine(self, slot: int, block: Block) -> None:
        """Code one more bit of a band."""
        magnitudes = [abs(value) >> self.low for value in block]
        last_new = max((k for k in range(self.first, self.last + 1) if magnitudes[k] == 1), default=0)
        extra = self.notes.extra_zeros.get(self.block_number, 0)
        run, passed = 0, list[int]()
        for k in range(self.first, self.last + 1):
            if magnitudes[k] == 0:
                run += 1
                continue
            while run > 15 and (k <= last_new or extra):
                extra -= k > last_new
                run, passed = run - 16, self.put_refinement(ZRL, [], passed)
            if magnitudes[k] > 1:
                passed.append(magnitudes[k] & 1)
            else:
                run, passed = 0, self.put_refinement(run << 4 | 1, [int(block[k] > 0)], passed)
        for _ in range(extra):
            require(run > 15, "extra zeros do not fit")
            run, passed = run - 16, self.put_refinement(ZRL, [], passed)
        if run or passed:
            self.end_block(passed)

    def put_refinement(self, symbol: int, sign: list[int], passed: list[int]) -> list[int]:
        """Put a symbol and the correction bits that it passes; none wait any more."""
        self.end_run()
        self.put_symbol(self.ac[0], symbol)
        self.bits += sign + passed
        return []

    def put_dc(self, slot: int, value: int) -> None:
        """Put a DC difference."""
        self.put_value(self.dc[slot], 0, value - self.predicted[slot])
        self.predicted[slot] = value

    def put_ac(self, slot: int, block: Block, low: int) -> int:
        """Put the coefficients of a band, and extra zeros; give the zeros that are left."""
        run = 0
        for k in range(max(1, self.first), self.last + 1):
            magnitude = abs(block[k]) >> low
            if magnitude == 0:
                run += 1
                continue
            self.end_run()
            for _ in range(run // 16):
                self.put_symbol(self.ac[slot], ZRL)
            self.put_value(self.ac[slot], run % 16, magnitude if block[k] > 0 else -magnitude)
            run = 0
        for _ in range(self.notes.extra_zeros.get(self.block_number, 0)):
            require(run > 15, "extra zeros do not fit")
            self.end_run()
            self.put_symbol(self.ac[slot], ZRL)
            run -= 16
        return run

    def put_value(self, code: dict[int, tuple[int, int]], run: int, value: int) -> None:
        """Put a symbol and the magnitude behind it."""
        size = abs(value).bit_length()
        self.put_symbol(code, run << 4 | size)
        self.put_number(value if value > 0 else value + (1 << size) - 1, size)

    def put_symbol(self, code: dict[int, tuple[int, int]], symbol: int) -> None:
        """Put the code of a symbol."""
        require(symbol in code, "a symbol has no code")
        self.put_number(*code[symbol])

    def put_number(self, value: int, size: int) -> None:
        """Put bits, highest first."""
        self.bits += [value >> place & 1 for place in reversed(range(size))]

    def end_block(self, passed: list[int]) -> None:
        """Add an ended block to the run."""
        self.run += 1
        self.corrections += passed
        rule = self.notes.end_runs
        limit = {SINGLE: 1, LISTED_RUNS: self.run_length}.get(rule, MAX_RUN)
        if self.run == limit or (rule == LIBRARY and len(self.corrections) > LIBRARY_BITS):
            self.end_run()

    def end_run(self) -> None:
        """Put the symbol of a run of ended blocks, if there is one, and its correction bits."""
        if self.run == 0:
            return
        if self.notes.end_runs == LISTED_RUNS:
            require(self.run == self.run_length, "a run goes on behind its end")
            self.run_length = next(self.lengths, 0)
        size = self.run.bit_length() - 1
        self.put_symbol(self.ac[0], size << 4)
        self.put_number(self.run - (1 << size), size)
        self.bits += self.corrections
        self.run, self.corrections = 0, []

    def end_interval(self) -> bytes:
        """Pad to a byte, and stuff a zero behind each 0xFF."""
        self.end_run()
        while len(self.bits) % 8:
            self.bits.append(next(self.padding) if self.notes.padding == LISTED_BITS else 1 - self.notes.padding)
        data = bytes(int("".join(map(str, self.bits[at : at + 8])), 2) for at in range(0, len(self.bits), 8))
        self.bits, self.predicted = [], [0] * len(self.indices)
        return data.replace(b"\xff", b"\xff\x00")
