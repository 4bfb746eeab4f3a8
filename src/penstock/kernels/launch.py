"""Launches of kernels: one for all records of a kind. A kernel is compiled per kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
import triton

from penstock.codecs.contract import ImageInfo
from penstock.codecs.weir_metadata import check_tables
from penstock.errors import CodecError
from penstock.kernels.batch_output import Output
from penstock.kernels.device.l3_kernels import l3_cells, l3_offsets
from penstock.kernels.device.weir_kernels import TILE, weir_tiles
from penstock.kernels.status import l3_error, weir_error
from penstock.kernels.table import Record, Upload, upload
from penstock.types import Buffer

# One warp for each tile or cell: a row of 64 lanes stays inside it, and four warps would issue more instructions for a
# tile. With 160 registers no variant spills; at 128 some did (docs/weir-on-accelerators.md). Fused multiply-add would
# round normalised samples otherwise than the CPU does.
OPTIONS = {"num_warps": 1, "maxnreg": 160, "enable_fp_fusion": False}

Damage = tuple[int, CodecError]
"""Index of a record, and its error."""


class Kind(Protocol):
    """Parameters that a kernel is compiled for. Equal kinds share a launch."""

    def launch(self, records: Sequence[Record], output: Output, *, verify: bool) -> list[Damage]:
        """Decode records of this kind, wait, and return the damaged ones, with at most one entry each."""


@dataclass(frozen=True, slots=True)
class WeirKind:
    """Weir files of one profile, channel count and depth."""

    dense: bool
    channels: int
    bits: int

    def constants(self, output: Output, *, verify: bool) -> dict[str, object]:
        """Return compile-time arguments and options of `weir_tiles`."""
        return {
            "DENSE": self.dense,
            "CHANNELS": self.channels,
            "PLANES": triton.next_power_of_2(self.channels),
            "BITS": self.bits,
            "NORMALISE": output.normalises,
            "VERIFY": verify,
            **OPTIONS,
        }

    def launch(self, records: Sequence[Record], output: Output, *, verify: bool) -> list[Damage]:
        """Decode records of this kind, wait, and return the damaged ones, with at most one entry each."""
        damages = _damaged_tables(records) if verify else []
        device = records[0].image.device
        tiles = [_count(record.info, TILE.value) for record in records]
        batch = upload(records, tiles, output.layout, device)
        scale, bias = (values.to(device) for values in output.affine(records[0].info))
        weir_tiles[batch.max_units, len(records)](
            batch.data, batch.rows, _storage(records), scale, bias, batch.status,
            **self.constants(output, verify=verify),
        )  # fmt: skip
        faults = [(r.index, weir_error(r.info, tile, status)) for r, tile, status in _faults(records, batch)]
        return [*damages, *(fault for fault in faults if fault[0] not in dict(damages))]


@dataclass(frozen=True, slots=True)
class L3Kind:
    """L3 files of one channel count, and patch sides up to one power of two."""

    channels: int
    lanes: int

    def constants(self, output: Output, *, verify: bool) -> dict[str, object]:
        """Return compile-time arguments and options of `l3_cells`."""
        return {
            "CHANNELS": self.channels,
            "LANES": self.lanes,
            "NORMALISE": output.normalises,
            "VERIFY": verify,
            **OPTIONS,
        }

    def launch(self, records: Sequence[Record], output: Output, *, verify: bool) -> list[Damage]:
        """Decode records of this kind, wait, and return the damaged ones, with at most one entry each."""
        device = records[0].image.device
        cells = [self.channels * _count(record.info, l3_patch(record.data)) for record in records]
        batch = upload(records, [count + 1 for count in cells], output.layout, device)
        offsets = torch.empty(batch.status.shape, dtype=torch.int32, device=device)
        l3_offsets[(len(records),)](
            batch.data, batch.rows, offsets, batch.status, CHANNELS=self.channels, LANES=self.lanes, VERIFY=verify
        )
        scale, bias = (values.to(device) for values in output.affine(records[0].info))
        l3_cells[max(cells), len(records)](
            batch.data, batch.rows, offsets, _storage(records), scale, bias, batch.status,
            **self.constants(output, verify=verify),
        )  # fmt: skip
        return [
            (r.index, l3_error(r.info, l3_patch(r.data), cell, status)) for r, cell, status in _faults(records, batch)
        ]


def kind_of(data: Buffer, info: ImageInfo) -> Kind:
    """Return the kind of a file, which selects its launch."""
    if info.codec == "weir":
        return WeirKind(info.variant == "dense", info.channels, info.depth)
    return L3Kind(info.channels, triton.next_power_of_2(l3_patch(data)))


def l3_patch(data: Buffer) -> int:
    """Return the patch side of an L3 file whose header has been checked."""
    return data[12] or data[14]


def _count(info: ImageInfo, side: int) -> int:
    return -(-info.width // side) * -(-info.height // side)


def _damaged_tables(records: Sequence[Record]) -> list[Damage]:
    """List Weir files whose tables (a few bytes per tile) do not match their checksum."""
    damages = []
    for record in records:
        try:
            check_tables(record.data)
        except CodecError as error:
            damages.append((record.index, error))
    return damages


def _storage(records: Sequence[Record]) -> torch.Tensor:
    """Return the memory of all images of a launch; their rows of the table have offsets into it."""
    image = records[0].image
    return torch.empty(0, dtype=image.dtype, device=image.device).set_(image.untyped_storage())


def _faults(records: Sequence[Record], batch: Upload) -> list[tuple[Record, int, int]]:
    """List damaged records with their first faulty unit and its status."""
    if not bool(batch.status.any()):
        return []
    faults = []
    for record, part in zip(records, torch.split(batch.status.cpu(), batch.num_units), strict=True):
        units = part.nonzero()
        if len(units):
            # The last unit of an L3 file is its tables: what is wrong there explains the rest.
            unit = int(units[-1]) if record.info.codec == "l3" and part[-1] else int(units[0])
            faults.append((record, unit, int(part[unit])))
    return faults
