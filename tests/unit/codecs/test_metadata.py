"""Metadata out of files that Pillow and Penstock wrote, and back into others."""

from __future__ import annotations

import io
import struct
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, PngImagePlugin

import penstock
from penstock import _native
from penstock.codecs import transcode
from tests.unit.codecs.test_embed import EXIF, EXIF_BYTES, PROFILE, XMP, block

PIXELS = np.random.default_rng(0).integers(0, 255, (40, 50, 3), np.uint8)
WITHOUT = {"png": penstock.encode(PIXELS, "png"), "jpeg": penstock.encode(PIXELS, "jpeg")}


def entries(data: bytes) -> dict[str, list[bytes]]:
    """Contents by tag."""
    found: dict[str, list[bytes]] = {}
    rest = _native.read_metadata(data)[0][:-4]
    while rest:
        tag, size = struct.unpack_from("<4sI", rest)
        found.setdefault(tag.decode(), []).append(rest[8 : 8 + size])
        rest = rest[8 + size :]
    return found


def chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def saved(format: str, **options: object) -> bytes:
    file = io.BytesIO()
    Image.fromarray(PIXELS).save(file, format, **options)
    return file.getvalue()


@pytest.mark.parametrize("format", ["PNG", "JPEG", "WEBP"])
def test_profile_and_exif_are_found(format: str) -> None:
    found = entries(saved(format, icc_profile=PROFILE, exif=EXIF))

    assert found["ICCP"] == [PROFILE]
    assert found["EXIF"] == [EXIF_BYTES]


@pytest.mark.parametrize("format", ["JPEG", "WEBP"])
def test_xmp_is_found(format: str) -> None:
    assert entries(saved(format, xmp=XMP))["XMP "] == [XMP]


def test_texts_of_png_are_found_in_all_their_forms() -> None:
    texts = PngImagePlugin.PngInfo()
    texts.add_text("Author", "Zoë")
    texts.add_text("Title", "é" * 1000, zip=True)
    texts.add_itxt("Comment", "夜", lang="ja", tkey="注")
    texts.add_itxt("Long", "夜" * 1000, zip=True)
    texts.add_itxt("XML:com.adobe.xmp", XMP.decode())

    found = entries(saved("PNG", pnginfo=texts))

    assert [text.decode().split("\0") for text in found["TEXT"]] == [
        ["Author", "Zoë"],
        ["Title", "é" * 1000],
        ["Comment", "夜"],
        ["Long", "夜" * 1000],
    ]
    assert found["XMP "] == [XMP]


def test_a_text_of_png_that_ends_in_zero_is_that_of_a_jpeg() -> None:
    texts = PngImagePlugin.PngInfo()
    texts.add(b"tEXt", b"Comment\0at dusk\0\0")
    assert entries(saved("PNG", pnginfo=texts))["TEXT"] == [b"Comment\0at dusk"]


@pytest.mark.parametrize("comment", ["at dusk", "夜", "at dusk\0"])
def test_a_comment_of_jpeg_is_a_text(comment: str) -> None:
    assert entries(saved("JPEG", comment=comment.encode()))["TEXT"] == [b"Comment\0" + comment.rstrip("\0").encode()]


def test_a_comment_that_is_not_utf8_is_latin1() -> None:
    assert entries(saved("JPEG", comment=b"caf\xe9"))["TEXT"] == ["Comment\0café".encode()]


@pytest.mark.parametrize("format", ["PNG", "JPEG"])
def test_resolution_is_in_pixels_per_metre(format: str) -> None:
    assert entries(saved(format, dpi=(300, 150)))["pHYs"] == [struct.pack(">IIB", 11811, 5906, 1)]


def test_a_large_profile_of_jpeg_is_put_together() -> None:
    profile = PROFILE + np.random.default_rng(0).bytes(200_000)

    assert entries(saved("JPEG", icc_profile=profile))["ICCP"] == [profile]


def test_a_plain_file_has_none() -> None:
    for data in (*WITHOUT.values(), penstock.encode(PIXELS, "webp"), penstock.encode(PIXELS, "weir"), b"", b"x"):
        assert _native.read_metadata(data) == (b"", [], [])


def test_a_chunk_with_an_impossible_name_is_told_in_letters() -> None:
    png = WITHOUT["png"]

    assert _native.read_metadata(png[:33] + chunk(b"\xff\nx\0", b"") + png[33:])[2] == ["??x?"]


def test_what_a_dataset_has_no_place_for_is_told() -> None:
    png = WITHOUT["png"]
    with_time = png[:33] + chunk(b"tIME", bytes(7)) + chunk(b"bKGD", bytes(6)) + png[33:]
    jpeg = WITHOUT["jpeg"]
    with_iptc = jpeg[:20] + b"\xff\xed\0\x06Phot" + jpeg[20:]

    assert _native.read_metadata(with_time) == (b"", [], ["tIME", "bKGD"])
    assert _native.read_metadata(with_iptc) == (b"", [], ["APP13"])


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        (b"iCCP", b"no end"),
        (b"iCCP", b"name\0\0not zlib"),
        (b"iCCP", b"name\0\1" + zlib.compress(b"x")),
        (b"zTXt", b"key\0"),
        (b"tEXt", b"no zero byte"),
        (b"iTXt", b"key\0\0\0\0"),
        (b"iTXt", b"key\0\0\0\0\0\xff"),
        (b"gAMA", b"12345"),
        (b"iCCP", b"bomb\0\0" + zlib.compress(bytes(1 << 25))),
    ],
)
def test_a_damaged_chunk_is_dropped(kind: bytes, content: bytes) -> None:
    png = WITHOUT["png"]

    assert _native.read_metadata(png[:33] + chunk(kind, content) + png[33:]) == (b"", [], [kind.decode()])


@pytest.mark.parametrize("parts", [[(1, 2)], [(0, 1)], [(2, 1)], [(1, 2), (1, 2)], [(1, 2), (2, 3)], [(1, 1), (1, 1)]])
def test_a_profile_of_jpeg_with_parts_amiss_is_dropped(parts: list[tuple[int, int]]) -> None:
    jpeg = WITHOUT["jpeg"]
    segments = b"".join(b"\xff\xe2\0\x13ICC_PROFILE\0" + bytes([number, count, 1, 2, 3]) for number, count in parts)

    assert _native.read_metadata(jpeg[:20] + segments + jpeg[20:]) == (b"", [], ["APP2"])


def test_a_second_profile_is_dropped() -> None:
    png = WITHOUT["png"]
    twice = chunk(b"eXIf", b"1") + chunk(b"eXIf", b"2")

    data, kept, dropped = _native.read_metadata(png[:33] + twice + png[33:])

    assert (kept, dropped) == (["EXIF"], ["EXIF"])
    assert b"1" in data


def test_transcoding_keeps_the_metadata_inside() -> None:
    data = saved("JPEG", icc_profile=PROFILE, exif=EXIF, comment=b"at dusk", dpi=(300, 300))

    assert entries(transcode(data, "jpeg:restart")) == entries(data)


TAGS = {
    "ICCP": st.binary(min_size=1, max_size=300),
    "EXIF": st.binary(min_size=1, max_size=100),
    "XMP ": st.binary(min_size=1, max_size=100),
    "TEXT": st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20).map(
        lambda text: b"Comment\0" + text.encode()
    ),
    "pHYs": st.integers(1, 600).map(lambda dots: struct.pack(">IIB", 100 * dots, 100 * dots, 1)),
}


@given(found=st.fixed_dictionaries({}, optional=TAGS), format=st.sampled_from(["png", "jpeg", "weir"]))
@settings(max_examples=60, deadline=None)
def test_what_is_put_in_is_found_again(found: dict[str, bytes], format: str) -> None:
    data, dropped = _native.embed_metadata(penstock.encode(PIXELS[:8, :8], format), block(found))

    assert dropped == []
    assert entries(data) == {tag: [content] for tag, content in found.items()}


@given(st.binary(max_size=200), st.sampled_from(sorted(WITHOUT)))
@settings(max_examples=60, deadline=None)
def test_nonsense_in_the_middle_is_no_crash(nonsense: bytes, format: str) -> None:
    data = WITHOUT[format]

    for damaged in (data[:33] + nonsense + data[33:], data[: len(data) // 2] + nonsense):
        assert all(content in damaged for contents in entries(damaged).values() for content in contents if content)
