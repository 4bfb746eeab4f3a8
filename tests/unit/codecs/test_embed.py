"""Metadata put into finished files: other programs read it, pixels stay, and what a format cannot hold is told."""

from __future__ import annotations

import io
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageCms

import penstock
from penstock import CodecError, _native
from penstock.codecs.weir_metadata import Entry, read_metadata

PIXELS = np.random.default_rng(0).integers(0, 255, (70, 90, 3), np.uint8)
PROFILE = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
EXIF = Image.Exif()
EXIF[0x0112] = 6
EXIF_BYTES = EXIF.tobytes().removeprefix(b"Exif\0\0")
XMP = b"<x:xmpmeta xmlns:x='adobe:ns:meta/'/>"
DENSITY = struct.pack(">IIB", 11800, 5900, 1)  # 118 and 59 dots per centimetre: 299.72 and 149.86 per inch
ENTRIES = {"ICCP": PROFILE, "EXIF": EXIF_BYTES, "XMP ": XMP, "TEXT": "Comment\0at dusk, ä".encode(), "pHYs": DENSITY}
FORMATS = ("png", "png:level=0", "jpeg:q=95", "webp:lossless", "webp:q=80", "weir:dense", "weir:fast")


def block(entries: dict[str, bytes]) -> bytes:
    content = b"".join(struct.pack("<4sI", tag.encode(), len(data)) + data for tag, data in entries.items())
    return content + struct.pack("<I", _native.crc32c(content))


def embedded(
    format: str, entries: dict[str, bytes], pixels: np.ndarray[tuple[int, ...], np.dtype[np.uint8]] = PIXELS
) -> bytes:
    plain = penstock.encode(pixels, format)
    data, dropped = _native.embed_metadata(plain, block(entries))
    assert dropped == []
    assert np.array_equal(penstock.decode(data), penstock.decode(plain))
    return data


def opened(data: bytes) -> Image.Image:
    image = Image.open(io.BytesIO(data))
    image.load()
    return image


@pytest.mark.parametrize("format", ["png", "jpeg:q=95", "webp:lossless", "webp:q=80"])
def test_pillow_reads_profile_exif_and_xmp(format: str) -> None:
    image = opened(embedded(format, {tag: ENTRIES[tag] for tag in ("ICCP", "EXIF", "XMP ")}))

    assert image.info["icc_profile"] == PROFILE
    assert image.getexif()[0x0112] == 6
    assert XMP in (image.info.get("xmp") or image.info["XML:com.adobe.xmp"].encode())


@pytest.mark.parametrize("format", FORMATS)
def test_orientation_is_what_the_exif_says(format: str) -> None:
    assert penstock.inspect(embedded(format, {"EXIF": EXIF_BYTES})).orientation == 6


@pytest.mark.parametrize(("format", "where"), [("png", "Comment"), ("jpeg:q=95", "comment")])
def test_a_comment_is_a_comment(format: str, where: str) -> None:
    comment = opened(embedded(format, {"TEXT": ENTRIES["TEXT"]})).info[where]

    assert (comment.decode() if isinstance(comment, bytes) else comment) == "at dusk, ä"


@pytest.mark.parametrize("format", ["png", "jpeg:q=95"])
def test_resolution_is_kept(format: str) -> None:
    assert opened(embedded(format, {"pHYs": DENSITY})).info["dpi"] == pytest.approx((299.72, 149.86))


def test_png_holds_its_colour_chunks() -> None:
    gamma, chromaticities = struct.pack(">I", 45455), struct.pack(">8I", *range(30000, 30008))

    info = opened(embedded("png", {"gAMA": gamma, "cHRM": chromaticities, "sRGB": b"\1"})).info

    assert info["gamma"] == pytest.approx(0.45455)
    assert info["srgb"] == 1
    assert len(info["chromaticity"]) == 8


def test_weir_holds_everything() -> None:
    data = embedded("weir", ENTRIES)

    assert read_metadata(data) == [Entry(tag, content) for tag, content in ENTRIES.items()]


def test_a_profile_larger_than_a_segment_is_cut_for_jpeg() -> None:
    large = PROFILE + np.random.default_rng(0).bytes(150_000)

    assert opened(embedded("jpeg", {"ICCP": large})).info["icc_profile"] == large


def test_an_image_with_alpha_keeps_it_in_webp() -> None:
    pixels = np.random.default_rng(0).integers(0, 255, (20, 30, 4), np.uint8)

    assert opened(embedded("webp:lossless", {"EXIF": EXIF_BYTES}, pixels)).mode == "RGBA"


@pytest.mark.parametrize(
    ("format", "entries", "dropped"),
    [
        ("raw", {"ICCP": PROFILE, "EXIF": EXIF_BYTES}, ["ICCP", "EXIF"]),
        ("jpeg", {"gAMA": bytes(4), "TEXT": b"Author\0me", "EXIF": EXIF_BYTES}, ["gAMA", "TEXT"]),
        ("jpeg", {"EXIF": bytes(70_000), "pHYs": struct.pack(">IIB", 1 << 30, 1, 0)}, ["EXIF", "pHYs"]),
        ("webp", {"TEXT": b"Comment\0x", "pHYs": DENSITY}, ["TEXT", "pHYs"]),
        ("png", {"TEXT": b"no zero byte", "sRGB": b"12"}, ["TEXT", "sRGB"]),
        ("png", {"TEXT": "鍵\0x".encode()}, ["TEXT"]),
        ("png", {"TEXT": b"\0x"}, ["TEXT"]),
        ("png", {"what": b""}, ["what"]),
    ],
)
def test_what_a_format_cannot_hold_is_told(format: str, entries: dict[str, bytes], dropped: list[str]) -> None:
    plain = penstock.encode(PIXELS, format)

    data, told = _native.embed_metadata(plain, block(entries))

    assert told == dropped
    assert np.array_equal(penstock.decode(data), penstock.decode(plain))


@pytest.mark.parametrize("format", [*FORMATS, "raw"])
def test_without_entries_the_pixels_stay(format: str) -> None:
    embedded(format, {})


@pytest.mark.parametrize(
    ("damaged", "what"),
    [
        (b"abc", "shorter than its checksum"),
        (block({"EXIF": b"1234"})[:-1] + b"\0", "does not match its checksum"),
        (b"EXIF" + struct.pack("<I", _native.crc32c(b"EXIF")), "does not fit"),
        (b"EXIF\xff\0\0\0" + struct.pack("<I", _native.crc32c(b"EXIF\xff\0\0\0")), "does not fit"),
    ],
)
def test_a_damaged_block_is_refused(damaged: bytes, what: str) -> None:
    with pytest.raises(CodecError, match=what):
        _native.embed_metadata(penstock.encode(PIXELS, "png"), damaged)


@given(
    entries=st.dictionaries(
        st.sampled_from(["ICCP", "EXIF", "XMP ", "TEXT", "pHYs", "gAMA", "what"]), st.binary(max_size=50)
    ),
    format=st.sampled_from(FORMATS),
)
def test_no_entry_changes_a_pixel(entries: dict[str, bytes], format: str) -> None:
    plain = penstock.encode(PIXELS[:9, :9], format)

    data, _ = _native.embed_metadata(plain, block(entries))

    assert np.array_equal(penstock.decode(data), penstock.decode(plain))
