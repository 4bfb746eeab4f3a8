"""What is particular to Sluice: the way back to the JPEG, tables, tiles, and what is refused."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import penstock
import penstock.pillow
from penstock.cli.run import run
from penstock.codecs import DecodeOptions, decode_counted
from penstock.codecs.sluice import default_tables, from_jpeg, register_tables, to_jpeg, train_tables
from penstock.types import Pixels
from tests.golden import images

SUBSAMPLINGS = {"4:4:4": 0, "4:2:2": 1, "4:2:0": 2}


def jpeg_of(pixels: Pixels, **options: object) -> bytes:
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "JPEG", **options)
    return file.getvalue()


@pytest.mark.parametrize("progressive", [False, True])
@pytest.mark.parametrize("subsampling", SUBSAMPLINGS)
@pytest.mark.parametrize("size", [(1, 1), (8, 8), (67, 130), (200, 300)])
def test_jpeg_comes_back_byte_for_byte(size: tuple[int, int], subsampling: str, progressive: bool) -> None:
    pixels = images.photo(*size, 3)
    jpeg = jpeg_of(pixels, quality=90, subsampling=SUBSAMPLINGS[subsampling], progressive=progressive)
    assert penstock.transcode(penstock.transcode(jpeg, "sluice"), "jpeg") == jpeg


def test_metadata_comes_back_with_the_jpeg() -> None:
    jpeg = jpeg_of(images.photo(40, 50, 1), exif=b"Exif\0\0II*\0\x08\0\0\0\0\0\0\0\0\0", comment=b"a comment")
    assert to_jpeg(from_jpeg(jpeg)) == jpeg


def test_sluice_is_smaller_than_its_jpeg() -> None:
    jpeg = jpeg_of(images.photo(400, 500, 3), quality=92, subsampling=0)
    assert len(from_jpeg(jpeg)) < 0.95 * len(jpeg)


def test_orientation_is_told_by_the_header() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    sluice = from_jpeg(jpeg_of(images.photo(20, 30, 3), exif=exif))
    assert penstock.inspect(sluice).orientation == 6
    assert penstock.decode(sluice, options=DecodeOptions(orient=True)).shape == (30, 20, 3)


def test_region_decodes_only_the_tiles_it_touches() -> None:
    jpeg = jpeg_of(images.photo(400, 500, 3), subsampling=0)
    crop, total, decoded = decode_counted(from_jpeg(jpeg), region=(100, 130, 50, 60))
    np.testing.assert_array_equal(crop, penstock.decode(jpeg)[100:150, 130:190])
    assert (total, decoded) == (4 * 4, 2 * 1)


def test_sluice_of_a_sluice_keeps_its_bytes() -> None:
    sluice = from_jpeg(jpeg_of(images.photo(30, 40, 3)))
    assert penstock.transcode(sluice, "sluice") == sluice


def test_quality_is_refused_by_a_transcode() -> None:
    with pytest.raises(penstock.ArgumentError, match="changes pixels"):
        penstock.transcode(jpeg_of(images.photo(8, 8, 3)), "sluice:q=50")


def test_kind_that_cannot_be_restored_is_refused() -> None:
    cmyk = io.BytesIO()
    Image.new("CMYK", (20, 20)).save(cmyk, "JPEG")
    with pytest.raises(penstock.CodecError) as raised:
        penstock.transcode(cmyk.getvalue(), "sluice")
    assert raised.value.code == 350


def test_tables_trained_on_an_image_make_it_smaller() -> None:
    jpeg = jpeg_of(images.photo(300, 400, 3), quality=40)
    tables = register_tables(train_tables([jpeg]))
    trained = from_jpeg(jpeg, tables=tables)
    assert len(trained) < len(from_jpeg(jpeg))
    assert to_jpeg(trained) == jpeg
    np.testing.assert_array_equal(penstock.decode(trained), penstock.decode(jpeg))


def test_tables_without_pairs_are_read_alike() -> None:
    jpeg = jpeg_of(images.photo(150, 170, 3), quality=95)
    for first_pair in (2, 10, 64):
        trained = from_jpeg(jpeg, tables=register_tables(train_tables([jpeg], first_pair=first_pair)))
        np.testing.assert_array_equal(penstock.decode(trained), penstock.decode(jpeg))


def test_file_may_carry_its_tables() -> None:
    jpeg = jpeg_of(images.photo(60, 70, 3))
    tables = train_tables([jpeg], first_pair=30)
    sluice = from_jpeg(jpeg, tables=register_tables(tables), store_tables=True)
    assert tables in sluice
    np.testing.assert_array_equal(penstock.decode(sluice), penstock.decode(jpeg))


def test_unknown_tables_are_named_by_the_error() -> None:
    with pytest.raises(penstock.ArgumentError, match="no sluice table set has the id"):
        from_jpeg(jpeg_of(images.photo(8, 8, 3)), tables=12345)


@pytest.mark.parametrize("position", [0, 4, 5, 6, 9, 12, 20, 5000, -1])
def test_damaged_tables_are_refused(position: int) -> None:
    tables = bytearray(default_tables())
    tables[position] ^= 0x40
    with pytest.raises(penstock.CodecError):
        register_tables(bytes(tables))


def test_training_needs_an_image() -> None:
    with pytest.raises(penstock.CodecError, match="no image to train"):
        train_tables([b"not a jpeg"])


def test_pillow_saves_sluice_as_it_saves_a_jpeg(tmp_path: Path) -> None:
    image = Image.fromarray(images.photo(40, 60, 3))
    exif = Image.Exif()
    exif[0x0112] = 6
    image.save(tmp_path / "a.jpg", quality=80, exif=exif)
    image.save(tmp_path / "a.sluice", quality=80, exif=exif)
    assert to_jpeg((tmp_path / "a.sluice").read_bytes()) == (tmp_path / "a.jpg").read_bytes()
    with pytest.raises(OSError, match="cannot write mode CMYK as SLUICE"):
        image.convert("CMYK").save(tmp_path / "b.sluice")


def test_pillow_opens_sluice(tmp_path: Path) -> None:
    jpeg = jpeg_of(images.photo(60, 70, 3))
    file = tmp_path / "photo.sluice"
    file.write_bytes(from_jpeg(jpeg))
    with Image.open(file) as image:
        assert (image.format, image.size, image.mode) == ("SLUICE", (70, 60), "RGB")
        np.testing.assert_array_equal(np.asarray(image), penstock.decode(jpeg))


def test_command_line_takes_a_jpeg_there_and_back(tmp_path: Path) -> None:
    jpeg = jpeg_of(images.photo(40, 30, 3))
    (tmp_path / "a.jpg").write_bytes(jpeg)
    for source, target in (("a.jpg", "a.sluice"), ("a.sluice", "b.jpg")):
        with pytest.raises(SystemExit) as ended:
            run(["codec", "encode", str(tmp_path / source), str(tmp_path / target)])
        assert not ended.value.code
    assert (tmp_path / "b.jpg").read_bytes() == jpeg
