"""Rows entered by the offsets that a file keeps, against rows that are searched for, and the reader of the spec."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

import penstock
from penstock import _native
from penstock.codecs import transcode
from penstock.codecs.jpeg import restart_offsets, row_offsets
from penstock.errors import CodecError
from penstock.types import Region
from spec.reference import jpeg as reference
from tests.jpeg_rows import photograph, restart_jpeg, without_offsets

CASES = [(3, "420"), (3, "422"), (3, "444"), (1, "420")]


def draw_region(rng: np.random.Generator, height: int, width: int) -> Region:
    y, x = int(rng.integers(height)), int(rng.integers(width))
    return y, x, int(rng.integers(1, height - y + 1)), int(rng.integers(1, width - x + 1))


@pytest.mark.parametrize(("channels", "subsampling"), CASES)
@pytest.mark.parametrize("size", [(96, 128), (97, 129), (200, 90), (111, 143)])
def test_a_region_is_the_same_with_and_without_offsets(size: tuple[int, int], channels: int, subsampling: str) -> None:
    data = restart_jpeg(*size, channels, subsampling)
    searched = without_offsets(data)
    assert row_offsets(data)
    assert not row_offsets(searched)
    rng = np.random.default_rng(0)
    for scale in (1, 2, 4, 8):
        whole = penstock.decode(searched, scale=scale)
        np.testing.assert_array_equal(penstock.decode(data, scale=scale), whole)
        for _ in range(12):
            y, x, height, width = region = draw_region(rng, *whole.shape[:2])
            part = penstock.decode(data, region=region, scale=scale)
            np.testing.assert_array_equal(part, penstock.decode(searched, region=region, scale=scale))
            np.testing.assert_array_equal(part, whole[y : y + height, x : x + width])


@pytest.mark.parametrize(("channels", "subsampling"), CASES)
def test_the_reference_reads_the_offsets_that_a_search_finds(channels: int, subsampling: str) -> None:
    data = restart_jpeg(123, 141, channels, subsampling)

    scan = reference.read_header(data).scan
    offsets = reference.row_offsets(data)

    assert offsets is not None
    assert [scan + offset for offset in offsets] == restart_offsets(data) == row_offsets(data)


def test_rows_above_a_region_are_not_looked_at() -> None:
    data = restart_jpeg(160, 128)
    rows = row_offsets(data)
    whole = penstock.decode(data)
    damaged = bytearray(data)
    damaged[rows[3] + 40 : rows[3] + 42] = b"\xff\x01"  # a marker that does not belong there

    part = penstock.decode(bytes(damaged), region=(100, 20, 30, 40))

    np.testing.assert_array_equal(part, whole[100:130, 20:60])
    with pytest.raises(CodecError):
        penstock.decode(without_offsets(bytes(damaged)), region=(100, 20, 30, 40))


@pytest.mark.parametrize("format", ["jpeg:restart:progressive", "jpeg:optimize", "jpeg"])
def test_files_without_a_marker_every_row_keep_no_offsets(format: str) -> None:
    data = penstock.encode(photograph(160, 128), format)

    assert reference.NAME not in data
    assert row_offsets(data) == []


@pytest.mark.parametrize("size", [(16, 400), (40, 40)], ids=["one row", "few bytes"])
def test_files_that_gain_nothing_keep_no_offsets(size: tuple[int, int]) -> None:
    data = penstock.encode(photograph(*size), "jpeg:restart")

    assert reference.NAME not in data


@pytest.mark.parametrize("height", [8191, 65500])
def test_very_tall_images_keep_all_their_offsets(height: int) -> None:
    data = penstock.encode(photograph(height, 8, 1), "jpeg:restart")

    assert len(row_offsets(data)) == -(-height // 8)
    np.testing.assert_array_equal(
        penstock.decode(data, region=(height - 9, 0, 9, 8)), penstock.decode(without_offsets(data))[-9:]
    )


def test_offsets_cost_little() -> None:
    data = restart_jpeg(375, 500)

    assert len(data) - len(without_offsets(data)) == 12 + 4 * 23


def test_transcoding_gives_the_offsets_of_the_new_scan() -> None:
    data = restart_jpeg(160, 128)

    again = transcode(data, "jpeg:restart")
    assert again.count(reference.NAME) == 1
    assert row_offsets(again) == restart_offsets(again)
    assert transcode(again, "jpeg:restart") == again
    assert reference.NAME not in transcode(data, "jpeg:optimize")
    assert reference.NAME not in transcode(data, "jpeg:progressive")


def test_other_programs_read_the_file_as_it_is() -> None:
    data = restart_jpeg(160, 128)

    with Image.open(io.BytesIO(data)) as image, Image.open(io.BytesIO(without_offsets(data))) as plain:
        np.testing.assert_array_equal(np.asarray(image), np.asarray(plain))


def test_offsets_survive_metadata_that_is_put_in_front_and_are_none_themselves() -> None:
    data = restart_jpeg(160, 128)
    file = io.BytesIO()
    Image.new("L", (8, 8)).save(file, "JPEG", exif=b"Exif\0\0MM\0*\0\0\0\x08\0\0\0\0\0\0")

    tagged, dropped = _native.embed_metadata(data, _native.read_metadata(file.getvalue())[0])

    assert dropped == []
    assert row_offsets(tagged) == [offset + len(tagged) - len(data) for offset in row_offsets(data)]
    assert _native.read_metadata(tagged)[1:] == (["EXIF"], [])
