"""Datasets on disk: what a build writes and a loader reads. The layout is `spec/dataset.md`."""

from penstock.index.fields import Field
from penstock.records.check import Verification, verify
from penstock.records.dataset import Dataset, open_dataset
from penstock.records.manifest import Manifest
from penstock.records.problem import Problem

__all__ = ["Dataset", "Field", "Manifest", "Problem", "Verification", "open_dataset", "verify"]
