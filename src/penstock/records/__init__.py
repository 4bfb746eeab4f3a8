"""Datasets on disk: what a build writes and a loader reads. The layout is `spec/dataset.md`."""

import importlib
import typing

from penstock.index.fields import Field
from penstock.records.dataset import Dataset, open_dataset
from penstock.records.manifest import Manifest

if typing.TYPE_CHECKING:
    from penstock.records.check import Verification, verify
    from penstock.records.problem import Problem

__all__ = ["Dataset", "Field", "Manifest", "Problem", "Verification", "open_dataset", "verify"]

# Imported when first used: loading needs none of it.
_WHEN_ASKED = {
    "Problem": "penstock.records.problem",
    "Verification": "penstock.records.check",
    "verify": "penstock.records.check",
}


def __getattr__(name: str) -> object:
    if name not in _WHEN_ASKED:
        raise AttributeError(f"module 'penstock.records' has no attribute {name!r}")
    value: object = getattr(importlib.import_module(_WHEN_ASKED[name]), name)
    globals()[name] = value
    return value
