"""Table sets of a dataset, made known to the decoders for as long as the dataset is open."""

from __future__ import annotations

from penstock import _native
from penstock.errors import DatasetError, PenstockError
from penstock.records.manifest import Manifest

FIX = "restore the manifest from a copy, or build the dataset again"


def hold_tables(manifest: Manifest, where: str) -> tuple[_native.SluiceTables, ...]:
    """Make the table sets of a manifest known, as long as the result is referenced.

    Sets of codecs that this version does not know are ignored.
    """
    held = []
    for entry in manifest.tables:
        if entry.codec != "sluice":
            continue
        try:
            tables = _native.SluiceTables(entry.data)
        except PenstockError as error:
            raise DatasetError(f"table set {entry.id}: {error.what}", where=where, fix=FIX, code=210) from error
        if tables.name != entry.id:
            raise DatasetError(f"table set {entry.id} has the id {tables.name}", where=where, fix=FIX, code=210)
        held.append(tables)
    return tuple(held)
