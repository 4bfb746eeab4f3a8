"""Columns of an index that are not numbers: texts, lists, and boxes, which move with the pixels. One list per batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from penstock import _native
from penstock.index import SampleIndex

if TYPE_CHECKING:
    import pyarrow as pa

Rows = npt.NDArray[np.int64]
BOX_NAMES = ("boxes", "bboxes", "bounding_boxes")
"""Columns of these names, or whose names end in `_boxes`, hold left, top, right and bottom in pixels of the image."""

POINT_NAMES = ("keypoints", "points")
"""Columns of these names, or whose names end in `_keypoints` or `_points`, hold x and y in pixels of the image.

A third number per point, such as its visibility, does not change.
"""


@dataclass(frozen=True, slots=True)
class Drawn:
    """Values that determine where the pixels of a sample go."""

    program: _native.TransformProgram
    seed: int
    epoch: int


class ImageSizes(Protocol):
    """Heights and widths of images by id: an array of two columns, or headers that are read when they are needed."""

    def __getitem__(self, rows: Rows, /) -> npt.NDArray[Any]:
        """Return (height, width) of some samples."""
        ...


class ListColumn(Protocol):
    """Column with one value of any shape per sample."""

    def take(self, rows: Rows, drawn: Drawn | None) -> list[Any]:
        """Return the values of some samples. The number of calls does not depend on their count."""
        ...


@dataclass(frozen=True)
class Values:
    """Texts and other Arrow values, as Python objects."""

    column: pa.Array

    def take(self, rows: Rows, drawn: Drawn | None) -> list[Any]:
        """Return the values of some samples; `None` for missing ones."""
        return list(self.column.take(rows).to_pylist())


@dataclass(frozen=True)
class Lists:
    """Lists of numbers: sample i has `values` from `ends[i - 1]` to `ends[i]`."""

    values: npt.NDArray[np.generic]
    """Values in one dimension, or in two as rows of one length."""
    ends: Rows

    def take(self, rows: Rows, drawn: Drawn | None) -> list[Any]:
        """Return one array per sample; an empty one for missing values."""
        values, starts = self.gathered(rows)
        return [values[begin:end] for begin, end in pairwise(starts)]

    def gathered(self, rows: Rows) -> tuple[npt.NDArray[Any], list[int]]:
        """Copy the values of some samples, and return them with the start of each, and the end as one more number."""
        begins = np.where(rows == 0, 0, self.ends[rows - 1])
        lengths = self.ends[rows] - begins
        starts = np.concatenate([[0], np.cumsum(lengths)])
        places = np.repeat(begins - starts[:-1], lengths) + np.arange(starts[-1])
        return self.values[places], starts.tolist()


@dataclass(frozen=True)
class Boxes(Lists):
    """Boxes as left, top, right, bottom in float32, which move with the pixels."""

    sizes: ImageSizes
    """(height, width) of every sample."""

    def take(self, rows: Rows, drawn: Drawn | None) -> list[Any]:
        """Return one n x 4 array per sample. Boxes that are cropped away stay with zero area."""
        boxes, starts = self.gathered(rows)
        if drawn is not None:
            drawn.program.move_boxes(
                boxes,
                np.array(starts, np.uint64),
                self.sizes[rows].astype(np.uint32),
                rows.astype(np.uint64),
                drawn.seed,
                drawn.epoch,
            )
        return [boxes[begin:end] for begin, end in pairwise(starts)]


@dataclass(frozen=True)
class Points(Lists):
    """Points as x and y in float32, which move with the pixels, and perhaps a third number, which does not."""

    sizes: ImageSizes
    """(height, width) of every sample."""

    def take(self, rows: Rows, drawn: Drawn | None) -> list[Any]:
        """Return one n x 2 or n x 3 array per sample. Points that are cropped away lie outside of the image."""
        points, starts = self.gathered(rows)
        if drawn is not None:
            positions = np.ascontiguousarray(points[:, :2])
            drawn.program.move_points(
                positions,
                np.array(starts, np.uint64),
                self.sizes[rows].astype(np.uint32),
                rows.astype(np.uint64),
                drawn.seed,
                drawn.epoch,
            )
            points[:, :2] = positions
        return [points[begin:end] for begin, end in pairwise(starts)]


def batch_columns(
    index: SampleIndex, names: Sequence[str] | None, sizes: ImageSizes
) -> tuple[dict[str, npt.NDArray[np.generic]], dict[str, ListColumn]]:
    """Return columns of numbers as arrays, and all others as lists. `key` is included if requested."""
    wanted = [field.name for field in index.fields if not field.is_image]
    if names is not None:
        wanted = [name for name in ("key", *wanted) if name in names]
    numbers: dict[str, npt.NDArray[np.generic]] = {}
    lists: dict[str, ListColumn] = {}
    every = index.selected(None)
    for name in wanted:
        column = every.column(name)
        if _is_number(column):
            numbers[name] = np.asarray(column.to_numpy(zero_copy_only=False))
        else:
            lists[name] = as_list_column(name, column, sizes)
    return numbers, lists


def _is_number(column: pa.Array) -> bool:
    """Return whether NumPy can hold all values: missing integers become NaN, but flags cannot."""
    import pyarrow as pa

    kind = column.type
    is_flag = pa.types.is_boolean(kind) and column.null_count == 0
    return bool(is_flag or pa.types.is_integer(kind) or pa.types.is_floating(kind))


def as_list_column(name: str, column: pa.Array, sizes: ImageSizes) -> ListColumn:
    """Convert a column that is not a plain array of numbers to lists. `sizes` are heights and widths of the images."""
    import pyarrow as pa  # which `import penstock` can do without

    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    outer = _flattened(column)
    if outer is None:
        return Values(column)
    values, ends = outer
    inner = _flattened(values)
    if inner is None:
        return Lists(_numbers(values), ends) if _is_numeric(values) else Values(column)
    numbers, inner_ends = inner
    widths = np.diff(inner_ends, prepend=0)
    is_box = name in BOX_NAMES or name.endswith("_boxes")
    width = 4 if is_box else int(widths[0]) if len(widths) else 0
    if not _is_numeric(numbers) or width == 0 or (widths != width).any():
        return Values(column)
    rows = _numbers(numbers).reshape(-1, width)
    is_point = name in POINT_NAMES or name.endswith(("_keypoints", "_points"))
    if is_point and width in (2, 3):
        return Points(rows.astype(np.float32), ends, sizes)
    if not is_box:
        return Lists(rows, ends)
    return Boxes(rows.astype(np.float32), ends, sizes)


def _flattened(column: pa.Array) -> tuple[pa.Array, Rows] | None:
    """Return the items of a column of lists and the end of each list; None if it has no lists."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)):
        return None
    lengths = pc.list_value_length(column).fill_null(0).to_numpy(zero_copy_only=False)
    return pc.list_flatten(column), np.cumsum(lengths, dtype=np.int64)


def _is_numeric(column: pa.Array) -> bool:
    import pyarrow as pa

    kind = column.type
    numeric = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    return bool(numeric and column.null_count == 0)


def _numbers(column: pa.Array) -> npt.NDArray[np.generic]:
    return np.asarray(column.to_numpy(zero_copy_only=False))
