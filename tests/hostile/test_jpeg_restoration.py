"""JPEGs that cannot be restored are refused with a reason, and restoration data is not trusted."""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable

import numpy as np
import pytest
from PIL import Image as Pillow

import penstock
from penstock import _native
from penstock.codecs.pjpeg import scan_ends
from spec.reference.jpeg_restoration import Component, Data, Image, crc32c, read_head, segment
from tests.jpeg_kinds import (
    SAMPLINGS,
    Scan,
    fields_of,
    image_of,
    noise_fills,
    noise_image,
    pillow_jpeg,
    progressive_scans,
    restart,
    written,
)

PHOTO = pillow_jpeg(quality=90)
PROGRESSIVE = pillow_jpeg(progressive=True)
IMAGE = noise_image(45, 37, SAMPLINGS["420"])
COLOUR = (0, 1, 2)
TINY_FRAME = segment(0xC0, b"\x08\0\x01\0\x01\x01\x01\x11\0")


def patched(data: bytes, marker: int, offset: int, value: bytes) -> bytes:
    """Change bytes of the first segment with this marker; offset 0 is the marker itself."""
    at = data.index(bytes([0xFF, marker])) + 1 + offset
    return data[:at] + value + data[at + len(value) :]


REFUSED: dict[str, tuple[Callable[[], bytes], str]] = {
    "CMYK": (lambda: cmyk(), "4 components"),
    "12 bits": (lambda: patched(patched(PHOTO, 0xC0, 3, b"\x0c"), 0xC0, 0, b"\xc1"), "12-bit"),
    "arithmetic": (lambda: patched(PHOTO, 0xC0, 0, b"\xc9"), "only Huffman-coded"),
    "lossless": (lambda: patched(PHOTO, 0xC0, 0, b"\xc3"), "lossless"),
    "height behind the scan": (lambda: patched(PHOTO, 0xC0, 4, b"\0\0"), "height behind its scan"),
    "width of zero": (lambda: patched(PHOTO, 0xC0, 6, b"\0\0"), "impossible size"),
    "DNL": (lambda: PHOTO[:-2] + segment(0xDC, b"\0\x28") + b"\xff\xd9", "unusual kind"),
    "two frames": (lambda: PHOTO[:2] + TINY_FRAME + PHOTO[2:], "two frame headers"),
    "second SOI": (lambda: PHOTO[:2] + PHOTO, "unusual kind"),
    "no scan": (lambda: PHOTO[: PHOTO.index(b"\xff\xda")] + b"\xff\xd9", "no frame before its first scan"),
    "not a JPEG": (lambda: b"\x89PNG\r\n", "FF D8"),
    "nothing": (lambda: b"", "ends before its first marker"),
    "components in another order": (lambda: written(IMAGE, [Scan((2, 0, 1))]), "another order"),
    "component coded twice": (lambda: written(IMAGE, [Scan(COLOUR), Scan((0,))]), "codes a component twice"),
    "component missing": (lambda: written(IMAGE, [Scan((0, 1))]), "ends before its last scan"),
    "scans missing": (lambda: PROGRESSIVE[: scan_ends(PROGRESSIVE)[4]] + b"\xff\xd9", "lacks scans"),
    "bits repeated": (lambda: repeated_bits(), "repeats or omits bits"),
    "AC before DC": (lambda: written(IMAGE, [Scan((0,), 1, 63), Scan(COLOUR, 0, 0)]), "AC before DC"),
    "too many scans": (lambda: many_scans(), "more than 100 scans"),
    "bytes before a restart marker": (
        lambda: before_restart(b"\x12\x34"), "bytes before a restart marker"
    ),
    "fill bytes before a restart marker": (lambda: before_restart(b"\xff"), "lacks a restart marker"),
    "wrong restart marker": (lambda: restarts().replace(b"\xff\xd1", b"\xff\xd2", 1), "lacks a restart marker"),
    "code of all ones": (lambda: patched(PHOTO, 0xC4, 4, b"\x02"), "impossible"),
    "lost table": (lambda: patched(PHOTO, 0xC0, 11, b"\x03"), "lacks a quantisation table"),
    "size beyond the data": (lambda: patched(PHOTO, 0xC0, 4, b"\x20\x00\x20\x00"), "cannot fit"),
}  # fmt: skip


def cmyk() -> bytes:
    file = io.BytesIO()
    Pillow.new("CMYK", (20, 20), (1, 2, 3, 4)).save(file, "jpeg")
    return file.getvalue()


def restarts() -> bytes:
    return written(IMAGE, [Scan(COLOUR, before=restart(2))])


def before_restart(extra: bytes) -> bytes:
    return restarts().replace(b"\xff\xd0", extra + b"\xff\xd0", 1)


def repeated_bits() -> bytes:
    scans = [Scan(COLOUR, 0, 0), Scan((0,), 1, 63), Scan((0,), 1, 63)]
    return written(IMAGE, scans)


def many_scans() -> bytes:
    grey = noise_image(9, 9, SAMPLINGS["grey"])
    bands = [Scan((0,), k, k, high, low) for k in range(1, 40) for high, low in ((0, 2), (2, 1), (1, 0))]
    return written(grey, [Scan((0,), 0, 0), *bands])


@pytest.mark.parametrize("kind", REFUSED)
def test_file_that_cannot_be_restored_is_refused_with_a_reason(kind: str) -> None:
    make, reason = REFUSED[kind]

    with pytest.raises(penstock.CodecError, match=reason):
        _native.jpeg_take_apart(make())


@pytest.mark.parametrize("data", [PHOTO, PROGRESSIVE, restarts()], ids=["baseline", "progressive", "restarts"])
def test_truncated_file_is_refused(data: bytes) -> None:
    begin = data.index(b"\xff\xda") + 14
    for end in [*range(begin, len(data) - 3, max(1, (len(data) - begin) // 50)), len(data) - 4]:
        with pytest.raises(penstock.CodecError):
            _native.jpeg_take_apart(data[:end])


def test_more_pixels_than_allowed_are_refused() -> None:
    with pytest.raises(penstock.CodecError, match="max_pixels"):
        _native.jpeg_take_apart(PHOTO, max_pixels=100)


@pytest.mark.parametrize("data", [PHOTO, PROGRESSIVE, restarts()], ids=["baseline", "progressive", "restarts"])
def test_damaged_file_is_refused_or_comes_back(data: bytes) -> None:
    rng = np.random.default_rng(0)
    for _ in range(300):
        damaged = bytearray(data)
        damaged[int(rng.integers(len(data)))] = int(rng.integers(256))
        try:
            fields, restoration = _native.jpeg_take_apart(bytes(damaged))
        except penstock.CodecError:
            continue
        assert _native.jpeg_put_together(fields, restoration) == bytes(damaged)


# ---- Restoration data


def number(value: int) -> bytes:
    """Write a number as restoration data has it."""
    low, rest = value & 127, value >> 7
    return bytes([low]) if rest == 0 else bytes([low | 128]) + number(rest)


def packed(body: bytes, *, length: int = len(PHOTO), checksum: int | None = None, deflate: bool = False) -> bytes:
    """Put a head in front of a body."""
    made = crc32c(PHOTO) if checksum is None else checksum
    head = bytes([1, int(deflate)]) + number(length) + made.to_bytes(4, "little")
    if not deflate:
        return head + body
    squeeze = zlib.compressobj(9, wbits=-15)
    return head + number(len(body)) + squeeze.compress(body) + squeeze.flush()


FIELDS, RESTORATION = _native.jpeg_take_apart(PHOTO)
BODY = read_head(RESTORATION)[2]
HEAD = b"\x02\x04\x01\x00\x00\x04\x01\x01\x01\x06\xc0\x08"
"""JFIF, two tables, frame, codes: what stands before the scan."""


def notes(*content: int) -> bytes:
    """A body whose scan has these notes, one byte each, and usual fill blocks."""
    return HEAD + b"\x0a\x0b\x00" + bytes([1, 0, *content]) + FILLS


FILLS = BODY[len(HEAD) + 4 :]

ABUSES: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "ends too early"),
    "version of tomorrow": (b"\x02" + RESTORATION[1:], "version 2"),
    "unknown flags": (RESTORATION[:1] + b"\x02" + RESTORATION[2:], "unknown flags"),
    "endless number": (b"\x01\x00" + b"\xff" * 20, "number that is too long"),
    "operation that is not known": (packed(b"\x0d\x00\x00"), "unknown operation"),
    "operations without an end": (packed(HEAD), "ends too early"),
    "literal beyond the data": (packed(b"\x01" + number(10**12) + b"abc"), "ends too early"),
    "literal beyond the file": (packed(b"\x01" + number(len(PHOTO)) + PHOTO + b"\0\0"), "longer jpeg"),
    "length of the file that is too small": (packed(BODY, length=200), "longer jpeg"),
    "length of the file that is too large": (packed(BODY, length=10**15), "not the file"),
    "checksum of another file": (packed(BODY, checksum=1), "not the file"),
    "operations that expand": (packed(b"\x08" * 3000 + b"\x00\x00" + FILLS, length=10**9), "without limit"),
    "body that inflates too far": (packed(bytes(10**7) + BODY, deflate=True), "not the file|unknown|goes on"),
    "body length that cannot be": (packed(BODY, deflate=True)[:8] + number(2**60), "impossible length"),
    "stream that is cut": (packed(BODY * 9, deflate=True)[:-4], "cannot be inflated"),
    "table of a component that is not there": (packed(b"\x04\x01\x00\x07\x00\x00"), "not there"),
    "scan of a component that is not there": (packed(HEAD + b"\x09\x01\x05\x00\x00\x3f\x00\x00\x00"), "not there"),
    "scan before the frame": (packed(b"\x0a\x00\x00" + FILLS), "not there"),
    "frame of another size": (
        packed(b"\x01" + number(13) + TINY_FRAME + b"\0\0" + FILLS), "another size"
    ),
    "scan without codes for it": (packed(HEAD[:-1] + b"\x07\x01\x00\x0a\x0b\x00\x00" + FILLS), "not the file"),
    "code without a symbol": (packed(HEAD[:-1] + b"\x01" + number(22) + segment(0xC4, b"\0\1" + bytes(16))
                                     + b"\x0a\x0b\x00\x00" + FILLS), "without a symbol"),
    "flags of a scan": (packed(notes(32)), "unknown flags"),
    "padding of no kind": (packed(notes(3)), "unknown flags"),
    "padding that is too short": (packed(notes(2, 0)), "lacks bits"),
    "padding that is too long": (packed(notes(2, 8, 255)), "more of a scan"),
    "padding beyond the data": (packed(notes(2, 255, 127)), "impossible length|ends too early"),
    "runs in a sequential scan": (packed(notes(12, 1, 5)), "more of a scan"),
    "run of no blocks": (packed(notes(12, 1, 0)), "impossible run"),
    "more runs than bytes": (packed(notes(12, 255, 127)), "impossible length"),
    "zeros that do not fit": (packed(notes(16, 20, 0, 3, *[1, 3] * 19), length=10**6), "does not fit"),
    "zeros of a block that is not there": (packed(notes(16, 1, 255, 127, 1)), "more of a scan"),
    "four runs of zeros": (packed(notes(16, 1, 0, 4)), "impossible run"),
    "notes of a scan that is not there": (packed(HEAD + b"\x0a\x0b\x00" + bytes([1, 1, 1]) + FILLS), "not there"),
    "notes of scan 100": (packed(HEAD + b"\x0a\x0b\x00" + bytes([1, 100, 1]) + FILLS), "cannot be"),
    "fill blocks that are not there": (packed(HEAD + b"\x0a\x0b\x00\x00" + b"\x01"), "lacks blocks"),
    "fill blocks of no kind": (packed(HEAD + b"\x0a\x0b\x00\x00" + b"\x02"), "unknown flags"),
    "bytes behind the end": (packed(BODY + b"\0"), "goes on"),
}  # fmt: skip


def test_body_is_what_the_abuses_assume() -> None:
    assert HEAD + b"\x0a\x0b\x00\x00" + FILLS == BODY
    assert _native.jpeg_put_together(FIELDS, packed(BODY)) == PHOTO
    assert _native.jpeg_put_together(FIELDS, packed(BODY, deflate=True)) == PHOTO


@pytest.mark.parametrize("abuse", ABUSES)
def test_restoration_data_that_lies_is_refused(abuse: str) -> None:
    data, reason = ABUSES[abuse]

    with pytest.raises(penstock.CodecError, match=reason):
        _native.jpeg_put_together(FIELDS, data)


def test_restoration_data_that_is_cut_is_refused() -> None:
    for end in range(len(RESTORATION)):
        with pytest.raises(penstock.CodecError):
            _native.jpeg_put_together(FIELDS, RESTORATION[:end])


def changed(change: Callable[[Image], None]) -> dict[str, object]:
    image = image_of(FIELDS)
    change(image)
    return fields_of(image)


def set_width(image: Image) -> None:
    image.width = 33


def set_height(image: Image) -> None:
    image.height = 70_000


def drop_component(image: Image) -> None:
    image.components.pop()


def set_sampling(image: Image) -> None:
    image.components[0].across = 9


def drop_row(image: Image) -> None:
    image.components[1].blocks.pop()


def set_coefficient(image: Image) -> None:
    image.components[0].blocks[0][0][5] ^= 1


def set_large_coefficients(image: Image) -> None:
    for component in image.components:
        component.blocks = [[[-32768, 32767] * 32 for _ in row] for row in component.blocks]


def set_table(image: Image) -> None:
    image.components[0].quantization[0] += 1


MISFITS: dict[str, tuple[Callable[[Image], None], str]] = {
    "width": (set_width, "number of blocks"),
    "height": (set_height, "impossible size"),
    "component missing": (drop_component, "1 or 3 components"),
    "sampling": (set_sampling, "sampling factor"),
    "row missing": (drop_row, "number of blocks"),
    "coefficient": (set_coefficient, "not the file"),
    "large coefficients": (set_large_coefficients, "without a symbol|longer jpeg"),
    "quantisation": (set_table, "not the file"),
}


@pytest.mark.parametrize("misfit", MISFITS)
def test_coefficients_of_another_file_are_refused(misfit: str) -> None:
    change, reason = MISFITS[misfit]

    with pytest.raises(penstock.CodecError, match=reason):
        _native.jpeg_put_together(changed(change), RESTORATION)


@pytest.mark.parametrize("seed", range(4))
def test_damaged_restoration_data_gives_the_file_or_an_error(seed: int) -> None:
    rng = np.random.default_rng(seed)
    image = noise_image(29, 23, SAMPLINGS["420"], seed)
    file = written(image, progressive_scans(3, seed), {} if seed % 2 else noise_fills(image) if seed == 2 else None)
    fields, restoration = _native.jpeg_take_apart(
        written(image, [Scan(COLOUR)], noise_fills(image)) if seed == 0 else file
    )
    length, checksum, body = read_head(restoration)
    for _ in range(300):
        damaged = bytearray(body)
        damaged[int(rng.integers(len(body)))] = int(rng.integers(256))
        try:
            made = _native.jpeg_put_together(fields, packed(bytes(damaged), length=length, checksum=checksum))
        except penstock.CodecError:
            continue
        assert crc32c(made) == checksum


def test_scans_without_limit_are_refused() -> None:
    grey = Image(8, 8, [Component(1, 1, [1] * 64, [[[0] * 64]])])
    fields = fields_of(grey)
    scan = b"\x09\x01\x00\x00\x00\x00\x00"

    with pytest.raises(penstock.CodecError, match=r"repeats or omits|more than 100"):
        _native.jpeg_put_together(fields, packed(b"\x06\xc2\x04\x01\x00\x00\x08" + scan * 5000 + b"\0\0", length=10**6))


def test_numbers_of_the_tests_are_those_of_the_plain_reader() -> None:
    for value in (0, 1, 127, 128, 300, 2**40):
        assert Data(number(value)).number() == value
