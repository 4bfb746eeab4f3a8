"""The table that tells a launch about its records; its columns are the constants of `device/parts.py`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from penstock.codecs.contract import ImageInfo
from penstock.kernels.output import Layout
from penstock.types import Buffer

UNIT_ALIGNMENT = 16


@dataclass(frozen=True, slots=True)
class Record:
    """One file and where its pixels go."""

    index: int
    data: Buffer
    info: ImageInfo
    image: torch.Tensor
    """Of the canvas: its storage is the launch's output."""


@dataclass(frozen=True, slots=True)
class Upload:
    """Records of one launch, on the device."""

    data: torch.Tensor
    rows: torch.Tensor
    """int64, a row for each record."""
    status: torch.Tensor
    """A byte for each unit (tile or cell) of each record; 0 is good."""
    num_units: list[int]

    @property
    def max_units(self) -> int:
        """Of any record: how wide the launch must be."""
        return max(self.num_units)


def upload(records: Sequence[Record], num_units: Sequence[int], layout: Layout, device: torch.device) -> Upload:
    """Bytes and table of a launch, copied in one go each. `num_units` counts what each record reports on."""
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
