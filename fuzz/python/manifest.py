#!/usr/bin/env python3
"""Fuzz the manifest of a dataset. An input is its JSON; its checksum is made right here, so that it is read."""

from __future__ import annotations

from fuzz.python.harness import check_error, fuzz, instrumented, mutate_json

with instrumented("penstock.records", "penstock.documents"):
    from penstock.errors import DatasetError
    from penstock.records.manifest import read_manifest, write_manifest

from fuzz.packed import seal_manifest


def check_input(data: bytes) -> None:
    """Check that any text gives a manifest that can be written and read again, or a DatasetError."""
    try:
        manifest = read_manifest(seal_manifest(data), "manifest.json")
    except DatasetError as error:
        check_error(error)
        return
    try:
        written = write_manifest(manifest)
    except ValueError:
        return  # `1e999` in the recipe: read as infinity, which is not written
    assert read_manifest(written, "manifest.json") == manifest


if __name__ == "__main__":
    fuzz(check_input, mutate_json)
