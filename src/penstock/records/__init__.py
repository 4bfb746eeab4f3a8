"""Datasets on disk: what a build writes and a loader reads. The layout is `spec/dataset.md`."""

from penstock.records.folder import FolderListing, list_folder

__all__ = ["FolderListing", "list_folder"]
