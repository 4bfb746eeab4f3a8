"""Columns that grow by rows, across chunks."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import SourceError
from penstock.sources.column_builder import ColumnBuilder


def columns(rows: list[dict[str, object]], chunk_rows: int) -> dict[str, list[object]]:
    builder = ColumnBuilder(lambda row: f"row {row}", chunk_rows=chunk_rows)
    for row in rows:
        builder.add(row)
    return {name: column.to_pylist() for name, column in builder.finish().items()}


@given(
    rows=st.lists(st.fixed_dictionaries({}, optional={"a": st.integers(-5, 5), "b": st.lists(st.floats(0, 1))})),
    chunk_rows=st.integers(1, 5),
)
@settings(max_examples=40, deadline=None)
def test_chunks_do_not_show(rows: list[dict[str, object]], chunk_rows: int) -> None:
    assert columns(rows, chunk_rows) == columns(rows, 1000)


@pytest.mark.parametrize("chunk_rows", [1, 2, 100])
def test_types_widen_over_chunks(chunk_rows: int) -> None:
    rows: list[dict[str, object]] = [{}, {"a": None, "b": []}, {"a": 1, "b": [None]}, {"a": 2.5, "b": [[1]]}, {"a": 3}]

    assert columns(rows, chunk_rows) == {"a": [None, None, 1.0, 2.5, 3.0], "b": [None, [], [None], [[1]], None]}


@pytest.mark.parametrize("chunk_rows", [1, 100])
def test_a_mixture_is_refused_where_it_stands(chunk_rows: int) -> None:
    with pytest.raises(SourceError, match="column 'a' holds integers and text: 'x'") as caught:
        columns([{"a": 1}, {"a": "x"}], chunk_rows)

    assert caught.value.where == "row 1"


def test_objects_are_kept_as_their_text() -> None:
    assert columns([{"a": {"é": 1}}, {"a": [{"b": 2}]}], 100) == {"a": ['{"é": 1}', '[{"b": 2}]']}


@pytest.mark.parametrize("chunk_rows", [1, 100])
def test_large_integers_among_floats_are_rounded(chunk_rows: int) -> None:
    large = 2**53 + 1
    rows: list[dict[str, object]] = [{"a": large, "b": [large]}, {"a": 0.5, "b": [0.5, None]}]

    assert columns(rows, chunk_rows) == {"a": [2.0**53, 0.5], "b": [[2.0**53], [0.5, None]]}


def test_a_new_column_in_every_row_is_refused_before_it_fills_memory() -> None:
    rows: list[dict[str, object]] = [{"path": "x.png", f"k{number}": 1} for number in range(4000)]

    with pytest.raises(SourceError, match="2,064 rows name 2,065 different columns") as caught:
        columns(rows, 1 << 16)

    assert caught.value.where == "row 2063"


def test_a_wide_table_is_read() -> None:
    builder = ColumnBuilder(lambda row: f"line {row + 1}")
    row = {f"k{number}": number for number in range(2000)}
    for _ in range(3):
        builder.add(row)

    assert len(builder.finish()) == 2000


@pytest.mark.parametrize("value", [2**70, [[2**70]], [1.5, 10**400], [[[-(2**63) - 1]]]])
def test_numbers_beyond_64_bits_are_refused_in_any_depth(value: object) -> None:
    with pytest.raises(SourceError, match="a number beyond 64 bits"):
        columns([{"a": value}], 8)
