"""Datasets on disk: what a build writes and a loader reads. The layout is `spec/dataset.md`."""

from penstock.records.check import Verification, verify
from penstock.records.dataset import Dataset, open_dataset
from penstock.records.folder import FolderListing, list_folder
from penstock.records.index import Locations, Segments
from penstock.records.manifest import Field, Manifest
from penstock.records.problem import Problem

__all__ = [
    "Dataset",
    "Field",
    "FolderListing",
    "Locations",
    "Manifest",
    "Problem",
    "Segments",
    "Verification",
    "list_folder",
    "open_dataset",
    "verify",
]
