"""Read samples from many kinds of sources: one small file each, behind the contract of `penstock.sources.source`."""

import importlib
import typing

if typing.TYPE_CHECKING:
    from penstock.sources.kinds import LOOKED_FOR, SOURCES, open_source, recognise
    from penstock.sources.opening import index_of, open_index
    from penstock.sources.source import FilesOnly, Source

__all__ = [
    "LOOKED_FOR",
    "SOURCES",
    "FilesOnly",
    "Source",
    "index_of",
    "open_index",
    "open_source",
    "recognise",
]

# Imported when first used: opening a dataset needs no kind of source, and a first batch should come quickly.
_WHEN_ASKED = {
    "LOOKED_FOR": "penstock.sources.kinds",
    "SOURCES": "penstock.sources.kinds",
    "FilesOnly": "penstock.sources.source",
    "Source": "penstock.sources.source",
    "index_of": "penstock.sources.opening",
    "open_index": "penstock.sources.opening",
    "open_source": "penstock.sources.kinds",
    "recognise": "penstock.sources.kinds",
}


def __getattr__(name: str) -> object:
    if name not in _WHEN_ASKED:
        raise AttributeError(f"module 'penstock.sources' has no attribute {name!r}")
    value: object = getattr(importlib.import_module(_WHEN_ASKED[name]), name)
    globals()[name] = value
    return value
