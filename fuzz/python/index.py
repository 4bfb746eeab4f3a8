#!/usr/bin/env python3
"""Fuzz the index of a dataset against its manifest. An input is a packed dataset without shards: fuzz/packed.py.

Columns change their types, lengths and values; the Parquet around them is written by Arrow and always whole, because
Arrow's own project fuzzes its reader.
"""

from __future__ import annotations

from fuzz.python.harness import check_error, fuzz, instrumented, mutate_json

with instrumented("penstock.records", "penstock.documents"):
    import numpy as np

    from penstock.errors import DatasetError
    from penstock.index import StoredColumns
    from penstock.records.index import HEADER_BYTES, Index
    from penstock.records.manifest import read_manifest

from fuzz.packed import UnpackError, unpack


def check_input(data: bytes) -> None:
    """Check that any columns give places inside their shards, or a DatasetError."""
    try:
        files = unpack(data)
    except UnpackError:
        return
    try:
        manifest = read_manifest(files.manifest, "manifest.json")
        index = Index(files.index, manifest, "index.parquet")
        for field in manifest.image_fields:
            check_places(index.locations(field))
        for name in index.schema.names:
            index.column(name)
    except DatasetError as error:
        check_error(error)


def check_places(found: StoredColumns) -> None:
    """Fail if an image that is told of lies outside of its shard."""
    present = found.file >= 0
    for sample_id in np.flatnonzero(present).tolist():
        shard_bytes = int(found.shard_bytes[found.file[sample_id]])
        pieces = [] if found.segments is None else found.segments.pieces(sample_id).tolist()
        places = list(zip(pieces[0::2], pieces[1::2], strict=True))
        for offset, length in places or [(int(found.offset[sample_id]), int(found.length[sample_id]))]:
            assert HEADER_BYTES <= offset <= offset + length <= shard_bytes
        assert found.metadata_offset(sample_id) + int(found.metadata_length[sample_id]) <= shard_bytes


if __name__ == "__main__":
    fuzz(check_input, mutate_json)
