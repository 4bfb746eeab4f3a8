"""Decodes Sluice, version 1, in the order of `spec/sluice.md`: slow, short, meant to be read beside it.

python sluice.py IMAGE.sluice TABLES      (prints a line for each component; TABLES may be left away if they are inside)

The result is the quantised coefficients of the JPEG, with which `jpeg_restoration.py` writes the file again.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

GROUP = 8
LANES = 64
SLOTS = 1024
LOWEST_STATE = 65536
MAX_GROUPS = 40
TOKENS, SYMBOLS = 25, 64
ESCAPE, MAX_ESCAPE_BITS = 7, 12
COARSE_LIMIT, REFINED_LIMIT = 7, 31
MASK = 0xFFFFFFFFFFFFFFFF
ZIGZAG = [
    *(0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5, 12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6, 7, 14, 21),
    *(28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61),
    *(54, 47, 55, 62, 63),
]
LUMINANCE = [
    *(16, 11, 10, 16, 24, 40, 51, 61, 12, 12, 14, 19, 26, 58, 60, 55, 14, 13, 16, 24, 40, 57, 69, 56, 14, 17, 22, 29),
    *(51, 87, 80, 62, 18, 22, 37, 56, 68, 109, 103, 77, 24, 35, 55, 64, 81, 104, 113, 92, 49, 64, 78, 87, 103, 121),
    *(120, 101, 72, 92, 95, 98, 112, 100, 103, 99),
]
CHROMINANCE = [
    *(17, 18, 24, 47, 99, 99, 99, 99, 18, 21, 26, 66, 99, 99, 99, 99, 24, 26, 56, 99, 99, 99, 99, 99, 47, 66),
    *(99,) * 38,
]
DC_LIMITS, COUNT_LIMITS, MAGNITUDE_LIMITS = (0, 1, 2, 4, 6, 12, 15), (1, 3, 6, 10, 15, 23, 31), (0, 2, 4, 7, 12, 23, 39)


class SluiceError(ValueError):
    """The file is not a valid Sluice image."""


def require(condition: bool, message: str) -> None:
    """Refuse the file unless the condition holds."""
    if not condition:
        raise SluiceError(message)


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


def xxh64(data: bytes) -> int:
    """Compute XXH64 with seed 0.

    >>> hex(xxh64(b"")), hex(xxh64(b"a" * 40))
    ('0xef46db3751d8e999', '0x569ea6843111ef03')
    """
    p1, p2, p3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
    p4, p5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5

    def rotate(value: int, by: int) -> int:
        return (value << by | value >> (64 - by)) & MASK

    def mix(lane: int, word: int) -> int:
        return rotate(lane + word * p2 & MASK, 31) * p1 & MASK

    at = 0
    if len(data) >= 32:
        lanes = [(p1 + p2) & MASK, p2, 0, -p1 & MASK]
        for at in range(0, len(data) - 31, 32):
            lanes = [mix(lanes[i], number(data, at + 8 * i, 8)) for i in range(4)]
        at += 32
        result = sum(rotate(lane, by) for lane, by in zip(lanes, (1, 7, 12, 18), strict=True)) & MASK
        for lane in lanes:
            result = ((result ^ mix(0, lane)) * p1 + p4) & MASK
    else:
        result = p5
    result = (result + len(data)) & MASK
    for word in range(at, len(data) - 7, 8):
        result = (rotate(result ^ mix(0, number(data, word, 8)), 27) * p1 + p4) & MASK
    at = len(data) - len(data) % 8
    if len(data) - at >= 4:
        result = (rotate(result ^ number(data, at, 4) * p1 & MASK, 23) * p2 + p3) & MASK
        at += 4
    for byte in data[at:]:
        result = rotate(result ^ byte * p5 & MASK, 11) * p1 & MASK
    for shift, prime in ((33, p2), (29, p3)):
        result = (result ^ result >> shift) * prime & MASK
    return result ^ result >> 32


def class_of(value: int, limits: tuple[int, ...]) -> int:
    """Return the number of limits below the value.

    >>> [class_of(value, COUNT_LIMITS) for value in (0, 2, 63)]
    [0, 1, 7]
    """
    return sum(value > limit for limit in limits)


# File ---------------------------------------------------------------------------------------------------------------


@dataclass
class Component:
    """A component: its sampling, its quantisation table and its coefficients."""

    across: int
    down: int
    blocks_wide: int
    blocks_high: int
    quantization: list[int]
    blocks: list[list[int]]
    """64 coefficients in zigzag order for each block, row by row."""


@dataclass
class Image:
    """A decoded file."""

    width: int
    height: int
    color: str
    orientation: int
    components: list[Component]
    restoration: bytes
    """Empty in a prefix, and in a file without restoration data."""


@dataclass
class Group:
    """8 × 8 blocks of a component: where the first one is, and which lanes have a block."""

    component: int
    block_x: int
    block_y: int
    active: list[int]


def decode(data: bytes, tables: bytes = b"") -> Image:
    """Decode a file, or the prefix of one that holds layer 1; `tables` is the table set, unless the file has it."""
    require(len(data) >= 48 and data[:4] == b"SLUI", "no Sluice file")
    require(data[4] == 1, "another version")
    require(number(data, 44, 4) == crc32c(data[:44]), "checksum of the header")
    num_components, color, orientation = data[5], data[6], data[7]
    require(num_components in (1, 3) and color < 3 and (color == 0) == (num_components == 1), "colour")
    require(1 <= orientation <= 8, "orientation")
    width, height = number(data, 8, 4), number(data, 12, 4)
    require(0 < width < 65536 and 0 < height < 65536, "size")
    factors = [(byte & 15, byte >> 4) for byte in data[16 : 16 + num_components]]
    check_sampling(factors, data[16 + num_components : 19])
    units = data[19] & 15, data[19] >> 4
    require(all(1 <= side <= 8 for side in units), "tile size")
    num_layers, bits = data[20], data[21]
    require((num_layers, bits) == (1, 0) or (num_layers == 2 and 1 <= bits <= 3), "layers")
    require(data[22] < 2 and data[23] == 0, "flags")
    begin, restoration_bytes = number(data, 32, 4), number(data, 36, 4)
    require(begin <= len(data) and number(data, 40, 4) == crc32c(data[48:begin]), "checksum of the tables")
    layout = [(1, 1)] if num_components == 1 else factors
    components = lay_out(width, height, factors, layout)
    tiles = tile_groups(width, height, components, layout, units)
    num_segments = num_layers * len(tiles)
    quantization_at = 48 + 4 * (num_segments + 1) + 4 * num_segments
    require(quantization_at <= begin, "offsets do not fit")
    offsets = [number(data, 48 + 4 * i, 4) for i in range(num_segments + 1)]
    checksums = [number(data, 48 + 4 * (num_segments + 1 + i), 4) for i in range(num_segments)]
    at = read_quantization(data[:begin], quantization_at, components)
    if data[22] & 1:
        length = number(data[:begin], at, 4)
        require(at + 4 + length <= begin, "table set does not fit")
        tables, at = data[at + 4 : at + 4 + length], at + 4 + length
    while at < begin:
        at += 8 + number(data[:begin], at + 4, 4)
    require(at == begin, "extensions do not fit")
    require(xxh64(tables) == number(data, 24, 8), "needs another table set")
    models = read_tables(tables, bits)
    is_prefix = offsets[-1] + restoration_bytes != len(data)
    require(not is_prefix or (num_layers == 2 and len(data) == offsets[len(tiles)]), "length")
    if is_prefix:
        del offsets[len(tiles) + 1 :]
    require(offsets[0] == begin, "offsets")
    for i in range(len(offsets) - 1):
        segment, groups = data[offsets[i] : offsets[i + 1]], tiles[i % len(tiles)]
        require(begin <= offsets[i] < offsets[i + 1] <= offsets[-1], "offsets do not ascend")
        require(crc32c(segment) == checksums[i], "checksum of a segment")
        if i < len(tiles):
            decode_segment(segment, groups, components, models[0])
        else:
            refine_segment(segment, groups, components, models[1])
    if is_prefix:
        widen(components, bits)
    restoration = data[offsets[-1] :]
    if restoration:
        require(number(restoration, 0, 4) == crc32c(restoration[4:]), "checksum of the restoration data")
    return Image(width, height, ("grey", "ycc", "rgb")[color], orientation, components, restoration[4:])


def check_sampling(factors: list[tuple[int, int]], spare: bytes) -> None:
    """Refuse sampling factors that JPEG does not have."""
    require(not any(spare), "sampling of a component that does not exist")
    require(all(1 <= side <= 4 for pair in factors for side in pair), "sampling factors")
    if len(factors) == 1:
        return
    require(sum(across * down for across, down in factors) <= 10, "more than ten blocks in an MCU")
    for direction in (0, 1):
        most = max(pair[direction] for pair in factors)
        require(all(most % pair[direction] == 0 for pair in factors), "sampling ratios")


def lay_out(width: int, height: int, factors: list[tuple[int, int]], layout: list[tuple[int, int]]) -> list[Component]:
    """Make components without coefficients."""
    most_across, most_down = (max(pair[i] for pair in layout) for i in (0, 1))
    components = []
    for (across, down), (h, v) in zip(factors, layout, strict=True):
        wide, high = -(-width * h // (8 * most_across)), -(-height * v // (8 * most_down))
        components.append(Component(across, down, wide, high, [], [[0] * 64 for _ in range(wide * high)]))
    return components


def tile_groups(
    width: int, height: int, components: list[Component], layout: list[tuple[int, int]], units: tuple[int, int]
) -> list[list[Group]]:
    """List the groups of each tile."""
    require(units[0] * units[1] * sum(h * v for h, v in layout) <= MAX_GROUPS, "too many groups in a tile")
    sides = [64 * max(pair[i] for pair in layout) * units[i] for i in (0, 1)]
    tiles = []
    for tile_y in range(-(-height // sides[1])):
        for tile_x in range(-(-width // sides[0])):
            groups = []
            for c, (component, (h, v)) in enumerate(zip(components, layout, strict=True)):
                for y in range(tile_y * v * units[1], (tile_y + 1) * v * units[1]):
                    for x in range(tile_x * h * units[0], (tile_x + 1) * h * units[0]):
                        active = [
                            lane
                            for lane in range(LANES)
                            if GROUP * x + lane % 8 < component.blocks_wide
                            and GROUP * y + lane // 8 < component.blocks_high
                        ]
                        if active:
                            groups.append(Group(c, GROUP * x, GROUP * y, active))
            tiles.append(groups)
    return tiles


def read_quantization(data: bytes, at: int, components: list[Component]) -> int:
    """Read a table for each component; gives where they end."""
    for i, component in enumerate(components):
        kind, at = number(data, at, 1), at + 1
        require(kind <= 4 and (kind < 4 or i > 0), "kind of quantisation table")
        if kind == 4:
            component.quantization = components[i - 1].quantization
        elif kind in (2, 3):
            quality, at = number(data, at, 1), at + 1
            require(1 <= quality <= 100, "quality of a quantisation table")
            percent = 5000 // quality if quality < 50 else 200 - 2 * quality
            standard = LUMINANCE if kind == 2 else CHROMINANCE
            component.quantization = [min(255, max(1, (standard[k] * percent + 50) // 100)) for k in ZIGZAG]
        else:
            component.quantization = [number(data, at + (1 + kind) * k, 1 + kind) for k in range(64)]
            at += 64 * (1 + kind)
        require(min(component.quantization) > 0, "quantisation step of zero")
    return at


# Table set ----------------------------------------------------------------------------------------------------------


class TableSet:
    """Probabilities of all symbols, and which table each context uses."""

    def __init__(self, data: bytes, refinement_bits: int = 0) -> None:
        require(len(data) >= 16 and data[:4] == b"SLTB" and data[4] == 1, "no table set")
        self.refinement_bits = refinement_bits
        require(number(data, 12, 4) == crc32c(data[16:]), "checksum of the table set")
        self.first_pair = data[5]
        require(2 <= self.first_pair <= 64 and self.first_pair % 2 == 0, "first pair")
        counts = list(data[6:9])
        require(counts[0] > 0 and counts[2] > 0 and sum(counts) <= 64, "number of tables")
        require((counts[1] == 0) == (self.first_pair == 64), "pair tables")
        require(data[9] == refinement_bits and not any(data[10:12]), "head of the table set")
        require(refinement_bits == 0 or self.first_pair == 64, "pairs in layer 2")
        self.tables: list[list[tuple[int, int, int]]] = []
        """Slots of each table: symbol, beginning of its range, its frequency."""
        at = 16
        for kind, count in enumerate(counts):
            for _ in range(count):
                num_tokens = 1 << refinement_bits if refinement_bits else TOKENS
                num_symbols = num_tokens if kind == 0 else SYMBOLS
                frequencies = [number(data, at + 2 * i, 2) for i in range(num_symbols)]
                at += 2 * num_symbols
                require(min(frequencies) > 0 and sum(frequencies) == SLOTS, "frequencies")
                slots: list[tuple[int, int, int]] = []
                for symbol, frequency in enumerate(frequencies):
                    slots += [(symbol, len(slots), frequency)] * frequency
                self.tables.append(slots)
        num_contexts = 1 + 8 + 64 + 64 * len(self.steps())
        require(len(data) == at + 2 * num_contexts, "length of the table set")
        self.maps = [data[at : at + num_contexts], data[at + num_contexts :]]
        limits = [0, counts[0], counts[0] + counts[1], sum(counts)]
        for i in range(num_contexts):
            kind = 2 if 1 <= i < 73 else 1 if i >= 73 + 64 * (self.first_pair - 1) else 0
            require(all(limits[kind] <= one[i] < limits[kind + 1] for one in self.maps), "context map")

    def steps(self) -> list[int]:
        """List the first position of each step."""
        return [*range(1, self.first_pair), *range(self.first_pair, 64, 2)]


def read_tables(data: bytes, bits: int) -> list[TableSet]:
    """Read the table set of a file: one for each layer."""
    if bits == 0:
        return [TableSet(data)]
    require(len(data) >= 12 and data[:4] == b"SLTL" and data[4] == 1, "no layered table set")
    require(data[5] == bits and not any(data[6:8]), "head of the layered table set")
    end = 12 + number(data, 8, 4)
    require(end <= len(data), "first set does not fit")
    return [TableSet(data[12:end]), TableSet(data[end:], bits)]


# Segment ------------------------------------------------------------------------------------------------------------


def neighbours(k: int) -> list[int]:
    """List positions whose magnitudes count: each as often as its weight says; 64 counts zero.

    >>> neighbours(4)
    [2, 1, 2, 1, 0, 64, 64]
    """
    v, u = divmod(ZIGZAG[k], 8)
    if u and v:
        places = [(v, u - 1), (v - 1, u), (v - 1, u - 1), (v, u - 2), (v - 2, u)]
    elif v == 0:
        places = [(0, u - 1), (0, u - 2), (0, u - 1), (1, u - 1), (1, u - 1)]
    else:
        places = [(v - 1, 0), (v - 2, 0), (v - 1, 0), (v - 1, 1), (v - 1, 1)]
    found = []
    for row, column in places:
        position = ZIGZAG.index(8 * row + column) if row >= 0 and column >= 0 else 64
        found.append(position if position < k else 64)
    return found[:2] + found


class Segment:
    """The streams of one tile."""

    def __init__(self, data: bytes, num_lanes: int, model: TableSet) -> None:
        self.model = model
        num_words, self.num_states = number(data, 0, 4), min(LANES, num_lanes)
        self.states = [number(data, 4 + 4 * i, 4) for i in range(self.num_states)]
        require(min(self.states) >= LOWEST_STATE, "a state is too small")
        at = 4 + 4 * self.num_states
        self.words = [number(data, at + 2 * i, 2) for i in range(num_words)]
        self.next_word = 0
        self.raw = data[at + 2 * num_words :]
        self.position = 0

    def decode(self, contexts: list[tuple[int, int]]) -> list[int]:
        """Decode a step; a context is a class and its place in the context map."""
        symbols = []
        for j, (kind, context) in enumerate(contexts):
            x = self.states[j % LANES]
            symbol, begin, frequency = self.model.tables[self.model.maps[kind][context]][x % SLOTS]
            x = frequency * (x >> 10) + x % SLOTS - begin
            if x < LOWEST_STATE:
                require(self.next_word < len(self.words), "too few words")
                x, self.next_word = x << 16 | self.words[self.next_word], self.next_word + 1
            self.states[j % LANES] = x
            symbols.append(symbol)
        return symbols

    def plane(self, count: int) -> list[int]:
        """Read raw bits."""
        require(self.position + count <= 8 * len(self.raw), "too few raw bits")
        bits = [self.raw[i >> 3] >> (i & 7) & 1 for i in range(self.position, self.position + count)]
        self.position += count
        return bits

    def check_end(self) -> None:
        """Refuse a segment that is not used up."""
        require(self.next_word == len(self.words), "too many words")
        require((self.position + 7) // 8 == len(self.raw), "too many raw bits")
        require(all(x >> 16 == 1 for x in self.states), "states do not end where an encoder begins")


class Lanes:
    """State of the blocks of a group."""

    def __init__(self, group: Group) -> None:
        self.group = group
        self.kind = min(group.component, 1)
        self.values = {lane: [0] * 64 for lane in group.active}
        self.magnitudes = {lane: [0] * 65 for lane in group.active}
        self.remaining = dict.fromkeys(group.active, 0)

    def context(self, lane: int, k: int) -> int:
        """Return the context of a position, without the beginning of its step's contexts."""
        total = sum(self.magnitudes[lane][i] for i in neighbours(k))
        return 8 * class_of(self.remaining[lane], COUNT_LIMITS) + class_of(total, MAGNITUDE_LIMITS)

    def lane_class(self, lane: int) -> int:
        """Return the class of the lane's DC token."""
        return class_of(self.magnitudes[lane][0], DC_LIMITS)


class KnownLanes(Lanes):
    """State of the blocks of a group whose layer 1 is known."""

    def __init__(self, group: Group, values: dict[int, list[int]]) -> None:
        super().__init__(group)
        self.values = values

    def lane_class(self, lane: int) -> int:
        """Return the class of the number of known coefficients."""
        return class_of(sum(value != 0 for value in self.values[lane][1:]), COUNT_LIMITS)


class TileDecoder:
    """Decodes the steps of one segment."""

    def __init__(self, segment: Segment, groups: list[Group]) -> None:
        self.segment = segment
        self.all = [Lanes(group) for group in groups]
        self.deferred: list[tuple[Lanes, int, list[int]]] = []
        self.room = 16 * segment.num_states

    def step(self, lanes: list[tuple[Lanes, int]], contexts: list[int]) -> list[int]:
        """Decode a symbol for each lane of a step."""
        return self.segment.decode([(one.kind, context) for (one, _), context in zip(lanes, contexts, strict=True)])

    def dc(self) -> None:
        """Decode the DC differences."""
        lanes = [(one, lane) for one in self.all for lane in one.group.active]
        for (one, lane), token in zip(lanes, self.step(lanes, [0] * len(lanes)), strict=True):
            one.magnitudes[lane][0] = token
        for one in self.all:
            self.read_values(one, 0)
            for lane in one.group.active:  # the lanes to the left and above come first
                before = lane - 1 if lane % 8 else lane - 8
                total = one.values[lane][0] + (one.values[before][0] if before >= 0 else 0)
                one.values[lane][0] = (total + 32768) % 65536 - 32768

    def counts(self) -> None:
        """Decode the number of nonzero coefficients of each lane; in layer 2, of new ones."""
        even = [(one, lane) for one in self.all for lane in one.group.active if (lane ^ lane >> 3) % 2 == 0]
        contexts = [1 + one.lane_class(lane) for one, lane in even]
        for (one, lane), count in zip(even, self.step(even, contexts), strict=True):
            one.remaining[lane] = count
        odd = [(one, lane) for one in self.all for lane in one.group.active if (lane ^ lane >> 3) % 2]
        contexts = []
        for one, lane in odd:
            x, y = lane % 8, lane // 8
            left, right = lane - 1 if x else lane + 1, lane + 1 if x < 7 else lane - 1
            top, bottom = lane - 8 if y else lane + 8, lane + 8 if y < 7 else lane - 8
            near = [one.remaining.get(other, 0) for other in (left, right, top, bottom)]
            mean = (((near[0] + near[1] + 1) >> 1) + ((near[2] + near[3] + 1) >> 1) + 1) >> 1
            contexts.append(9 + 8 * class_of(mean, COUNT_LIMITS) + one.lane_class(lane))
        for (one, lane), count in zip(odd, self.step(odd, contexts), strict=True):
            one.remaining[lane] = count

    def positions(self) -> None:
        """Decode all other positions."""
        first_pair = self.segment.model.first_pair
        for index, k in enumerate(self.segment.model.steps()):
            lanes = [(one, lane) for one in self.all for lane in one.group.active if one.remaining[lane]]
            contexts = [73 + 64 * index + one.context(lane, k) for one, lane in lanes]
            for (one, lane), symbol in zip(lanes, self.step(lanes, contexts), strict=True):
                parts = (symbol,) if k < first_pair else (symbol >> 3, symbol & 7)
                for i, magnitude in enumerate(parts):
                    one.magnitudes[lane][k + i] = magnitude
                    one.remaining[lane] -= magnitude > 0
                require(one.remaining[lane] >= 0, "more coefficients than counted")
            for one in self.all:
                if k < first_pair:
                    self.read_values(one, k)
                else:
                    self.read_pair(one, k)

    def signs(self, one: Lanes, k: int) -> dict[int, int]:
        """Read the signs of the nonzero lanes: 1 or −1."""
        nonzero = [lane for lane in one.group.active if one.magnitudes[lane][k]]
        if nonzero and 0 < k < self.segment.model.first_pair and self.room >= 0:
            self.room -= len(nonzero)
            if self.room >= 0:
                self.deferred.append((one, k, nonzero))
                return dict.fromkeys(nonzero, 1)
        return {lane: 1 - 2 * bit for lane, bit in zip(nonzero, self.segment.plane(len(nonzero)), strict=True)}

    def read_values(self, one: Lanes, k: int) -> None:
        """Read the raw bits of a position that is coded by tokens."""
        signs = self.signs(one, k)
        bits = {lane: max(0, one.magnitudes[lane][k] - 13) for lane in signs if one.magnitudes[lane][k] > 14}
        extra = dict.fromkeys(bits, 0)
        for p in range(max(bits.values(), default=0)):
            lanes = [lane for lane in bits if bits[lane] > p]
            for lane, bit in zip(lanes, self.segment.plane(len(lanes)), strict=True):
                extra[lane] |= bit << p
        for lane, sign in signs.items():
            token = one.magnitudes[lane][k]
            one.values[lane][k] = sign * (11 + (1 << bits[lane]) + extra[lane] if lane in bits else token)

    def read_pair(self, one: Lanes, k: int) -> None:
        """Read the raw bits of a pair."""
        signs = [self.signs(one, k), self.signs(one, k + 1)]
        for i in (0, 1):
            found = {lane: one.magnitudes[lane][k + i] for lane in signs[i]}
            escapes = [lane for lane in found if found[lane] == ESCAPE]
            highest, lanes = dict.fromkeys(escapes, 0), escapes
            while lanes:
                more = self.segment.plane(len(lanes))
                lanes = [lane for lane, bit in zip(lanes, more, strict=True) if bit]
                for lane in lanes:
                    highest[lane] += 1
                    require(highest[lane] <= MAX_ESCAPE_BITS, "a magnitude is too large")
            rest = dict.fromkeys(escapes, 0)
            for p in range(max(highest.values(), default=0)):
                lanes = [lane for lane in escapes if highest[lane] > p]
                for lane, bit in zip(lanes, self.segment.plane(len(lanes)), strict=True):
                    rest[lane] |= bit << p
            for lane in escapes:
                found[lane] = ESCAPE - 1 + (1 << highest[lane]) + rest[lane]
            for lane, magnitude in found.items():
                one.values[lane][k + i] = signs[i][lane] * magnitude

    def finish(self) -> None:
        """Check the end of the segment, and apply the deferred signs."""
        require(not any(left for one in self.all for left in one.remaining.values()), "fewer coefficients than counted")
        self.segment.check_end()
        payload = [x >> bit & 1 for x in self.segment.states for bit in range(16)]
        for one, k, lanes in self.deferred:
            for lane in lanes:
                one.values[lane][k] *= 1 - 2 * payload.pop(0)


def decode_segment(data: bytes, groups: list[Group], components: list[Component], model: TableSet) -> None:
    """Decode a tile into the blocks of its components."""
    decoder = TileDecoder(Segment(data, sum(len(group.active) for group in groups), model), groups)
    decoder.dc()
    decoder.counts()
    decoder.positions()
    decoder.finish()
    for one in decoder.all:
        component = components[one.group.component]
        for lane, values in one.values.items():
            x, y = one.group.block_x + lane % 8, one.group.block_y + lane // 8
            component.blocks[y * component.blocks_wide + x] = values


# Layers -------------------------------------------------------------------------------------------------------------


class Refiner(TileDecoder):
    """Decodes the steps of a segment of layer 2."""

    def refine(self) -> None:
        """Decode all positions."""
        bits = self.segment.model.refinement_bits
        known = [{lane: [value != 0 for value in one.values[lane]] for lane in one.group.active} for one in self.all]
        for k in range(1, 64):
            lanes = [
                (one, lane)
                for one, is_known in zip(self.all, known, strict=True)
                for lane in one.group.active
                if one.remaining[lane] and not is_known[lane][k]
            ]
            contexts = [73 + 64 * (k - 1) + one.context(lane, k) for one, lane in lanes]
            for (one, lane), magnitude in zip(lanes, self.step(lanes, contexts), strict=True):
                one.magnitudes[lane][k] = magnitude
                one.remaining[lane] -= magnitude > 0
            for one, is_known in zip(self.all, known, strict=True):
                for lane, sign in self.signs(one, k).items():
                    one.values[lane][k] = sign * one.magnitudes[lane][k]
                old = [lane for lane in one.group.active if is_known[lane][k]]
                planes = [self.segment.plane(len(old)) for _ in range(bits)]
                for i, lane in enumerate(old):
                    low, coarse = sum(plane[i] << p for p, plane in enumerate(planes)), abs(one.values[lane][k])
                    one.magnitudes[lane][k] = min(REFINED_LIMIT, (min(COARSE_LIMIT, coarse) << bits) + low)
                    whole = (coarse << bits) + low
                    one.values[lane][k] = wrapped(whole if one.values[lane][k] > 0 else -whole)


def wrapped(value: int) -> int:
    """Reduce a number modulo 2^16 to a signed one.

    >>> wrapped(32768), wrapped(-5)
    (-32768, -5)
    """
    return (value + 32768) % 65536 - 32768


def refine_segment(data: bytes, groups: list[Group], components: list[Component], model: TableSet) -> None:
    """Add layer 2 to the blocks of a tile."""
    refiner = Refiner(Segment(data, sum(len(group.active) for group in groups), model), groups)
    refiner.all = []
    for group in groups:
        component = components[group.component]
        places = [
            (group.block_y + lane // 8) * component.blocks_wide + group.block_x + lane % 8 for lane in group.active
        ]
        values = {lane: component.blocks[place] for lane, place in zip(group.active, places, strict=True)}
        refiner.all.append(KnownLanes(group, values))
    refiner.counts()
    refiner.refine()
    refiner.finish()


def widen(components: list[Component], bits: int) -> None:
    """Give the coefficients of layer 1 the magnitudes that they have without layer 2."""
    for component in components:
        for block in component.blocks:
            for k in range(1, 64):
                if block[k]:
                    magnitude = (abs(block[k]) << bits) + ((1 << bits) - 1) // 2
                    block[k] = wrapped(magnitude if block[k] > 0 else -magnitude)


def main(arguments: list[str]) -> None:
    """Print what a file contains."""
    image = decode(Path(arguments[0]).read_bytes(), Path(arguments[1]).read_bytes() if len(arguments) > 1 else b"")
    print(f"{image.width}x{image.height} {image.color}, orientation {image.orientation}")
    for component in image.components:
        nonzero = sum(value != 0 for block in component.blocks for value in block)
        print(f"{component.blocks_wide}x{component.blocks_high} blocks, {nonzero} nonzero coefficients")


if __name__ == "__main__":
    main(sys.argv[1:])
