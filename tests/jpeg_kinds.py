"""JPEGs of kinds that no library here writes, by the plain writer of spec/reference and any choice that it is given."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, cast

import numpy as np
from PIL import Image as Pillow

from penstock import _native
from penstock.testing.codec import sample_image
from spec.reference.jpeg_restoration import (
    LIBRARY,
    LISTED_BITS,
    LISTED_RUNS,
    LONGEST,
    ONES,
    SINGLE,
    SOF0,
    SOF2,
    ZEROS,
    Block,
    Component,
    Data,
    Image,
    Notes,
    Restoration,
    read_body,
    read_head,
    rebuild,
    segment,
)

Factors = Sequence[tuple[int, int]]

SAMPLINGS: dict[str, Factors] = {
    "444": ((1, 1), (1, 1), (1, 1)),
    "422": ((2, 1), (1, 1), (1, 1)),
    "420": ((2, 2), (1, 1), (1, 1)),
    "440": ((1, 2), (1, 1), (1, 1)),
    "411": ((4, 1), (1, 1), (1, 1)),
    "441": ((1, 4), (1, 1), (1, 1)),
    "4x2": ((4, 2), (1, 1), (1, 1)),
    "3x1": ((3, 1), (1, 1), (1, 1)),
    "4x1-2x1": ((4, 1), (2, 1), (1, 1)),
    "2x2-2x1-1x2": ((2, 2), (2, 1), (1, 2)),
    "luma-small": ((1, 1), (2, 2), (2, 2)),
    "grey": ((1, 1),),
    "grey-2x2": ((2, 2),),
}

# Codes for every symbol, so that any scan can be written: 16 of 5 bits for DC, 254 of 8 and 2 of 9 bits for AC.
DC_CODE = bytes([0, 0, 0, 0, 16, *[0] * 11]) + bytes(range(16))
AC_CODE = bytes([0, 0, 0, 0, 0, 0, 0, 254, 2, *[0] * 7]) + bytes(range(256))
CODES = segment(0xC4, b"\x00" + DC_CODE + b"\x10" + AC_CODE)


@dataclass(frozen=True)
class Scan:
    """A scan to write; the defaults are those of a sequential file."""

    components: tuple[int, ...]
    first: int = 0
    last: int = 63
    high: int = 0
    low: int = 0
    notes: Notes = field(default_factory=Notes)
    before: bytes = b""
    """Bytes in front of its header: tables, a restart interval, anything."""


def image_of(fields: dict[str, object]) -> Image:
    """Turn what the extension gives into an image of the plain reader."""
    components = cast("list[Any]", fields["components"])
    made = [
        Component(across, down, [int(v) for v in table], blocks.tolist()) for across, down, table, blocks in components
    ]
    return Image(cast(int, fields["width"]), cast(int, fields["height"]), made)


def fields_of(image: Image) -> dict[str, object]:
    """Turn an image of the plain reader into what the extension takes."""
    components = [
        (part.across, part.down, np.array(part.quantization, np.uint16), np.array(part.blocks, np.int16))
        for part in image.components
    ]
    return {"width": image.width, "height": image.height, "components": components}


def taken_apart(data: bytes) -> tuple[Image, Restoration]:
    """Give a file as the plain reader sees it."""
    fields, restoration = _native.jpeg_take_apart(data)
    image = image_of(fields)
    return image, read_body(Data(read_head(restoration)[2]), image)


def pillow_jpeg(height: int = 40, width: int = 50, channels: int = 3, seed: int = 0, **options: object) -> bytes:
    """Encode a picture as Pillow does."""
    file = io.BytesIO()
    Pillow.fromarray(sample_image(height, width, channels, "uint8", seed)).save(file, "jpeg", **options)
    return file.getvalue()


def noise_image(width: int, height: int, factors: Factors, seed: int = 0, *, top: int = 40) -> Image:
    """Make coefficients that fall off with frequency; some blocks are empty, some end early, some are full."""
    rng = np.random.default_rng([width, height, seed])
    wide, high = (max(factor[axis] for factor in factors) for axis in (0, 1))
    components = []
    for across, down in factors:
        shape = (-(-height * down // (8 * high)), -(-width * across // (8 * wide)))
        scale = top * np.exp(-np.arange(64) / rng.choice([2, 8, 40], (*shape, 1)))
        values = np.round(rng.normal(0, 1, (*shape, 64)) * scale)
        values *= np.arange(64) < rng.choice([0, 1, 6, 64], (*shape, 1), p=[0.2, 0.1, 0.4, 0.3])
        components.append(
            Component(across, down, [int(v) for v in rng.integers(1, 99, 64)], values.astype(int).tolist())
        )
    return Image(width, height, components)


def written(image: Image, scans: Sequence[Scan], fills: dict[tuple[int, int, int], Block] | None = None) -> bytes:
    """Write a file; it is progressive if a scan is not of the whole band."""
    progressive = any((scan.first, scan.last, scan.low) != (0, 63, 0) for scan in scans)
    skeleton = b"\xff\xd8"
    for index, component in enumerate(image.components):
        skeleton += segment(0xDB, bytes([index, *component.quantization]))
    frame = b"\x08" + image.height.to_bytes(2, "big") + image.width.to_bytes(2, "big") + bytes([len(image.components)])
    for index, component in enumerate(image.components):
        frame += bytes([index + 1, component.across << 4 | component.down, index])
    skeleton += segment(SOF2 if progressive else SOF0, frame) + CODES
    for scan in scans:
        names = b"".join(bytes([index + 1, 0]) for index in scan.components)
        parameters = bytes([scan.first, scan.last, scan.high << 4 | scan.low])
        skeleton += scan.before + segment(0xDA, bytes([len(scan.components)]) + names + parameters)
    notes = {index: scan.notes for index, scan in enumerate(scans)}
    return rebuild(image, Restoration(skeleton + b"\xff\xd9", notes, fills or {}))


def restart(interval: int) -> bytes:
    """Make a DRI segment."""
    return segment(0xDD, interval.to_bytes(2, "big"))


def fill_places(image: Image) -> list[tuple[int, int, int]]:
    """Give the places of all fill blocks."""
    places = []
    for index, component in enumerate(image.components):
        across, down = image.padded(component)
        high, wide = len(component.blocks), len(component.blocks[0])
        places += [(index, y, x) for y in range(down) for x in range(across) if y >= high or x >= wide]
    return places


def noise_fills(image: Image, seed: int = 0) -> dict[tuple[int, int, int], Block]:
    """Fill blocks with content of their own, as encoders have that repeat pixels at the edge."""
    rng = np.random.default_rng(seed)
    return {
        place: [int(v) for v in np.round(rng.normal(0, 9, 64) * (rng.random(64) < 0.2))] for place in fill_places(image)
    }


def progressive_scans(num_components: int, seed: int = 0) -> list[Scan]:
    """Draw a script: DC together or apart, bands, and bits, each in any order that is allowed."""
    rng = np.random.default_rng(seed)
    everything = tuple(range(num_components))
    groups = [everything] if rng.random() < 0.5 else [(index,) for index in everything]
    chains: list[list[Scan]] = []
    for group in groups:
        chains.append(_refined(group, 0, 0, int(rng.integers(0, 3))))
    scans = [scan for chain in chains for scan in chain[:1]]
    chains = [chain[1:] for chain in chains]
    for index in everything:
        cuts = [1, *sorted({int(cut) for cut in rng.integers(2, 64, int(rng.integers(0, 3)))}), 64]
        chains += [_refined((index,), first, after - 1, int(rng.integers(0, 4))) for first, after in pairwise(cuts)]
    while chains := [chain for chain in chains if chain]:
        scans.append(chains[int(rng.integers(len(chains)))].pop(0))
    return scans


def _refined(components: tuple[int, ...], first: int, last: int, low: int) -> list[Scan]:
    bits = [Scan(components, first, last, 0, low)]
    return bits + [Scan(components, first, last, bit + 1, bit) for bit in reversed(range(low))]


def generated(seed: int) -> bytes:
    """Give one of many files: by Pillow (a third), or by the plain writer with any sampling, script and choice."""
    rng = np.random.default_rng(seed)
    width, height = (int(side) for side in rng.integers(1, 60, 2))
    if seed % 3 == 0:
        return _generated_by_pillow(width, height, seed)
    factors = SAMPLINGS[str(rng.choice(list(SAMPLINGS)))]
    image = noise_image(width, height, factors, seed, top=int(rng.choice([3, 40, 300])))
    everything = tuple(range(len(factors)))
    sequential = [Scan(everything)] if rng.random() < 0.6 else [Scan((index,)) for index in everything]
    plain = progressive_scans(len(factors), seed) if rng.random() < 0.6 else sequential
    scans = [_with_choices(scan, rng) for scan in plain]
    data = written(image, scans, noise_fills(image, seed) if rng.random() < 0.3 else None)
    comment = segment(0xFE, b"a comment")
    data = data[:2] + comment * int(rng.integers(0, 2)) + data[2:]
    return data + bytes(rng.integers(0, 256, int(rng.choice([0, 0, 0, 100])), np.uint8))


def _generated_by_pillow(width: int, height: int, seed: int) -> bytes:
    rng = np.random.default_rng(seed)
    channels = int(rng.choice([1, 3, 3]))
    options: dict[str, object] = {"quality": int(rng.integers(1, 101)), "subsampling": int(rng.integers(0, 3))}
    if rng.random() < 0.5:
        options["progressive"] = True
    if rng.random() < 0.5:
        options["optimize"] = True
    if rng.random() < 0.3:
        options[str(rng.choice(["restart_marker_rows", "restart_marker_blocks"]))] = int(rng.integers(1, 4))
    if rng.random() < 0.3:
        options |= {"comment": b"words", "icc_profile": bytes(300), "dpi": (72, 72)}
    if channels == 1:
        del options["subsampling"]
    return pillow_jpeg(height, width, channels, seed, **options)


def _with_choices(scan: Scan, rng: np.random.Generator) -> Scan:
    notes = Notes(padding=int(rng.choice([ONES, ONES, ZEROS])), end_runs=int(rng.choice([LIBRARY, LONGEST, SINGLE])))
    before = restart(int(rng.integers(0, 9))) if rng.random() < 0.3 else b""
    return Scan(scan.components, scan.first, scan.last, scan.high, scan.low, notes, before)


def with_listed_padding(notes: Notes, bits: list[int]) -> Notes:
    """List padding bits, more than will be needed."""
    return Notes(LISTED_BITS, bits, notes.end_runs, notes.lengths, notes.extra_zeros)


def with_listed_runs(notes: Notes, lengths: list[int]) -> Notes:
    """List lengths of runs."""
    return Notes(notes.padding, notes.bits, LISTED_RUNS, lengths, notes.extra_zeros)
