"""What `png` promises beyond the shared suite."""

from __future__ import annotations

import io
import struct
import threading

import imagecodecs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

import penstock
from penstock import ArgumentError, CodecError
from penstock.codecs import DecodeOptions, decode_counted, find
from penstock.testing.codec import sample_image
from tests.png_writer import GREY, PALETTE, RGB, Png, read_chunks, write_chunks


def grey_png(**changes: object) -> Png:
    samples = np.random.default_rng(5).integers(0, 256, (24, 16, 1)).astype(np.uint16)
    return Png(samples, GREY, 8, **changes)  # type: ignore[arg-type]  # fields of Png


def exif_block(orientation: int) -> bytes:
    return b"MM\0*\0\0\0\x08\0\1" + struct.pack(">HHIHH", 0x0112, 3, 1, orientation, 0) + bytes(4)


@pytest.mark.parametrize("idat_bytes", [1, 7, 64, 2**20])
def test_pixels_may_stand_in_any_number_of_chunks(idat_bytes: int) -> None:
    image = grey_png(idat_bytes=idat_bytes, filters=(4, 2))
    np.testing.assert_array_equal(penstock.decode(image.encode()), image.samples[:, :, 0])


def test_empty_pixel_chunks_are_harmless() -> None:
    header, pixels, end = read_chunks(grey_png().encode())
    empty = (b"IDAT", b"")
    data = write_chunks([header, empty, pixels, empty, end])
    np.testing.assert_array_equal(penstock.decode(data), grey_png().samples[:, :, 0])


def test_unknown_ancillary_chunks_and_trailing_bytes_are_tolerated() -> None:
    image = grey_png(before=[(b"tEXt", b"k\0v"), (b"prVt", b"x" * 99)], after=[(b"zzZz", b"")])
    data = image.encode() + b"trailing garbage"
    np.testing.assert_array_equal(penstock.decode(data), image.samples[:, :, 0])


def test_gamma_profile_and_significant_bits_do_not_change_pixels() -> None:
    hints = [(b"gAMA", struct.pack(">I", 100000)), (b"sBIT", b"\5"), (b"iCCP", b"name\0\0garbage")]
    image = grey_png(before=hints)
    np.testing.assert_array_equal(penstock.decode(image.encode()), image.samples[:, :, 0])


def test_animation_decodes_its_default_image() -> None:
    first, second = Image.new("RGB", (5, 4), "red"), Image.new("RGB", (5, 4), "blue")
    file = io.BytesIO()
    first.save(file, "PNG", save_all=True, append_images=[second])
    np.testing.assert_array_equal(penstock.decode(file.getvalue()), np.asarray(first))


@pytest.mark.parametrize("place", ["before", "after"])
def test_orientation_is_found_before_and_behind_the_pixels(place: str) -> None:
    data = grey_png(**{place: [(b"eXIf", exif_block(6))]}).encode()
    assert penstock.inspect(data).orientation == 6


def test_orientation_is_applied_when_asked_for() -> None:
    image = grey_png(before=[(b"eXIf", exif_block(6))])
    turned = find("png").decode(image.encode(), DecodeOptions(orient=True))
    np.testing.assert_array_equal(turned, np.rot90(image.samples[:, :, 0], -1))


def test_inspect_says_what_is_stored() -> None:
    palette = Png(np.zeros((2, 3, 1), np.uint16), PALETTE, 2, True, palette=b"abc", transparency=b"\x09").encode()
    info = penstock.inspect(palette)
    assert (info.color, info.depth, info.variant, info.channels, info.lossless) == ("palette", 2, "interlaced", 4, True)
    assert penstock.inspect(Png(np.zeros((2, 3, 3), np.uint16), RGB, 16).encode()).dtype == "uint16"


def test_inspect_needs_no_more_than_the_start_of_the_pixels() -> None:
    data = penstock.encode(sample_image(64, 64, 3, "uint8"), "png")
    assert penstock.inspect(data[:64]).shape == (64, 64, 3)


@pytest.mark.parametrize("transparency", [b"", b"\0", b"\0\0\0"])
def test_transparency_that_cannot_be_read_is_ignored(transparency: bytes) -> None:
    image = Png(np.ones((2, 3, 3), np.uint16), RGB, 8, transparency=transparency)
    assert penstock.decode(image.encode()).shape == (2, 3, 3)


def test_more_alphas_than_colours_are_ignored() -> None:
    image = Png(np.zeros((2, 3, 1), np.uint16), PALETTE, 8, palette=b"abc", transparency=bytes([7] * 256))
    assert penstock.decode(image.encode())[0, 0].tolist() == [*b"abc", 7]


def test_region_unfilters_only_rows_it_builds_on() -> None:
    data = grey_png(filters=(2, 4, 4, 1)).encode()
    assert decode_counted(data)[1:] == (24, 24)
    # Row 7 does not look at row 6; rows 8 to 11 build on each other from there.
    assert decode_counted(data, region=(10, 0, 2, 5))[1:] == (24, 5)
    assert decode_counted(data, region=(11, 0, 1, 5))[1:] == (24, 1)


def test_region_of_an_interlaced_image_skips_the_rows_below() -> None:
    data = grey_png(filters=(4,), interlaced=True).encode()
    total, decoded = decode_counted(data, region=(0, 0, 1, 16))[1:]
    assert total == 3 + 3 + 3 + 6 + 6 + 12 + 12
    assert decoded == 4


@pytest.mark.parametrize("scale", [2, 4, 8])
def test_scale_is_refused(scale: int) -> None:
    with pytest.raises(CodecError, match="cannot decode at scale"):
        penstock.decode(grey_png().encode(), scale=scale)


@settings(deadline=None, max_examples=60)
@given(
    shape=st.tuples(st.integers(1, 90), st.integers(1, 90)),
    channels=st.integers(1, 4),
    dtype=st.sampled_from(["uint8", "uint16"]),
    level=st.integers(0, 9),
    seed=st.integers(0, 99),
)
def test_any_pixels_come_back(shape: tuple[int, int], channels: int, dtype: str, level: int, seed: int) -> None:
    pixels = sample_image(*shape, channels, dtype, seed)
    data = penstock.encode(pixels, f"png:level={level}")
    np.testing.assert_array_equal(penstock.decode(data), pixels)
    np.testing.assert_array_equal(imagecodecs.png_decode(data), pixels)


def test_strided_pixels_are_encoded_as_they_look() -> None:
    frame = sample_image(40, 50, 3, "uint16")
    window = frame[3:30, 5:45]
    np.testing.assert_array_equal(penstock.decode(penstock.encode(window, "png")), window)


def test_higher_levels_are_smaller() -> None:
    pixels = sample_image(128, 128, 3, "uint8")
    sizes = [len(penstock.encode(pixels, f"png:level={level}")) for level in (0, 1, 6, 12)]
    assert sizes == sorted(sizes, reverse=True)


def test_encoder_chooses_filters_at_least_as_well_as_pillow() -> None:
    y, x = np.mgrid[0:256, 0:256]
    rng = np.random.default_rng(0)
    photo = (128 + 60 * np.sin(y / 30) + 60 * np.cos(x / 20) + rng.normal(0, 3, y.shape)).clip(0, 255).astype(np.uint8)
    pixels = np.dstack([photo, np.roll(photo, 3, 0), np.roll(photo, 5, 1)])
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    assert len(penstock.encode(pixels, "png")) < 1.02 * len(file.getvalue())


def test_level_beyond_twelve_is_refused() -> None:
    with pytest.raises(ArgumentError, match="level=13"):
        penstock.encode(np.zeros((1, 1), np.uint8), "png:level=13")


def test_threads_decode_side_by_side() -> None:
    images = [sample_image(60, 80, channels, "uint8", seed) for seed in range(4) for channels in (1, 3, 4)]
    files = [penstock.encode(pixels, "png") for pixels in images]
    wrong: list[int] = []

    def work() -> None:
        for _ in range(10):
            for index, data in enumerate(files):
                if not np.array_equal(penstock.decode(data), images[index]):
                    wrong.append(index)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
