"""A source's samples in the order of their ids, checked."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from penstock.errors import ArgumentError, DatasetError
from penstock.records.index import one_chunk
from penstock.sources.source import ABSENT, Layout, Places, Samples, Source

if TYPE_CHECKING:
    import pyarrow as pa

RESERVED = ("id", "key", "split")
FIELD_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


@dataclass(frozen=True)
class Listing:
    """Sample r of every column is the one whose key has rank r."""

    kind: str
    layout: Layout
    columns: pa.Table
    """`key`, `split` if there are splits, then the source's own columns."""
    places: Mapping[str, Places]
    files: Sequence[bytes]
    rows: npt.NDArray[np.int64]
    """The row of the source at each rank."""

    def __len__(self) -> int:
        return len(self.rows)

    def fingerprint(self) -> str:
        """Equal for sources with the same keys, columns and lengths, wherever they lie."""
        import pyarrow as pa

        digest = hashlib.sha256(self.kind.encode())
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, self.columns.schema) as stream:
            stream.write_table(self.columns)
        digest.update(sink.getvalue())
        for name, role in self.layout.roles.items():
            digest.update(f"{name} {role.value}".encode())
            digest.update((self.places[name].file == ABSENT).tobytes())
            digest.update(self.places[name].length.tobytes())
        digest.update("\0".join(self.layout.classes or ()).encode())
        return digest.hexdigest()


def list_source(source: Source, *, without: frozenset[str] = frozenset()) -> Listing:
    """List a source, sorted by key; the image fields `without` are left out."""
    import pyarrow as pa
    import pyarrow.compute as pc

    layout, samples = source.samples()
    layout = _leave_out(layout, without)
    _check(layout, samples)
    # Arrow sorts strings by their bytes, which for UTF-8 is the order of code points.
    order = pc.sort_indices(samples.keys)
    columns = {"key": samples.keys}
    if samples.splits is not None:
        columns["split"] = samples.splits
    columns.update(samples.columns)
    table = pa.table(columns).take(order).combine_chunks()
    _check_unique(table.column("key"))
    rows = order.to_numpy(zero_copy_only=False).astype(np.int64)
    places = {name: _take(samples.places[name], rows) for name in layout.roles}
    return Listing(source.kind, layout, table, places, samples.files, rows)


def _leave_out(layout: Layout, names: frozenset[str]) -> Layout:
    further = [name for name in layout.roles if name != "image"]
    unknown = sorted(names - set(further))
    if unknown:
        raise ArgumentError(
            f"no further image field is named '{unknown[0]}'",
            where="fields to leave out",
            fix=f"choose of: {', '.join(further) or 'none'}",
            code=130,
        )
    return replace(layout, roles={name: role for name, role in layout.roles.items() if name not in names})


def _take(places: Places, rows: npt.NDArray[np.int64]) -> Places:
    return Places(
        places.file[rows].astype(np.int32),
        places.offset[rows].astype(np.int64),
        places.length[rows].astype(np.int64),
        None if places.checksum is None else places.checksum[rows].astype(np.int64),
    )


def _check(layout: Layout, samples: Samples) -> None:
    count = len(samples.keys)
    if count == 0:
        raise DatasetError("the source has no samples", where="source", fix="name a source with images", code=203)
    if next(iter(layout.roles), None) != "image":
        raise ArgumentError("the first image field must be 'image'", where="source", fix="name it image")
    if (samples.places["image"].file == ABSENT).any():
        raise DatasetError("a sample has no image", where="source", fix="leave it out of the source", code=203)
    names = [*layout.roles, *samples.columns]
    for name in names:
        if name in RESERVED or names.count(name) > 1 or FIELD_NAME.fullmatch(name) is None:
            raise ArgumentError(
                f"'{name}' cannot be the name of a field",
                where="source",
                fix=f"use letters, digits, _ and -, each name once, and none of {', '.join(RESERVED)}",
            )


def _check_unique(keys: pa.ChunkedArray) -> None:
    import pyarrow.compute as pc

    array = one_chunk(keys)
    repeated = pc.equal(array.slice(1), array.slice(0, len(array) - 1)).to_numpy(zero_copy_only=False)
    if repeated.any():
        key = array[int(np.argmax(repeated))].as_py()
        raise DatasetError(f"two samples have the key '{key}'", where="source", fix="rename one of them", code=203)
