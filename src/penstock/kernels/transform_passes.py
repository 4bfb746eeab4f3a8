"""Transforms on a device, with results equal to the native core's, bit for bit.

The native core makes the random choices and computes the weights. The device does the arithmetic, with one launch
along x and one along y for each pass of all images of a kind.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from penstock import _native
from penstock.kernels.batch_output import Canvas, Layout
from penstock.kernels.device.resize import COLUMNS, FILL, LANES, ROWS, filter_columns, filter_rows

# Fused multiply-add would round sums of 16-bit samples otherwise than the CPU does.
OPTIONS = {"num_warps": 4, "enable_fp_fusion": False}
TYPES = {"uint8": torch.uint8, "uint16": torch.uint16, "float32": torch.float32, "float16": torch.float16}
WANTED_CHANNELS = {"RGB": 3, "L": 1}
TOP, LEFT, INPUT_HEIGHT, HEIGHT, WIDTH = 0, 1, 2, 4, 5  # columns; the last two are the output's

Place = tuple[tuple[int, int, int], torch.dtype]
Tables = tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[Any]]
"""Tables of a pass: one row per image, first taps, weights."""


@dataclass(frozen=True, slots=True)
class Kind:
    """Properties of images that share launches."""

    source: torch.dtype
    channels: int
    """Channels of the result."""
    greys: bool
    """True if colours are converted to grey first."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """Images of a kind with their passes."""

    kind: Kind
    members: list[int]
    """Positions of the images in the batch."""
    wide: bool
    """True if samples have 16 bits."""
    passes: list[Tables]

    @property
    def sizes(self) -> list[tuple[int, int]]:
        """Heights and widths of the results."""
        rows = self.passes[-1][0]
        return [(int(height), int(width)) for height, width in rows[:, [HEIGHT, WIDTH]]]


class Transformer:
    """Chain of transforms with the channels and the layout of a loader."""

    def __init__(self, program: _native.TransformProgram, channels: str, layout: Layout, device: torch.device) -> None:
        self._program = program
        self._channels = channels
        self._layout = layout
        self._device = device
        self._values: dict[bool, torch.Tensor] = {}

    def draw(self, images: Sequence[torch.Tensor], ids: npt.NDArray[np.uint64], seed: int, epoch: int) -> list[Drawn]:
        """Make the random choices for images (H×W×C; those of one type in one storage) of samples `ids`."""
        kinds: defaultdict[Kind, list[int]] = defaultdict(list)
        for index, image in enumerate(images):
            channels = image.shape[2]
            greys = self._channels == "L" and channels >= 3
            kinds[Kind(image.dtype, WANTED_CHANNELS.get(self._channels, channels), greys)].append(index)
        found = []
        for kind, members in kinds.items():
            wide = kind.source == torch.uint16 and not self._program.narrows
            sizes = np.array([images[index].shape[:2] for index in members], np.uint32)
            passes = self._program.passes(sizes, ids[members], seed, epoch, 2 if wide else 1)
            # A grey image is padded in every colour as in its one channel.
            grey = [number for number, index in enumerate(members) if images[index].shape[2] < min(kind.channels, 3)]
            for rows, _, _ in passes:
                rows[grey, FILL.value + 1 : FILL.value + 4] = rows[grey, FILL.value, None]
            found.append(Drawn(kind, members, wide, passes))
        return found

    def places(self, drawn: Sequence[Drawn]) -> dict[int, Place]:
        """Return shape and type of each image's result."""
        found: dict[int, Place] = {}
        for group in drawn:
            dtype = TYPES[self._program.output_type or ("uint16" if group.wide else "uint8")]
            for index, size in zip(group.members, group.sizes, strict=True):
                channels = group.kind.channels
                found[index] = (channels, *size) if self._layout == "NCHW" else (*size, channels), dtype
        return found

    def run(self, drawn: Sequence[Drawn], images: Sequence[torch.Tensor], results: Sequence[torch.Tensor]) -> None:
        """Write each image's result to its place in a canvas."""
        for group in drawn:
            sources = [images[index] for index in group.members]
            is_first = True
            for tables in group.passes[:-1]:
                between = self._new_images(group, tables)
                self._pass(group, tables, sources, between, "NHWC", is_first=is_first)
                sources, is_first = between, False
            last = [results[index] for index in group.members]
            self._pass(group, group.passes[-1], sources, last, self._layout, is_first=is_first)

    def _new_images(self, group: Drawn, tables: Tables) -> list[torch.Tensor]:
        """Allocate memory between two passes."""
        dtype = torch.uint16 if group.wide else torch.uint8
        sizes = [(int(height), int(width), group.kind.channels) for height, width in tables[0][:, [HEIGHT, WIDTH]]]
        return Canvas.of([(size, dtype) for size in sizes], self._device).images

    def _pass(
        self,
        group: Drawn,
        tables: Tables,
        sources: Sequence[torch.Tensor],
        results: Sequence[torch.Tensor],
        layout: Layout,
        *,
        is_first: bool,
    ) -> None:
        """Run one pass over images of a kind, with two launches."""
        channels = group.kind.channels
        rows, between_samples = addressed(tables[0], sources, results, layout, channels)
        images, first, weights = (torch.from_numpy(array).to(self._device) for array in (rows, *tables[1:]))
        between_type = torch.uint16 if group.wide else torch.uint8
        between = torch.empty(between_samples, dtype=between_type, device=self._device)
        narrows = is_first and self._program.narrows and group.kind.source == torch.uint16
        filter_rows[_grid(rows, INPUT_HEIGHT, channels)](
            storage_of(sources[0]), images, first, weights, between,
            CHANNELS=channels, WIDE=group.wide, NARROW=narrows, GREY=is_first and group.kind.greys, **OPTIONS,
        )  # fmt: skip
        to_floats = results[0].is_floating_point()
        filter_columns[_grid(rows, HEIGHT, channels)](
            between, images, first, weights, self._values_of(group) if to_floats else between, storage_of(results[0]),
            CHANNELS=channels, WIDE=group.wide, FLOATS=to_floats,
            SHIFT=self._shift(between_type, results[0].dtype), **OPTIONS,
        )  # fmt: skip

    def _shift(self, source: torch.dtype, result: torch.dtype) -> int:
        """Return the bits that integers are shifted by to keep their share of the range."""
        if not self._program.is_scaled or source == result or result.is_floating_point:
            return 0
        return 8 if result == torch.uint16 else -8

    def _values_of(self, group: Drawn) -> torch.Tensor:
        """Return the float of every sample value; computed once, and a megabyte for 16-bit samples."""
        if group.wide not in self._values:
            values = torch.from_numpy(self._program.values(2 if group.wide else 1))
            self._values[group.wide] = values.to(self._device)
        return self._values[group.wide]


def addressed(
    rows: npt.NDArray[np.int64],
    sources: Sequence[torch.Tensor],
    results: Sequence[torch.Tensor],
    layout: Layout,
    channels: int,
) -> tuple[npt.NDArray[np.int64], int]:
    """Add pixel addresses to the rows of a pass, and count the samples between its two launches."""
    table = np.empty((len(rows), COLUMNS.value), np.int64)
    table[:, : rows.shape[1]] = rows
    between = 0
    for row, source, result in zip(table, sources, results, strict=True):
        row_stride, column_stride, _ = source.stride()
        begin = source.storage_offset() + int(row[TOP]) * row_stride + int(row[LEFT]) * column_stride
        strides = result.stride()
        channel, line, column = strides if layout == "NCHW" else (strides[2], strides[0], strides[1])
        row[rows.shape[1] :] = begin, row_stride, column_stride, between, result.storage_offset(), line, column, channel
        between += int(row[INPUT_HEIGHT] * row[WIDTH]) * channels
    return table, between


def storage_of(image: torch.Tensor) -> torch.Tensor:
    """Return the memory of all images of a launch."""
    return torch.empty(0, dtype=image.dtype, device=image.device).set_(image.untyped_storage())


def _grid(rows: npt.NDArray[np.int64], height: int, channels: int) -> tuple[int, int]:
    across = -(-rows[:, WIDTH] * channels // LANES.value)
    down = -(-rows[:, height] // ROWS.value)
    return int((across * down).max()), len(rows)
