#!/usr/bin/env python3
"""Fuzz the tars of a WebDataset: member names and places, and the small members that become columns."""

from __future__ import annotations

from fuzz.python.harness import check_error, fuzz, instrumented, memory_folder, mutate_bytes

with instrumented("penstock.sources"):
    from penstock.errors import SourceError
    from penstock.sources.tar import read_members
    from penstock.sources.webdataset import WebDataset

from penstock.storage import InputFile

BLOCK = 512
PLACE = memory_folder() / "train.tar"


def check_input(data: bytes) -> None:
    """Check that any bytes give samples whose images lie inside the tar, or a SourceError."""
    PLACE.write_bytes(data)
    try:
        with InputFile(PLACE) as file:
            for member in read_members(file):
                assert member.name
                assert BLOCK <= member.offset <= member.offset + member.length <= len(data)
        listing = WebDataset(PLACE).listing()
    except SourceError as error:
        check_error(error)
        return
    assert len(set(listing.keys.to_pylist())) == len(listing.keys)
    for places in listing.images.values():
        assert (places.file < len(listing.files)).all()
        assert (places.offset + places.length <= len(data)).all()


def mutate(data: bytes, max_size: int, seed: int) -> bytes:
    """Change bytes, then make the headers' checksums right, so that the change is looked at."""
    changed = bytearray(mutate_bytes(data, max_size))
    if seed % 8 == 0:
        return bytes(changed)
    for begin in range(0, len(changed) - BLOCK + 1, BLOCK):
        header = changed[begin : begin + BLOCK]
        if header[257:262] == b"ustar":
            total = sum(header) - sum(header[148:156]) + 8 * ord(" ")
            changed[begin + 148 : begin + 156] = f"{total:06o}\0 ".encode()
    return bytes(changed)


if __name__ == "__main__":
    fuzz(check_input, mutate)
