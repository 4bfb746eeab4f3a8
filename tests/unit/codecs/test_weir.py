"""What is particular to Weir: variants, tiles, constant planes, sizes, metadata."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import penstock
from penstock.codecs import DecodeOptions, parse_format
from penstock.codecs.weir_metadata import Entry, read_metadata, write_metadata
from penstock.types import Pixels
from spec.reference import weir as reference
from tests.golden import images
from tests.weir_files import encode_split

VARIANTS = ["fast", "dense"]


def png_bytes(pixels: Pixels) -> int:
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG", compress_level=6)
    return file.tell()


def test_plain_name_means_dense() -> None:
    assert str(parse_format("weir")) == "weir:dense"
    assert penstock.inspect(penstock.encode(np.zeros((3, 4), np.uint8), "weir")).variant == "dense"


def test_header_names_variant_depth_and_colour() -> None:
    info = penstock.inspect(penstock.encode(np.zeros((3, 4, 2), np.uint16), "weir:fast"))
    assert (info.variant, info.depth, info.color, info.shape) == ("fast", 16, "grey+alpha", (3, 4, 2))


@pytest.mark.parametrize("variant", VARIANTS)
def test_region_decodes_only_the_tiles_it_touches(variant: str) -> None:
    pixels = images.photo(300, 500, 3)
    data = penstock.encode(pixels, f"weir:{variant}")
    crop, total, decoded = penstock.codecs.decode_counted(data, region=(63, 127, 66, 66))
    np.testing.assert_array_equal(crop, pixels[63:129, 127:193])
    assert (total, decoded) == (5 * 8, 3 * 3)


def test_constant_image_takes_a_few_bytes_a_tile() -> None:
    data = penstock.encode(np.full((640, 640, 3), (1, 200, 77), np.uint8), "weir")
    assert len(data) == 32 + 4 * 101 + 4 * 100 + 100 * 4
    np.testing.assert_array_equal(penstock.decode(data)[333, 222], (1, 200, 77))


def test_constant_alpha_costs_one_byte_a_tile() -> None:
    rgb = images.photo(64, 64, 3)
    rgba: Pixels = np.dstack([rgb, np.full((64, 64), 255, np.uint8)]).astype(np.uint8)
    assert len(penstock.encode(rgba, "weir:fast")) - len(penstock.encode(rgb, "weir:fast")) == 1


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("bits", [8, 16])
def test_noise_grows_by_little(variant: str, bits: int) -> None:
    pixels = images.noise(256, 256, 3, bits)
    assert len(penstock.encode(pixels, f"weir:{variant}")) < pixels.nbytes * 1.03


@pytest.mark.parametrize(("variant", "gain"), [("fast", 1.0), ("dense", 1.05)])
def test_12_bit_grey_with_noise_is_smaller_than_png(variant: str, gain: float) -> None:
    rng = np.random.default_rng(12)
    y, x = np.mgrid[0:256, 0:512]
    scene = 1500 + 900 * np.sin(x / 71) * np.cos(y / 53) + 400 * (x // 90 % 2)
    pixels = np.clip(scene + rng.normal(0, 12, scene.shape), 0, 4095).astype(np.uint16)
    assert len(penstock.encode(pixels, f"weir:{variant}")) * gain <= png_bytes(pixels)


def test_more_effort_is_never_larger_on_real_images(shared_data: Path) -> None:
    files = sorted(shared_data.glob("cityscapes/leftImg8bit/**/*.png"))[::40]
    for variant in VARIANTS:
        sizes = [0] * 3
        for file in files:
            with Image.open(file) as opened:
                pixels = np.asarray(opened)
            for effort in (1, 2, 3):
                sizes[effort - 1] += len(penstock.encode(pixels, f"weir:{variant}:effort={effort}"))
        assert sizes == sorted(sizes, reverse=True)


def test_eight_byte_offsets_decode_too() -> None:
    pixels = images.photo(70, 70, 1)
    wide = replace(encode_split(pixels, "fast"), flags=1).data()
    np.testing.assert_array_equal(penstock.decode(wide), pixels)


def test_metadata_is_kept_and_read_by_the_reference_too() -> None:
    pixels = images.photo(70, 70, 3)
    entries = [Entry("ICCP", b"profile"), Entry.text("Comment", "dämmerig"), Entry("ABCD", b""), Entry("TEXT", b"a\0b")]
    data = write_metadata(penstock.encode(pixels, "weir"), entries)
    assert read_metadata(data) == entries
    assert reference.decode(data).metadata == [(entry.tag, entry.content) for entry in entries]
    np.testing.assert_array_equal(penstock.decode(data), pixels)


def test_removed_metadata_leaves_the_file_as_it_was() -> None:
    data = penstock.encode(images.photo(70, 70, 3), "weir")
    assert write_metadata(write_metadata(data, [Entry.text("a", "b")]), []) == data


def test_exif_orientation_is_seen() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    block = exif.tobytes().removeprefix(b"Exif\0\0")
    data = write_metadata(penstock.encode(images.photo(20, 30, 3), "weir"), [Entry("EXIF", block)])
    assert penstock.inspect(data).orientation == 6


@pytest.mark.parametrize(
    ("entries", "match"),
    [
        ([Entry("ICC", b"")], "not four ASCII characters"),
        ([Entry("ICCP", b""), Entry("ICCP", b"")], "more than one ICCP"),
        ([Entry("TEXT", b"no key")], "no zero byte"),
    ],
)
def test_wrong_metadata_is_refused(entries: list[Entry], match: str) -> None:
    with pytest.raises(penstock.PenstockError, match=match):
        write_metadata(penstock.encode(np.zeros((1, 1), np.uint8), "weir"), entries)


def test_damaged_metadata_is_found() -> None:
    data = bytearray(write_metadata(penstock.encode(np.zeros((1, 1), np.uint8), "weir"), [Entry.text("a", "b")]))
    data[-3] ^= 1  # inside the value: the last two bytes are the tile
    for read in (penstock.decode, read_metadata):
        with pytest.raises(penstock.CodecError, match="tables of the weir image do not match their checksum"):
            read(bytes(data))


def test_metadata_entry_that_does_not_fit_is_refused() -> None:
    file = replace(encode_split(images.photo(9, 9, 1), "fast"), metadata=b"TEXT\xff\0\0\0abc")
    with pytest.raises(penstock.CodecError, match="does not fit"):
        read_metadata(file.data())


def test_options_do_not_make_a_call_ask_codec_after_codec(monkeypatch: pytest.MonkeyPatch) -> None:
    # Asking each in Python took 5 of the 70 microseconds that an image of 512x256 takes.
    pixels = images.photo(9, 9, 3)
    monkeypatch.delattr("penstock.codecs.api.codec_for")
    decoded = penstock.decode(penstock.encode(pixels, "weir:fast"), options=DecodeOptions(verify=False))
    np.testing.assert_array_equal(decoded, pixels)
