"""Offsets of rows that are not what they should be: the pixels of a search or an ordinary error, no others."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock
from penstock.codecs.jpeg import row_offsets
from penstock.errors import CodecError
from penstock.types import Region
from spec.reference import jpeg as reference
from tests.jpeg_rows import kept_offsets, restart_jpeg, segment, with_offsets, without_offsets

DATA = restart_jpeg(200, 128)
WHOLE = penstock.decode(without_offsets(DATA))
REGIONS: list[Region] = [(0, 0, 200, 128), (64, 10, 30, 40), (150, 0, 50, 128), (199, 127, 1, 1), (0, 100, 20, 20)]

Offsets = list[int]
ABUSES: dict[str, Callable[[Offsets], Offsets]] = {
    "none": lambda offsets: [],
    "one too few": lambda offsets: offsets[:-1],
    "one too many": lambda offsets: [*offsets, offsets[-1] + 50],
    "all zero": lambda offsets: [0] * len(offsets),
    "all one": lambda offsets: [1] * len(offsets),
    "off by one": lambda offsets: [offset + 1 for offset in offsets],
    "beyond the data": lambda offsets: [*offsets[:-1], len(DATA)],
    "as large as can be": lambda offsets: [*offsets[:-1], 2**32 - 1],
    "in reverse": lambda offsets: offsets[::-1],
    "two exchanged": lambda offsets: [offsets[1], offsets[0], *offsets[2:]],
    "a row twice": lambda offsets: [*offsets[:9], offsets[1], *offsets[10:]],  # the marker has the right number
    "from the file's start": lambda offsets: [offset + reference.read_header(DATA).scan for offset in offsets],
}


def check_regions(data: bytes) -> None:
    for y, x, height, width in REGIONS:
        part = penstock.decode(data, region=(y, x, height, width))
        np.testing.assert_array_equal(part, WHOLE[y : y + height, x : x + width])


@pytest.mark.parametrize("abuse", ABUSES)
def test_offsets_that_cannot_be_are_not_believed(abuse: str) -> None:
    data = with_offsets(DATA, ABUSES[abuse](kept_offsets(DATA)))

    assert row_offsets(data) == []
    assert reference.row_offsets(data) is None
    check_regions(data)


@pytest.mark.parametrize("cut", [1, 2, 3, 5])
def test_a_segment_that_ends_inside_an_offset_is_not_believed(cut: int) -> None:
    bare = without_offsets(DATA)
    place = DATA.index(reference.NAME) - 4
    whole = segment(kept_offsets(DATA))
    short = whole[:2] + (len(whole) - 2 - cut).to_bytes(2, "big") + whole[4 : len(whole) - cut]

    data = bare[:place] + short + bare[place:]

    assert row_offsets(data) == []
    check_regions(data)


def test_offsets_of_another_image_are_not_believed() -> None:
    other = restart_jpeg(200, 144)

    check_regions(with_offsets(DATA, kept_offsets(other)))


def test_the_first_of_two_segments_counts() -> None:
    place = DATA.index(reference.NAME) - 4
    wrong = segment([5] * len(kept_offsets(DATA)))

    assert row_offsets(DATA[:place] + wrong + DATA[place:]) == []
    check_regions(DATA[:place] + wrong + DATA[place:])


def test_offsets_of_intervals_that_belong_to_no_row_are_refused() -> None:
    """Every offset points behind a marker of the right number, and all are in order: only a decode can tell."""
    offsets = kept_offsets(DATA)
    scan = reference.read_header(DATA).scan
    end = DATA.rindex(b"\xff\xd9")
    hidden = DATA[scan + offsets[-8] - 2 : end]  # once more the last eight, whose numbers go on from the last one's
    longer = DATA[:end] + hidden + DATA[end:]

    data = with_offsets(longer, [*offsets[:-8], *(offset + len(hidden) for offset in offsets[-8:])])

    assert row_offsets(data)
    np.testing.assert_array_equal(penstock.decode(without_offsets(longer)), WHOLE)
    with pytest.raises(CodecError, match="extraneous"):
        penstock.decode(data)


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_any_change_gives_the_crop_or_an_error_for_the_whole(draw: st.DataObject) -> None:
    data = bytearray(DATA)
    begin = DATA.index(reference.NAME) - 4
    end = begin + 12 + 4 * len(kept_offsets(DATA))
    for _ in range(draw.draw(st.integers(1, 4))):
        data[draw.draw(st.integers(begin, end - 1))] = draw.draw(st.integers(0, 255))

    try:
        whole = penstock.decode(bytes(data))
    except CodecError:
        return
    for y, x, height, width in REGIONS:
        part = penstock.decode(bytes(data), region=(y, x, height, width))
        np.testing.assert_array_equal(part, whole[y : y + height, x : x + width])
