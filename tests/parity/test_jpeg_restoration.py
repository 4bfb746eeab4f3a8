"""A JPEG that is taken apart comes back byte for byte, from this code and from the plain reader of the spec."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import penstock
from penstock import _native
from spec.reference.jpeg_restoration import LONGEST, SINGLE, ZEROS, Notes, light, restore, segment
from tests.jpeg_kinds import (
    AC_CODE,
    CODES,
    SAMPLINGS,
    Scan,
    fill_places,
    generated,
    image_of,
    noise_fills,
    noise_image,
    pillow_jpeg,
    progressive_scans,
    restart,
    taken_apart,
    with_listed_padding,
    with_listed_runs,
    written,
)
from tests.jpeg_samplings import all_samplings

COLOUR = (0, 1, 2)
IMAGE = noise_image(45, 37, SAMPLINGS["420"])
APART = [Scan((index,)) for index in COLOUR]
BANDS = [Scan(COLOUR, 0, 0), *(Scan((index,), 1, 63) for index in COLOUR)]
REFINED = [
    Scan(COLOUR, 0, 0, 0, 1),
    Scan(COLOUR, 0, 0, 1, 0),
    *(Scan((index,), 1, 63, 0, 1) for index in COLOUR),
    *(Scan((index,), 1, 63, 1, 0) for index in COLOUR),
]


def with_notes(scans: list[Scan], notes: Notes) -> list[Scan]:
    return [Scan(scan.components, scan.first, scan.last, scan.high, scan.low, notes, scan.before) for scan in scans]


def ended_early(limit: int) -> bytes:
    """Coefficients that end before the band does, so that runs of zeros can be added."""
    image = noise_image(45, 37, SAMPLINGS["444"])
    for component in image.components:
        for row in component.blocks:
            for block in row:
                block[limit:] = [0] * (64 - limit)
    extra = Notes(extra_zeros={0: 1, 3: 2, 7: 3, 8: 1})
    return written(image, with_notes([Scan(COLOUR)], extra))


def extra_zeros_in_bands(scans: list[Scan]) -> bytes:
    image = noise_image(45, 37, SAMPLINGS["444"])
    for component in image.components:
        for row in component.blocks:
            for block in row:
                block[9:] = [0] * 55
    extra = Notes(extra_zeros={0: 1, 3: 2, 7: 3, 8: 1})
    return written(image, [scan if scan.first == 0 else with_notes([scan], extra)[0] for scan in scans])


def between_segments(data: bytes, filler: bytes) -> bytes:
    """Put bytes in front of every segment up to the first scan."""
    made, at = data[:2], 2
    while data[at + 1] != 0xDA:
        size = 2 + int.from_bytes(data[at + 2 : at + 4], "big")
        made, at = made + filler + data[at : at + size], at + size
    return made + filler + data[at:]


def without_codes(data: bytes) -> bytes:
    """Drop DHT segments, as frames of Motion JPEG do."""
    made, at = data[:2], 2
    while data[at + 1] != 0xDA:
        size = 2 + int.from_bytes(data[at + 2 : at + 4], "big")
        made, at = made + (b"" if data[at + 1] == 0xC4 else data[at : at + size]), at + size
    return made + data[at:]


def srgb_curve() -> bytes:
    """The curve that profiles of sRGB hold."""
    return b"".join(round(65535 * light(place / 1023)).to_bytes(2, "big") for place in range(1024))


def mixed_padding() -> bytes:
    """A restart after every MCU, and padding of both kinds."""
    scan = Scan(COLOUR, before=restart(1), notes=with_listed_padding(Notes(), [0, 1, 1] * 400))
    return written(IMAGE, [scan])


def listed_runs() -> bytes:
    """Runs of ended blocks that no rule gives: all are cut at three blocks."""
    image = noise_image(120, 90, SAMPLINGS["grey"])
    for row in image.components[0].blocks:
        for block in row:
            block[1:] = [0] * 63
    num_blocks = sum(len(row) for row in image.components[0].blocks)
    lengths = [3] * (num_blocks // 3) + [num_blocks % 3] * (num_blocks % 3 > 0)
    return written(image, [Scan((0,), 0, 0), Scan((0,), 1, 63, notes=with_listed_runs(Notes(), lengths))])


def long_runs(rule: int) -> bytes:
    """Refining scans with so many correction bits that libjpeg's limit matters."""
    image = noise_image(200, 160, SAMPLINGS["grey"])
    for row in image.components[0].blocks:
        for block in row:
            block[1:] = [3 if k % 3 else 0 for k in range(1, 64)]
    notes = Notes(end_runs=rule)
    return written(image, [Scan((0,), 0, 0), Scan((0,), 1, 63, 0, 1, notes), Scan((0,), 1, 63, 1, 0, notes)])


PHOTO = pillow_jpeg(quality=90)
KINDS: dict[str, Callable[[], bytes]] = {
    "baseline": lambda: PHOTO,
    "optimized": lambda: pillow_jpeg(optimize=True),
    "progressive": lambda: pillow_jpeg(progressive=True),
    "grey": lambda: pillow_jpeg(channels=1),
    "grey progressive": lambda: pillow_jpeg(channels=1, progressive=True),
    "one pixel": lambda: pillow_jpeg(1, 1),
    "one column": lambda: pillow_jpeg(70, 1, subsampling=2),
    "RGB": lambda: pillow_jpeg(keep_rgb=True),
    "restart rows": lambda: pillow_jpeg(restart_marker_rows=1),
    "restart blocks": lambda: pillow_jpeg(restart_marker_blocks=1),
    "restart progressive": lambda: pillow_jpeg(progressive=True, restart_marker_blocks=2),
    "row offsets": lambda: penstock.encode(np.zeros((300, 300, 3), np.uint8) + 7, "jpeg:q=100:restart"),
    "metadata": lambda: pillow_jpeg(comment=b"words", icc_profile=bytes(range(256)) * 9, dpi=(72, 71)),
    "profile of sRGB": lambda: pillow_jpeg(icc_profile=b"head" * 9 + srgb_curve() + b"tail"),
    "most of a profile of sRGB": lambda: pillow_jpeg(icc_profile=srgb_curve()[:2000]),
    "scans apart": lambda: written(IMAGE, APART),
    "two components in a scan": lambda: written(IMAGE, [Scan((0,)), Scan((1, 2))]),
    "interval changed between scans": lambda: written(
        IMAGE, [Scan((0,), before=restart(5)), Scan((1,), before=restart(0)), Scan((2,), before=restart(1))]
    ),
    "codes defined again": lambda: written(IMAGE, [Scan((0,)), Scan((1, 2), before=CODES)]),
    "symbol with two codes": lambda: written(IMAGE, [Scan(COLOUR, before=segment(0xC4, twice()))]),
    "comments between scans": lambda: written(IMAGE, [Scan((0,)), Scan((1, 2), before=segment(0xFE, b"here too"))]),
    "bytes between scans": lambda: written(IMAGE, [Scan((0,)), Scan((1, 2), before=b"lost \xff\0 bytes")]),
    "fill bytes": lambda: between_segments(PHOTO, b"\xff\xff\xff"),
    "bytes between segments": lambda: between_segments(PHOTO, b"abc"),
    "marker without content": lambda: between_segments(PHOTO, b"\xff\x01"),
    "restart marker at the end": lambda: PHOTO[:-2] + b"\xff\xd0\xff\xd9",
    "bytes behind the scan": lambda: PHOTO[:-2] + b"\1\2\xff\0\3\xff\xd9",
    "bytes behind the end": lambda: PHOTO + b"trailing" * 50,
    "another image behind the end": lambda: PHOTO + PHOTO,
    "no end mark": lambda: PHOTO[:-2],
    "half an end mark": lambda: PHOTO[:-1],
    "codes of Motion JPEG": lambda: without_codes(PHOTO),
    "padding of zeros": lambda: written(IMAGE, with_notes([Scan(COLOUR)], Notes(padding=ZEROS))),
    "padding of both": mixed_padding,
    "extra zeros": lambda: ended_early(9),
    "extra zeros to the end": lambda: ended_early(16),
    "extra zeros of bands": lambda: extra_zeros_in_bands(BANDS),
    "extra zeros of refinements": lambda: extra_zeros_in_bands(REFINED),
    "runs of single blocks": lambda: written(IMAGE, with_notes(REFINED, Notes(end_runs=SINGLE))),
    "runs as listed": listed_runs,
    "runs cut by libjpeg": lambda: long_runs(0),
    "runs as long as can be": lambda: long_runs(LONGEST),
    "fill blocks": lambda: written(IMAGE, [Scan(COLOUR)], noise_fills(IMAGE)),
    "fill blocks progressive": lambda: written(
        IMAGE, REFINED, {place: [n - 40, *[0] * 63] for n, place in enumerate(fill_places(IMAGE))}
    ),
    **{f"sampling {name}": lambda f=factors: written(noise_image(45, 37, f), [Scan((*range(len(f)),))])  # type: ignore[misc]
       for name, factors in SAMPLINGS.items()},
    **{f"script {seed}": lambda seed=seed: written(IMAGE, progressive_scans(3, seed)) for seed in range(6)},  # type: ignore[misc]
}  # fmt: skip


def twice() -> bytes:
    """An AC code that lists a symbol with two lengths; the first one counts."""
    return b"\x10" + AC_CODE[:-1] + b"\x05"


def coefficients(data: bytes) -> list[Any]:
    return [blocks for *_, blocks in cast("list[Any]", _native.jpeg_read_coefficients(data)["components"])]


@pytest.mark.parametrize("kind", KINDS)
def test_file_of_every_kind_comes_back(kind: str) -> None:
    data = KINDS[kind]()

    fields, restoration = _native.jpeg_take_apart(data)

    assert _native.jpeg_put_together(fields, restoration) == data
    assert restore(image_of(fields), restoration) == data


@pytest.mark.parametrize("kind", KINDS)
def test_coefficients_are_those_of_libjpeg(kind: str) -> None:
    data = KINDS[kind]()

    moved = _native.transcode_jpeg(data, [])

    for ours, theirs in zip(coefficients(data), coefficients(moved), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("factors", all_samplings(), ids=str)
def test_every_sampling_comes_back(factors: tuple[tuple[int, int], ...]) -> None:
    data = written(noise_image(33, 21, factors), [Scan(COLOUR)])

    fields, restoration = _native.jpeg_take_apart(data)

    assert _native.jpeg_put_together(fields, restoration) == data


def test_coefficients_that_libjpeg_does_not_write_come_back() -> None:
    data = written(noise_image(45, 37, SAMPLINGS["420"], top=8000), [Scan(COLOUR)])

    fields, restoration = _native.jpeg_take_apart(data)

    assert _native.jpeg_put_together(fields, restoration) == data


def count_restored(seeds: range) -> int:
    restored = 0
    for seed in seeds:
        data = generated(seed)
        try:
            fields, restoration = _native.jpeg_take_apart(data)
        except penstock.CodecError:
            continue
        assert _native.jpeg_put_together(fields, restoration) == data, seed
        restored += 1
    return restored


def test_all_of_sixty_generated_files_come_back() -> None:
    assert count_restored(range(60)) == 60


@pytest.mark.long
def test_all_of_a_thousand_generated_files_come_back() -> None:
    assert count_restored(range(1000)) == 1000


@pytest.mark.parametrize(("folder", "most"), [("imagenet", 0.0145), ("photos", 0.010)])
def test_real_files_come_back_with_little_data(shared_data: Path, folder: str, most: float) -> None:
    files = sorted((shared_data / folder).iterdir())
    stored = total = 0
    for file in files:
        data = file.read_bytes()
        fields, restoration = _native.jpeg_take_apart(data)
        assert _native.jpeg_put_together(fields, restoration) == data
        stored, total = stored + len(restoration), total + len(data)

    assert stored <= most * total


def test_usual_file_needs_few_bytes() -> None:
    _, restoration = _native.jpeg_take_apart(pillow_jpeg(quality=75))

    assert len(restoration) <= 32


def test_profile_of_srgb_needs_few_bytes() -> None:
    _, restoration = _native.jpeg_take_apart(KINDS["profile of sRGB"]())

    assert len(restoration) <= 120


def test_notes_are_kept_only_where_a_scan_is_unusual() -> None:
    _, usual = taken_apart(pillow_jpeg(progressive=True, restart_marker_blocks=3))
    _, unusual = taken_apart(KINDS["padding of zeros"]())

    assert usual.notes == {}
    assert unusual.notes == {0: Notes(padding=ZEROS)}


def test_fill_blocks_are_kept_only_where_they_are_unusual() -> None:
    _, usual = taken_apart(pillow_jpeg(subsampling=2))
    _, unusual = taken_apart(KINDS["fill blocks"]())

    assert usual.fills == {}
    assert unusual.fills == noise_fills(IMAGE)


def test_header_facts_are_told() -> None:
    fields, _ = _native.jpeg_take_apart(pillow_jpeg(channels=1))
    rgb, _ = _native.jpeg_take_apart(pillow_jpeg(keep_rgb=True))

    assert (fields["width"], fields["height"], fields["color"], fields["orientation"]) == (50, 40, "grey", 1)
    assert rgb["color"] == "rgb"
