"""Penstock keeps accelerators fed with images."""

from penstock.codecs import ImageInfo, decode, encode, inspect
from penstock.errors import ArgumentError, CodecError, PenstockError, SourceError, StorageError
from penstock.version import __version__

__all__ = [
    "ArgumentError",
    "CodecError",
    "ImageInfo",
    "PenstockError",
    "SourceError",
    "StorageError",
    "__version__",
    "decode",
    "encode",
    "inspect",
]
