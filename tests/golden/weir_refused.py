"""The golden files of Weir that must be refused: one lie each, everything else, checksums too, being right."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from tests.golden import images
from tests.golden.kinds import Refused
from tests.weir_files import WeirFile, encode_split

CUT, CORRUPT, CHECKSUM, NEWER = 310, 320, 330, 350
PHOTO = images.photo(5, 70, 1)  # two tiles
FAST, DENSE = encode_split(PHOTO, "fast"), encode_split(PHOTO, "dense")
COLOUR = encode_split(images.photo(5, 9, 3), "dense")
FLAT = encode_split(images.finish(np.full((2, 3, 1), 7), 8), "fast")
HEAD_FAST, HEAD_DENSE = 1 + 1 + 2, 1 + 1 + 2 + 2
MODES = 1  # bytes: two groups of one plane
NO_FLAG, FILLED = "has flags that do not exist", "has parts that do not fill it"
MODE, CODE = "has a prediction mode that does not exist", "has a block code that does not exist"
CONTROL, PAYLOAD = "has a control part of the wrong length", "has a payload of the wrong length"
UNARY = "has a unary stream of the wrong length"


def damaged(file: WeirFile, position: int, value: int) -> bytes:
    """The file with another byte at `position`, and no checksum made to fit."""
    data = bytearray(file.data())
    data[position] = value
    return bytes(data)


def with_byte(file: WeirFile, position: int, value: int) -> bytes:
    """The file with another byte in its first tile."""
    tile = bytearray(file.tiles[0])
    tile[position] = value
    return file.with_tile(0, bytes(tile)).data()


def with_end(file: WeirFile, index: int, change: int) -> bytes:
    """The file with a tile that is longer (by zeros) or shorter."""
    tile = file.tiles[index]
    return file.with_tile(index, tile + bytes(change) if change > 0 else tile[:change]).data()


def with_longer_control(file: WeirFile, head: int) -> bytes:
    """The file with a byte more behind the control of its first tile, counted in its head."""
    tile = file.tiles[0]
    size = int.from_bytes(tile[2:4], "little")
    end = head + MODES + size
    return file.with_tile(0, tile[:2] + (size + 1).to_bytes(2, "little") + tile[4:end] + b"\0" + tile[end:]).data()


def with_offset(index: int, change: int) -> bytes:
    """A file with one offset changed."""
    sizes = [len(tile) for tile in FAST.tiles]
    begin = len(FAST.data()) - sum(sizes)
    offsets = [begin, begin + sizes[0], begin + sum(sizes)]
    offsets[index] += change
    return replace(FAST, offsets=tuple(offsets)).data()


def coded(lines: Sequence[Sequence[int]], height: int = 1) -> bytes:
    """A grey image of one column whose control has these values (zigzag of the change of code), and no payload."""
    values = [value for line in lines for value in line] + [0] * (64 - 8 * len(lines))
    alive, bits, level = list(range(64)), list[int](), 0
    while alive and level < 16:
        bits += [int(values[i] > level) for i in alive]
        alive = [i for i in alive if values[i] > level]
        level += 1
    control = int("".join(map(str, reversed(bits))), 2).to_bytes((len(bits) + 7) // 8, "little")
    tile = bytes([0, 0]) + len(control).to_bytes(2, "little") + b"\0" + control
    return WeirFile(0, 1, 8, 1, height, (tile,)).data()


TO_ZERO = [7] * 8  # from the code 4 above the first line to 0
# fmt: off
CASES: dict[str, tuple[Callable[[], bytes], int, str]] = {
    "header-cut": (lambda: FAST.data()[:31], CUT, "shorter than its 32-byte header"),
    "header-version": (lambda: replace(FAST, version=2).data(), NEWER, "weir version 2 is not known"),
    "header-profile": (lambda: replace(FAST, profile=2).data(), CORRUPT, "weir profile 2 does not exist"),
    "header-no-channels": (lambda: replace(FAST, channels=0).data(), CORRUPT, "weir image has 0 channels"),
    "header-five-channels": (lambda: replace(FAST, channels=5).data(), CORRUPT, "weir image has 5 channels"),
    "header-bits": (lambda: replace(FAST, bits=12).data(), CORRUPT, "weir image has 12 bits per sample"),
    "header-width-0": (lambda: replace(FAST, width=0).data(), CORRUPT, "side of 0 pixels"),
    "header-height-huge": (lambda: replace(FAST, height=2**31).data(), CORRUPT, "side of 2147483648 pixels"),
    "header-tile-width": (lambda: replace(FAST, tile_log2=(7, 6)).data(), CORRUPT, "weir tiles are not 64x64"),
    "header-tile-height": (lambda: replace(FAST, tile_log2=(6, 5)).data(), CORRUPT, "weir tiles are not 64x64"),
    "header-flag": (lambda: replace(FAST, flags=2).data(), CORRUPT, "weir header has flags that do not exist"),
    "header-zero-byte": (lambda: replace(FAST, zero=1).data(), CORRUPT, "weir header has flags that do not exist"),
    "header-checksum": (lambda: damaged(FAST, 8, 71), CHECKSUM, "weir header does not match its checksum"),
    "tables-cut": (lambda: FAST.data()[:40], CUT, "ends before its first tile"),
    "tables-checksum": (lambda: damaged(FAST, 45, 0), CHECKSUM, "tables of the weir image do not match"),
    "tables-checksum-of-metadata": (
        lambda: damaged(replace(FAST, metadata=b"TEXT\3\0\0\0a\0b"), 62, 1), CHECKSUM, "tables of the weir image"),
    "metadata-does-not-fit": (
        lambda: replace(FAST, metadata=b"TEXT\xff\0\0\0a\0b").data(), CORRUPT, "metadata entry does not fit"),
    "metadata-cut": (lambda: replace(FAST, metadata=b"TEX").data(), CORRUPT, "metadata entry does not fit"),
    "offset-first": (partial(with_offset, 0, 1), CORRUPT, "first weir tile is at byte"),
    "offset-empty-tile": (partial(with_offset, 1, -len(FAST.tiles[0])), CORRUPT, "weir tile 0 goes from byte"),
    "offset-descending": (partial(with_offset, 1, -len(FAST.tiles[0]) - 1), CORRUPT, "weir tile 0 goes from byte"),
    "offset-outside": (partial(with_offset, 1, 2000), CORRUPT, "weir tile 0 goes from byte"),
    "offset-last": (partial(with_offset, 2, 1), CUT, "should have"),
    "file-cut": (lambda: FAST.data()[:-1], CUT, "should have"),
    "file-too-long": (lambda: FAST.data() + b"x", CORRUPT, "bytes follow the last weir tile"),
    "tile-checksum": (lambda: damaged(DENSE, -1, 0xAA), CHECKSUM, "tile 1 does not match its checksum"),
    "head-flag": (partial(with_byte, FAST, 0, 0x04), CORRUPT, f"tile 0 {NO_FLAG}"),
    "head-plane": (partial(with_byte, FAST, 0, 0x20), CORRUPT, f"tile 0 {NO_FLAG}"),
    "head-transform-of-grey": (partial(with_byte, FAST, 0, 0x01), CORRUPT, f"tile 0 {NO_FLAG}"),
    "head-constant-with-parts": (partial(with_byte, FAST, 0, 0x10), CORRUPT, f"tile 0 {FILLED}"),
    "head-alone": (lambda: FAST.with_tile(0, b"\0").data(), CORRUPT, f"tile 0 {FILLED}"),
    "head-constant-and-more": (partial(with_end, FLAT, 0, 1), CORRUPT, f"tile 0 {FILLED}"),
    "head-control-beyond-the-tile": (partial(with_byte, FAST, 3, 0xFF), CORRUPT, f"tile 0 {FILLED}"),
    "head-payload-beyond-the-tile": (partial(with_byte, DENSE, 5, 0xFF), CORRUPT, f"tile 0 {FILLED}"),
    "head-constant-plane-with-unary": (partial(with_byte, COLOUR, 0, 0x10), CORRUPT, f"tile 0 {FILLED}"),
    "mode-first": (partial(with_byte, FAST, HEAD_FAST, 0x08), CORRUPT, f"tile 0 {MODE}"),
    "mode-second": (partial(with_byte, DENSE, HEAD_DENSE, 0xF0), CORRUPT, f"tile 0 {MODE}"),
    "code-too-high": (lambda: coded([[10, *TO_ZERO[1:]]]), CORRUPT, f"tile 0 {CODE}"),
    "code-below-zero": (lambda: coded([[9, *TO_ZERO[1:]]]), CORRUPT, f"tile 0 {CODE}"),
    "code-in-a-line-that-is-not-there": (
        lambda: coded([TO_ZERO, [0] * 7 + [1]]), CORRUPT, f"tile 0 {CODE}"),
    "code-never-ending": (lambda: coded([[16, *TO_ZERO[1:]]]), CORRUPT, f"tile 0 {CODE}"),
    "control-long-fast": (partial(with_longer_control, FAST, HEAD_FAST), CORRUPT, f"tile 0 {CONTROL}"),
    "control-long-dense": (partial(with_longer_control, DENSE, HEAD_DENSE), CORRUPT, f"tile 0 {CONTROL}"),
    "payload-short": (partial(with_end, FAST, 1, -1), CORRUPT, f"tile 1 {PAYLOAD}"),
    "payload-long": (partial(with_end, FAST, 1, 1), CORRUPT, f"tile 1 {PAYLOAD}"),
    "unary-short": (partial(with_end, DENSE, 1, -1), CORRUPT, f"tile 1 {UNARY}"),
    "unary-long": (partial(with_end, DENSE, 1, 1), CORRUPT, f"tile 1 {UNARY}"),
}
# fmt: on
REFUSED = [Refused(f"weir-refused/{name}.weir", *case) for name, case in CASES.items()]
