"""Table that describes the records of a launch. Its columns are the constants of `device/parts.py`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from penstock.codecs.contract import ImageInfo
from penstock.kernels.batch_output import Layout
from penstock.types import Buffer

UNIT_ALIGNMENT = 16


@dataclass(frozen=True, slots=True)
class Record:
    """File with the place of its pixels."""

    index: int
    data: Buffer
    info: ImageInfo
    image: torch.Tensor
    """Image of the canvas, whose storage is the output of the launch."""


@dataclass(frozen=True, slots=True)
class Upload:
    """Records of one launch, on the device."""

    data: torch.Tensor
    rows: torch.Tensor
    """Table as int64, one row per record."""
    status: torch.Tensor
    """Status byte of each unit (tile or cell) of each record; 0 means success."""
    num_units: list[int]

    @property
    def max_units(self) -> int:
        """Largest number of units of any record, which is the width of the launch."""
        return max(self.num_units)


def upload(records: Sequence[Record], num_units: Sequence[int], layout: Layout, device: torch.device) -> Upload:
    """Copy the bytes and the table of a launch, one copy each. `num_units` counts the units of each record."""
    begins = np.cumsum([0, *(_aligned(len(record.data)) for record in records)])
    host = torch.empty(int(begins[-1]), dtype=torch.uint8, pin_memory=device.type == "cuda")
    view = host.numpy()
    for record, begin in zip(records, begins, strict=False):
        view[begin : begin + len(record.data)] = np.frombuffer(record.data, np.uint8)
    status_at = np.cumsum([0, *num_units]).tolist()
    rows = [
        _row(record, int(begin), unit, layout) for record, begin, unit in zip(records, begins, status_at, strict=False)
    ]
    return Upload(
        data=host.to(device, non_blocking=True),
        rows=torch.tensor(rows, dtype=torch.int64).to(device),
        status=torch.zeros(status_at[-1], dtype=torch.uint8, device=device),
        num_units=list(num_units),
    )


def _row(record: Record, begin: int, first_unit: int, layout: Layout) -> list[int]:
    strides = record.image.stride()
    channel, row, column = strides if layout == "NCHW" else (strides[2], strides[0], strides[1])
    size = [begin, len(record.data), record.info.width, record.info.height]
    # The scratch of l3, an offset for each cell, is laid out as the status is.
    return [*size, int(record.image.storage_offset()), row, column, channel, first_unit, first_unit]


def _aligned(size: int) -> int:
    return -(-size // UNIT_ALIGNMENT) * UNIT_ALIGNMENT
