"""Datasets on disk, as a build writes and a loader reads them. `spec/dataset.md` has the layout."""

from penstock.index.fields import Field
from penstock.records.check import Verification, verify
from penstock.records.dataset import Dataset, open_dataset
from penstock.records.manifest import Manifest
from penstock.records.problem import Problem

__all__ = ["Dataset", "Field", "Manifest", "Problem", "Verification", "open_dataset", "verify"]
