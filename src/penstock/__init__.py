"""Penstock keeps accelerators fed with images."""

from penstock.codecs import ImageInfo, decode, encode, inspect
from penstock.doctor import diagnose, watch
from penstock.errors import ArgumentError, CodecError, DatasetError, PenstockError, SourceError, StorageError
from penstock.load import Loader
from penstock.records import Dataset
from penstock.records import open_dataset as open  # noqa: A004  # as users of h5py, zarr and safetensors write it
from penstock.version import __version__

__all__ = [
    "ArgumentError",
    "CodecError",
    "Dataset",
    "DatasetError",
    "ImageInfo",
    "Loader",
    "PenstockError",
    "SourceError",
    "StorageError",
    "__version__",
    "decode",
    "diagnose",
    "encode",
    "inspect",
    "open",
    "watch",
]
