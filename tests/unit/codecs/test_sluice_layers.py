"""What is particular to two layers of Sluice: prefixes, tables, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import penstock
from penstock.codecs.sluice import default_tables, first_layer_bytes, from_jpeg, register_tables, to_jpeg, train_tables
from penstock.errors import ArgumentError, CodecError
from tests.golden import images


def jpeg_of(height: int = 130, width: int = 200) -> bytes:
    return penstock.encode(images.photo(height, width, 3), "jpeg:q=92:subsampling=444")


@pytest.mark.parametrize("format", ["sluice:layers=2", "sluice:layers=2:bits=1", "sluice:layers=2:bits=3"])
def test_a_transcode_to_two_layers_gives_the_jpeg_back(format: str) -> None:
    jpeg = jpeg_of()
    sluice = penstock.transcode(jpeg, format)
    assert penstock.transcode(sluice, "jpeg") == jpeg
    np.testing.assert_array_equal(penstock.decode(sluice), penstock.decode(jpeg))


def test_one_layer_becomes_two_and_one_again() -> None:
    jpeg = jpeg_of()
    layered = penstock.transcode(penstock.transcode(jpeg, "sluice"), "sluice:layers=2")
    assert layered == from_jpeg(jpeg, bits=2)
    assert penstock.transcode(layered, "sluice:layers=1") == from_jpeg(jpeg)


def test_more_bits_in_the_second_layer_leave_fewer_bytes_to_the_first() -> None:
    files = [from_jpeg(jpeg_of(), bits=bits) for bits in (1, 2, 3)]
    sizes = [first_layer_bytes(file) for file in files]
    assert sizes[2] < sizes[1] < sizes[0] < len(files[0])
    whole = penstock.decode(jpeg_of()).astype(float)
    errors = [np.square(penstock.decode(file[:size]) - whole).mean() for file, size in zip(files, sizes, strict=True)]
    assert errors[0] < errors[1] < errors[2]


def test_one_layer_has_only_itself() -> None:
    sluice = from_jpeg(jpeg_of())
    assert first_layer_bytes(sluice) == len(sluice)


def test_a_prefix_cannot_give_the_jpeg_back() -> None:
    sluice = from_jpeg(jpeg_of(), bits=2)
    with pytest.raises(CodecError, match="ends behind its first layer") as raised:
        to_jpeg(sluice[: first_layer_bytes(sluice)])
    assert "whole file" in raised.value.fix


@pytest.mark.parametrize("change", [-1, 1, 100])
def test_a_prefix_of_another_length_is_refused(change: int) -> None:
    sluice = from_jpeg(jpeg_of(), bits=2)
    with pytest.raises(CodecError, match="for its first layer"):
        penstock.decode(sluice[: first_layer_bytes(sluice) + change])


def test_trained_tables_serve_both_layers() -> None:
    jpeg = jpeg_of()
    tables = register_tables(train_tables([jpeg], bits=2))
    sluice = from_jpeg(jpeg, tables=tables)
    assert to_jpeg(sluice) == jpeg
    assert len(sluice) < len(from_jpeg(jpeg, bits=2))
    alone = from_jpeg(jpeg, tables=tables, store_tables=True)
    coarse = penstock.decode(sluice[: first_layer_bytes(sluice)])
    np.testing.assert_array_equal(penstock.decode(alone[: first_layer_bytes(alone)]), coarse)


@pytest.mark.parametrize(("position", "value"), [(5, 0), (5, 4), (6, 1), (8, 255), (12, 0), (13 + 8, 1)])
def test_damaged_layered_tables_are_refused(position: int, value: int) -> None:
    tables = bytearray(default_tables(2))
    tables[position] = value
    tables[11] = tables[11] if position != 8 else 255
    with pytest.raises(CodecError, match="table set"):
        register_tables(bytes(tables))


def test_bits_need_a_second_layer() -> None:
    with pytest.raises(ArgumentError, match="without a second layer"):
        penstock.transcode(jpeg_of(8, 8), "sluice:bits=2")
    with pytest.raises(ArgumentError, match="layer_bits is 4"):
        from_jpeg(jpeg_of(8, 8), bits=4)
