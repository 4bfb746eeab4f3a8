"""The golden files of Sluice: those that must decode for ever, and those that must be refused."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np

import penstock
from penstock import _native
from penstock.codecs.sluice import first_layer_bytes, from_jpeg, register_tables, train_tables
from penstock.types import Pixels
from tests.golden import images
from tests.golden.kinds import Golden, Refused
from tests.sluice_files import SluiceFile, split

CUT, CORRUPT, CHECKSUM, NEWER = 310, 320, 330, 350
CASES: dict[str, tuple[tuple[int, int, int], str]] = {
    "grey-1x1": ((1, 1, 1), "q=90"),
    "grey-photo": ((70, 90, 1), "q=85"),
    "rgb-444": ((130, 140, 3), "q=92:subsampling=444"),
    "rgb-422": ((65, 63, 3), "q=75:subsampling=422"),
    "rgb-420": ((100, 150, 3), "q=75"),
    "rgb-fine": ((40, 48, 3), "q=100:subsampling=444"),
    "rgb-coarse": ((80, 60, 3), "q=5"),
}


LAYERED: dict[str, tuple[tuple[int, int, int], str, int]] = {
    "layers-grey-1x1": ((1, 1, 1), "q=90", 2),
    "layers-grey-photo": ((70, 90, 1), "q=85", 1),
    "layers-rgb-444": ((130, 140, 3), "q=92:subsampling=444", 2),
    "layers-rgb-420": ((100, 150, 3), "q=75", 3),
    "layers-rgb-fine": ((40, 48, 3), "q=100:subsampling=444", 2),
}


def jpeg_pixels(shape: tuple[int, int, int], parameters: str) -> Pixels:
    """Decode the JPEG that a golden file was made from."""
    return penstock.decode(penstock.encode(images.photo(*shape), f"jpeg:{parameters}"))


def coded(shape: tuple[int, int, int], parameters: str, _: Pixels) -> bytes:
    """Write a file with the tables that come with the codec."""
    return penstock.encode(images.photo(*shape), f"sluice:{parameters}")


def with_own_tables(first_pair: int, _: Pixels) -> bytes:
    """Write a file that contains its tables; pairs begin at `first_pair`."""
    jpeg = penstock.encode(images.photo(50, 60, 3), "jpeg:q=90")
    tables = register_tables(train_tables([jpeg], first_pair=first_pair))
    return from_jpeg(jpeg, tables=tables, store_tables=True)


def with_extension(_: Pixels) -> bytes:
    """Write a file with an extension that no decoder knows."""
    file = split(penstock.encode(images.photo(20, 30, 3), "sluice:q=80"), 1)
    return replace(file, front=file.front + b"ABCD" + struct.pack("<I", 5) + b"hello").data()


def goldens() -> Iterator[Golden]:
    """List files that must decode; another version of libjpeg-turbo may write other coefficients."""
    for name, (shape, parameters) in CASES.items():
        yield Golden(
            f"sluice/{name}.sluice", partial(jpeg_pixels, shape, parameters), write=partial(coded, shape, parameters)
        )
    own = partial(jpeg_pixels, (50, 60, 3), "q=90")
    yield Golden("sluice/own-tables.sluice", own, write=partial(with_own_tables, 10))
    yield Golden("sluice/no-pairs.sluice", own, write=partial(with_own_tables, 64))
    yield Golden("sluice/extension.sluice", partial(jpeg_pixels, (20, 30, 3), "q=80"), write=with_extension)


def layered(shape: tuple[int, int, int], parameters: str, bits: int, _: Pixels) -> bytes:
    """Write a file of two layers with the tables that come with the codec."""
    return penstock.encode(images.photo(*shape), f"sluice:{parameters}:layers=2:bits={bits}")


def first_layer(shape: tuple[int, int, int], parameters: str, bits: int, pixels: Pixels) -> bytes:
    """Write the prefix of such a file that holds its first layer."""
    data = layered(shape, parameters, bits, pixels)
    return data[: first_layer_bytes(data)]


def coarse_pixels(shape: tuple[int, int, int], parameters: str, bits: int) -> Pixels:
    """Decode the first layer of a file without vector instructions."""
    _native.force_simd_path("portable")
    try:
        return penstock.decode(first_layer(shape, parameters, bits, np.empty(0, np.uint8)))
    finally:
        _native.force_simd_path(_native.best_simd_path())


def layered_goldens() -> Iterator[Golden]:
    """List files of two layers, and prefixes of them."""
    for name, (shape, parameters, bits) in LAYERED.items():
        whole, coarse = partial(layered, shape, parameters, bits), partial(first_layer, shape, parameters, bits)
        yield Golden(f"sluice/{name}.sluice", partial(jpeg_pixels, shape, parameters), write=whole)
        yield Golden(f"sluice-prefix/{name}.sluice", partial(coarse_pixels, shape, parameters, bits), write=coarse)


GOLDENS = [*goldens(), *layered_goldens()]


def photo() -> SluiceFile:
    """Take apart a file of two tiles."""
    return split(penstock.encode(images.photo(16, 140, 1), "sluice:q=90"), 2)


def damaged(position: int, value: int) -> bytes:
    """Change a byte and no checksum."""
    data = bytearray(photo().data())
    data[position] = value
    return bytes(data)


def header(position: int, value: int) -> bytes:
    """Change a byte of the header."""
    return photo().with_header(position, value).data()


def words_changed(change: int) -> bytes:
    """Claim another number of words than there are."""
    file = photo()
    segment = file.segments[0]
    count = int.from_bytes(segment[:4], "little") + change
    return file.with_segment(0, struct.pack("<I", count & 0xFFFFFFFF) + segment[4:]).data()


def longer(extra: bytes) -> bytes:
    """Append bytes to a segment."""
    file = photo()
    return file.with_segment(0, file.segments[0] + extra).data()


def shorter(count: int) -> bytes:
    """Cut bytes off the end of a segment."""
    file = photo()
    return file.with_segment(0, file.segments[0][:-count]).data()


def small_state() -> bytes:
    """Write a state that no encoder ends with."""
    file = photo()
    segment = file.segments[0]
    return file.with_segment(0, segment[:4] + struct.pack("<I", 65535) + segment[8:]).data()


def other_words() -> bytes:
    """Change a word, so that all later symbols are others."""
    file = photo()
    segment = bytearray(file.segments[0])
    at = 4 + 4 * 32
    segment[at : at + 2] = bytes(byte ^ 0xFF for byte in segment[at : at + 2])
    return file.with_segment(0, bytes(segment)).data()


def front(change: Callable[[bytes], bytes]) -> bytes:
    """Change what stands between checksums and segments."""
    file = photo()
    return replace(file, front=change(file.front)).data()


def unknown_tables() -> bytes:
    """Name a table set that does not exist."""
    file = photo()
    return replace(file, header=file.header[:24] + bytes(8)).data()


def offsets_turned() -> bytes:
    """Let the second segment begin after the end."""
    file = photo()
    data = bytearray(file.data())
    struct.pack_into("<I", data, 52, len(data))
    begin = int.from_bytes(data[32:36], "little")
    struct.pack_into("<I", data, 40, _native.crc32c(bytes(data[48:begin])))
    struct.pack_into("<I", data, 44, _native.crc32c(bytes(data[:44])))
    return bytes(data)


def layers() -> SluiceFile:
    """Take apart a file of one tile and two layers."""
    return split(penstock.encode(images.photo(16, 40, 1), "sluice:q=90:layers=2"), 2)


def layer2_changed(change: Callable[[bytes], bytes]) -> bytes:
    """Change the segment of the second layer."""
    file = layers()
    return file.with_segment(1, change(file.segments[1])).data()


def layer1_end() -> int:
    """Return where the first layer ends."""
    return first_layer_bytes(layers().data())


def layer2_damaged() -> bytes:
    """Change a byte of the second layer and no checksum."""
    data = bytearray(layers().data())
    data[layer1_end() + 9] ^= 0xFF
    return bytes(data)


def layer1_damaged() -> bytes:
    """Change a byte of a prefix and no checksum."""
    data = bytearray(layers().data()[: layer1_end()])
    data[-1] ^= 0xFF
    return bytes(data)


ABUSES: dict[str, tuple[Callable[[], bytes], int, str]] = {
    "cut-header": (lambda: photo().data()[:47], CUT, "shorter than its 48-byte header"),
    "cut-tables": (lambda: photo().data()[:60], CUT, "ends before its first segment"),
    "cut-segments": (lambda: photo().data()[:-1], CUT, "should have"),
    "bytes-behind": (lambda: photo().data() + b"\0", CORRUPT, "bytes follow the end"),
    "checksum-header": (partial(damaged, 9, 1), CHECKSUM, "header does not match its checksum"),
    "checksum-tables": (partial(damaged, 49, 99), CHECKSUM, "offsets and tables"),
    "checksum-segment": (partial(damaged, 80, 255), CHECKSUM, "does not match its checksum"),
    "version": (partial(header, 4, 2), NEWER, "version 2 is not known"),
    "layers": (partial(header, 20, 2), NEWER, "layers"),
    "components": (partial(header, 5, 2), CORRUPT, "2 components"),
    "colour": (partial(header, 6, 1), CORRUPT, "colour does not suit"),
    "orientation": (partial(header, 7, 9), CORRUPT, "orientation is 9"),
    "no-width": (lambda: photo().with_header(8, 0).with_header(9, 0).data(), CORRUPT, "side of 0 pixels"),
    "sampling": (partial(header, 16, 0x15), CORRUPT, "sampling factor"),
    "sampling-of-nothing": (partial(header, 17, 0x11), CORRUPT, "component that does not exist"),
    "tile-size": (partial(header, 19, 0x09), CORRUPT, "1 to 8 units"),
    "too-many-groups": (partial(header, 19, 0x88), CORRUPT, "too many groups"),
    "flags": (partial(header, 22, 2), CORRUPT, "flags that do not exist"),
    "tables-missing": (partial(header, 22, 1), CORRUPT, "table set does not fit"),
    "tables-unknown": (unknown_tables, NEWER, "needs a table set"),
    "offsets": (offsets_turned, CORRUPT, "goes from byte"),
    "quantisation": (partial(front, lambda old: b"\x05" + old[1:]), CORRUPT, "quantisation table 0 is damaged"),
    "extension": (partial(front, lambda old: old + b"ABCD\xff\xff\0\0"), CORRUPT, "extension does not fit"),
    "words-missing": (partial(words_changed, -1), CORRUPT, "words"),
    "words-too-many": (partial(words_changed, 2**30), CORRUPT, "parts that do not fill it"),
    "state-too-small": (small_state, CORRUPT, "state that is too small"),
    "raw-bits-missing": (partial(shorter, 1), CORRUPT, "raw bits"),
    "raw-bits-too-many": (partial(longer, b"\0"), CORRUPT, "raw bits"),
    "other-words": (other_words, CORRUPT, "tile 0"),
    "layers-too-many-bits": (lambda: layers().with_header(21, 4).data(), NEWER, "layers"),
    "layers-three": (lambda: layers().with_header(20, 3).data(), NEWER, "layers"),
    "layers-other-bits": (lambda: layers().with_header(21, 3).data(), CORRUPT, "other layers"),
    "layers-cut-first": (lambda: layers().data()[: layer1_end() - 1], CUT, "for its first layer"),
    "layers-cut-second": (lambda: layers().data()[: layer1_end() + 1], CUT, "for its first layer"),
    "layers-checksum-first": (layer1_damaged, CHECKSUM, "tile 0 does not match its checksum"),
    "layers-checksum-second": (layer2_damaged, CHECKSUM, "layer 2 of tile 0 does not match its checksum"),
    "layers-raw-bits-missing": (partial(layer2_changed, lambda old: old[:-1]), CORRUPT, "layer 2 of tile 0"),
    "layers-raw-bits-too-many": (partial(layer2_changed, lambda old: old + b"\0"), CORRUPT, "raw bits"),
    "layers-state-too-small": (partial(layer2_changed, lambda old: old[:4] + bytes(4) + old[8:]), CORRUPT, "state"),
    "layers-one-in-two": (partial(layer2_changed, lambda _: layers().segments[0]), CORRUPT, "layer 2 of tile 0"),
}
REFUSED = [Refused(f"sluice-refused/{name}.sluice", *abuse) for name, abuse in ABUSES.items()]
