"""Conversion of the status of a tile or cell to an error that names it."""

from __future__ import annotations

from penstock.codecs.contract import ImageInfo
from penstock.errors import CodecError
from penstock.kernels.device import l3_kernels as l3
from penstock.kernels.device import weir_kernels as weir

RESTORE = "the file is damaged: restore it from its source"
CORRUPT = 320
CHECKSUM = 330

# A checksum comes first: where bytes are damaged, whatever else they say is a consequence.
WEIR_FAULTS = {
    weir.BAD_CHECKSUM.value: "its bytes do not match their checksum",
    weir.BAD_OFFSETS.value: "its offsets are not in order",
    weir.BAD_HEAD.value: "its head is not valid",
    weir.BAD_MODE.value: "it has an unknown mode",
    weir.BAD_CODE.value: "it has an unknown code",
    weir.BAD_CONTROL.value: "its control has another length than its head says",
    weir.BAD_PAYLOAD.value: "its payload has another length than its codes say",
    weir.BAD_UNARY.value: "a unary stream has another length than its bits say",
}
L3_FAULTS = {
    l3.BAD_TABLES_CHECKSUM.value: "header and tables do not match their checksum",
    l3.BAD_CHECKSUM.value: "its bytes do not match their checksum",
    l3.BAD_TABLES.value: "its patches do not fill the file",
    l3.BAD_WIDTH.value: "it has a row of more than 8 bits a pixel",
    l3.BAD_SIZE.value: "it has another length than its rows",
}


def weir_error(info: ImageInfo, tile: int, status: int) -> CodecError:
    """Make the error of a tile."""
    across = -(-info.width // weir.TILE.value)
    return _error(f"tile {tile} (row {tile // across}, column {tile % across})", status, WEIR_FAULTS)


def l3_error(info: ImageInfo, patch: int, cell: int, status: int) -> CodecError:
    """Make the error of a cell, or of the tables if there is no such cell."""
    across = -(-info.width // patch)
    num_patches = across * -(-info.height // patch)
    index = cell % num_patches
    name = f"patch {index} (row {index // across}, column {index % across})"
    return _error("header" if cell == num_patches * info.channels else name, status, L3_FAULTS)


def _error(unit: str, status: int, faults: dict[int, str]) -> CodecError:
    bit = next(bit for bit in faults if status & bit)
    code = CHECKSUM if "checksum" in faults[bit] else CORRUPT
    return CodecError(f"{unit}: {faults[bit]}", where=unit, fix=RESTORE, code=code)
