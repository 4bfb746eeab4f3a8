"""Sources of samples: one small file each, behind the contract of `penstock.sources.source`."""

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
