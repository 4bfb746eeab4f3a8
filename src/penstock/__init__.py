"""Penstock: an image loader and format family for training."""

import importlib
import typing

from penstock.codecs import ImageInfo, decode, encode, inspect, transcode
from penstock.errors import ArgumentError, CodecError, DatasetError, PenstockError, SourceError, StorageError
from penstock.version import __version__

if typing.TYPE_CHECKING:
    from penstock.doctor import diagnose, watch
    from penstock.index import SampleIndex
    from penstock.load import BatchSink, DatasetSchedule, Loader, LoaderPlan, LoaderStats, Regimen, plan_loader
    from penstock.records import Dataset
    from penstock.sources import open_index as open  # noqa: A004  # as users of h5py, zarr and safetensors write it

__all__ = [
    "ArgumentError",
    "BatchSink",
    "CodecError",
    "Dataset",
    "DatasetError",
    "DatasetSchedule",
    "ImageInfo",
    "Loader",
    "LoaderPlan",
    "LoaderStats",
    "PenstockError",
    "Regimen",
    "SampleIndex",
    "SourceError",
    "StorageError",
    "__version__",
    "decode",
    "diagnose",
    "encode",
    "inspect",
    "open",
    "plan_loader",
    "transcode",
    "watch",
]

# What is imported when it is first asked for, because `import penstock` is to be quick.
_WHEN_ASKED = {
    "BatchSink": ("penstock.load", "BatchSink"),
    "Dataset": ("penstock.records", "Dataset"),
    "DatasetSchedule": ("penstock.load", "DatasetSchedule"),
    "Loader": ("penstock.load", "Loader"),
    "LoaderPlan": ("penstock.load", "LoaderPlan"),
    "LoaderStats": ("penstock.load", "LoaderStats"),
    "Regimen": ("penstock.load", "Regimen"),
    "SampleIndex": ("penstock.index", "SampleIndex"),
    "diagnose": ("penstock.doctor", "diagnose"),
    "open": ("penstock.sources", "open_index"),
    "plan_loader": ("penstock.load", "plan_loader"),
    "watch": ("penstock.doctor", "watch"),
}


def __getattr__(name: str) -> object:
    if name not in _WHEN_ASKED:
        raise AttributeError(f"module 'penstock' has no attribute {name!r}")
    module, attribute = _WHEN_ASKED[name]
    value: object = getattr(importlib.import_module(module), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_WHEN_ASKED})
