#!/usr/bin/env python3
"""Fuzz Progressive Compressed Records and the protobuf messages that they are made of.

The first byte says what the rest is: 0 an index beside a good record; else the number of parts of a record, each behind
its length in two bytes, and the index is made for it.
"""

from __future__ import annotations

from fuzz.python.harness import check_error, fuzz, instrumented, memory_folder

with instrumented("penstock.sources"):
    import numpy as np

    from penstock.errors import SourceError, StorageError
    from penstock.sources.pcr import INDEX_NAME, PcrRecords
    from penstock.sources.protobuf import read_fields

from fuzz.pcr_files import index_of, record_of

FOLDER = memory_folder()
GOOD = record_of([3, 7], [[b"\xff\xd8one", b"\xff\xd8two"], [b"1", b""]])


def check_input(data: bytes) -> None:
    """Check that any bytes give labels and JPEGs, or an error that names the file."""
    try:
        for _ in read_fields(data):
            pass
    except ValueError:
        pass
    index, record = files_of(data)
    (FOLDER / INDEX_NAME).write_bytes(index)
    (FOLDER / "a.pcr").write_bytes(record)
    source = PcrRecords(FOLDER)
    try:
        listing = source.listing()
        rows = np.arange(len(listing.keys))
        images = list(source.read("image", rows))
        source.state()
    except (SourceError, StorageError) as error:
        check_error(error)
        return
    assert [len(image) for image in images] == listing.images["image"].length.tolist()


def files_of(data: bytes) -> tuple[bytes, bytes]:
    """Return an index and a record."""
    if data[:1] in (b"", b"\0"):
        return data[1:], b"".join(GOOD)
    parts, at = [], 1
    for _ in range(data[0]):
        size = int.from_bytes(data[at : at + 2], "little")
        parts.append(data[at + 2 : at + 2 + size])
        at += 2 + size
    return index_of("a.pcr", [len(part) for part in parts]), b"".join(parts)


if __name__ == "__main__":
    fuzz(check_input)
