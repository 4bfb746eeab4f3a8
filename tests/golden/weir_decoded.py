"""The golden files of Weir that must decode: what our encoder writes, and what it does not but another may."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

import penstock
from penstock.codecs.weir_metadata import Entry, write_metadata
from penstock.types import Pixels
from spec.reference import weir as reference
from tests.golden import images
from tests.golden.kinds import Golden
from tests.weir_files import encode_split, split

PROFILES = ("fast", "dense")
KINDS = ("grey", "grey-alpha", "rgb", "rgba")
METADATA = (
    Entry("ICCP", b"an ICC profile"),
    Entry("EXIF", bytes.fromhex("49492a0008000000010012010300010000000600000000000000")),  # orientation 6
    Entry.text("Comment", "dämmerig"),
    Entry("ABCD", b"unknown, carried along"),
    Entry.text("Comment", ""),
)


def opaque(height: int, width: int) -> Pixels:
    """A photograph whose alpha is constant."""
    pixels = images.photo(height, width, 4)
    pixels[:, :, 3] = 255
    return pixels


def constant(height: int, width: int, channels: int, bits: int) -> Pixels:
    """One colour."""
    return images.finish(np.zeros((height, width, channels), np.int64) + 77 * np.arange(channels) + 5, bits)


def checkerboard(height: int, width: int) -> Pixels:
    """The two extremes, side by side and on top of each other."""
    y, x, _ = np.mgrid[0:height, 0:width, 0:1]
    return images.finish((x + y) % 2 * 255, 8)


def outliers(height: int, width: int) -> Pixels:
    """Flat but for a sample in a hundred: sparse blocks."""
    rare = images.hashed(height, width, 1, seed=5) % np.uint64(100) == 0
    return images.finish(np.where(rare, 9, 8), 8)


def ours() -> Iterator[Golden]:
    """What the default encoder writes, byte for byte."""
    for profile in PROFILES:
        format = f"weir:{profile}"
        for channels, kind in enumerate(KINDS, 1):
            for bits in (8, 16):
                yield Golden(
                    f"weir/{profile}-{kind}-{bits}.weir", partial(images.photo, 21, 67, channels, bits), format
                )
        more = {
            "1x1": partial(images.photo, 1, 1, 1),
            "tall": partial(images.photo, 131, 2, 1),
            "tiles": partial(images.photo, 66, 130, 1),
            "noise": partial(images.noise, 9, 65, 3),
            "noise-16": partial(images.noise, 5, 33, 2, 16),
            "flat": partial(images.flat, 33, 70, 3),
            "constant": partial(constant, 65, 130, 4, 8),
            "constant-16": partial(constant, 3, 5, 3, 16),
            "opaque": partial(opaque, 19, 40),
            "checkerboard": partial(checkerboard, 12, 70),
            "outliers": partial(outliers, 40, 70),
        }
        for name, make in more.items():
            yield Golden(f"weir/{profile}-{name}.weir", make, format)


def theirs() -> Iterator[Golden]:
    """What another encoder may write: other efforts, wide offsets, metadata, bits of any value where any will do."""
    for profile in PROFILES:
        photo = partial(images.photo, 21, 67, 3)
        for effort in (1, 3):
            write = partial(penstock.encode, format=f"weir:{profile}:effort={effort}")
            yield Golden(f"weir/{profile}-effort-{effort}.weir", photo, write=write)
        yield Golden(f"weir/{profile}-metadata.weir", photo, write=partial(with_metadata, profile=profile))
        yield Golden(
            f"weir/{profile}-wide-offsets.weir",
            partial(images.photo, 5, 130, 1),
            write=partial(with_wide_offsets, profile=profile),
        )
        yield Golden(
            f"weir/{profile}-free-bits.weir",
            partial(images.photo, 5, 9, 1),
            write=partial(with_free_bits, profile=profile),
        )


def with_metadata(pixels: Pixels, profile: str) -> bytes:
    """The image with an entry of every kind."""
    return write_metadata(penstock.encode(pixels, f"weir:{profile}"), METADATA)


def with_wide_offsets(pixels: Pixels, profile: str) -> bytes:
    """The image with offsets of eight bytes."""
    return replace(encode_split(pixels, profile), flags=1).data()


def with_free_bits(pixels: Pixels, profile: str) -> bytes:
    """The image with every bit of its tile set that can be without changing a pixel: spare bits, dropped lanes."""
    file = encode_split(pixels, profile)
    expected = reference.decode(file.data()).rows
    for bit in range(8 * len(file.tiles[0])):
        tile = bytearray(file.tiles[0])
        tile[bit // 8] |= 1 << bit % 8
        changed = file.with_tile(0, bytes(tile))
        try:
            if reference.decode(changed.data()).rows == expected:
                file = changed
        except reference.WeirError:
            continue
    assert file.tiles != split(penstock.encode(pixels, f"weir:{profile}")).tiles
    return file.data()


GOLDENS = [*ours(), *theirs()]
