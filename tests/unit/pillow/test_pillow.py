"""Pillow opens, shows what is inside, and saves `.weir`, in Pillow's own manners."""

from __future__ import annotations

import io
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageFile, UnidentifiedImageError

import penstock
import penstock.pillow
from penstock.codecs.weir_metadata import Entry, read_metadata, write_metadata
from penstock.testing.codec import sample_image
from tests.golden.kinds import Refused
from tests.golden.make import FOLDER, REFUSED
from tests.weir_files import encode_split

KINDS = [("L", 1, "uint8"), ("LA", 2, "uint8"), ("RGB", 3, "uint8"), ("RGBA", 4, "uint8"), ("I;16", 1, "uint16")]
COLOUR = sample_image(70, 90, 3, "uint8")


def opened(data: bytes) -> Image.Image:
    return Image.open(io.BytesIO(data))


def saved(image: Image.Image, **options: Any) -> bytes:  # noqa: ANN401  # as save takes them
    file = io.BytesIO()
    image.save(file, "WEIR", **options)
    return file.getvalue()


@pytest.mark.parametrize(("mode", "channels", "dtype"), KINDS)
def test_every_mode_is_opened_and_saved_exactly(mode: str, channels: int, dtype: str, tmp_path: Path) -> None:
    pixels = sample_image(70, 90, channels, dtype)
    file = tmp_path / "x.weir"
    file.write_bytes(penstock.encode(pixels, "weir"))
    with Image.open(file) as image:
        assert (image.format, image.mode, image.size) == ("WEIR", mode, (90, 70))
        np.testing.assert_array_equal(np.asarray(image), pixels)
        image.save(tmp_path / "y.weir")
    np.testing.assert_array_equal(penstock.decode((tmp_path / "y.weir").read_bytes()), pixels)


def test_opening_reads_nothing_of_the_tiles() -> None:
    data = penstock.encode(COLOUR, "weir")
    first_tile = int.from_bytes(data[32:36], "little")
    cut = opened(data[:first_tile])
    assert cut.size == (90, 70)
    with pytest.raises(OSError, match="should have"):
        cut.load()


def test_options_of_a_save_are_those_of_the_format() -> None:
    image = Image.fromarray(COLOUR)
    assert saved(image) == penstock.encode(COLOUR, "weir:dense")
    assert saved(image, variant="fast", effort=3) == penstock.encode(COLOUR, "weir:fast:effort=3")
    with pytest.raises(ValueError, match="effort"):
        saved(image, effort=9)


def test_metadata_is_shown_as_pillow_shows_it() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    entries = [
        Entry("ICCP", b"profile"),
        Entry("EXIF", exif.tobytes().removeprefix(b"Exif\0\0")),
        Entry.text("Comment", "dämmerig"),
        Entry("ABCD", b"not for Pillow"),
    ]
    image = opened(write_metadata(penstock.encode(COLOUR, "weir"), entries))
    assert isinstance(image, penstock.pillow.WeirImageFile)
    assert image.info["icc_profile"] == b"profile"
    assert image.getexif()[0x0112] == 6
    assert image.info["Comment"] == image.text["Comment"] == "dämmerig"


def test_a_text_does_not_pass_for_a_profile() -> None:
    entries = [Entry("ICCP", b"p"), Entry.text("icc_profile", "x")]
    image = opened(write_metadata(penstock.encode(COLOUR, "weir"), entries))
    assert image.info["icc_profile"] == b"p"


def test_metadata_is_saved() -> None:
    exif = Image.Exif()
    exif[0x0112] = 3
    data = saved(Image.fromarray(COLOUR), icc_profile=b"p", exif=exif, text={"Comment": "dämmerig"})
    assert [entry.tag for entry in read_metadata(data)] == ["ICCP", "EXIF", "TEXT"]
    assert penstock.inspect(data).orientation == 3
    assert opened(data).info["Comment"] == "dämmerig"


def test_a_profile_goes_along_and_exif_does_not() -> None:
    data = saved(Image.fromarray(COLOUR), icc_profile=b"p", exif=Image.Exif().tobytes(), text={"a": "b"})
    again = saved(opened(data))
    assert read_metadata(again) == [Entry("ICCP", b"p")]


@pytest.mark.parametrize("mode", ["1", "P", "CMYK", "F", "I"])
def test_a_mode_that_weir_cannot_hold_is_refused(mode: str) -> None:
    with pytest.raises(OSError, match=f"cannot write mode {mode} as WEIR"):
        saved(Image.new(mode, (3, 2)))


def test_16_bit_colours_are_refused_because_pillow_has_none() -> None:
    with pytest.raises(UnidentifiedImageError, match="no mode for 3 channels of 16 bits"):
        opened(penstock.encode(sample_image(3, 4, 3, "uint16"), "weir"))


@pytest.mark.parametrize("refused", REFUSED, ids=lambda refused: refused.path)
def test_damage_is_an_oserror_in_our_words(refused: Refused) -> None:
    path = FOLDER / refused.path
    with pytest.raises(OSError) as raised, Image.open(path) as image:  # noqa: PT011  # the words are compared below
        image.load()
    assert refused.words in str(raised.value)


def test_a_damaged_header_is_not_an_image() -> None:
    data = bytearray(penstock.encode(COLOUR, "weir"))
    data[9] ^= 1
    with pytest.raises(UnidentifiedImageError, match="header does not match its checksum"):
        opened(bytes(data))


def test_verify_finds_damage_anywhere() -> None:
    data = bytearray(penstock.encode(COLOUR, "weir"))
    opened(bytes(data)).verify()
    data[-1] ^= 1
    with pytest.raises(OSError, match="tile 3 does not match its checksum"):
        opened(bytes(data)).verify()


def test_too_many_pixels_are_refused_by_pillow_s_own_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1000)
    with pytest.raises(Image.DecompressionBombError):
        opened(penstock.encode(COLOUR, "weir"))


def test_a_header_that_claims_too_much_costs_no_memory(tmp_path: Path) -> None:
    huge = tmp_path / "huge.weir"
    huge.write_bytes(replace(encode_split(COLOUR, "fast"), width=2**20, height=2**20).data())
    with pytest.raises(UnidentifiedImageError, match="ends before its first tile"):
        Image.open(huge)


def test_pillow_s_parser_is_fed_piece_by_piece() -> None:
    data = penstock.encode(COLOUR, "weir")
    parser = ImageFile.Parser()
    for begin in range(0, len(data), 1000):
        parser.feed(data[begin : begin + 1000])
    np.testing.assert_array_equal(np.asarray(parser.close()), COLOUR)


def test_without_the_import_pillow_knows_no_weir_and_penstock_no_pillow() -> None:
    code = "import sys, penstock; before = 'PIL' in sys.modules; from PIL import Image; Image.init()"
    code += "; print(before, 'WEIR' in Image.OPEN)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "False False"
