"""Loaders under one contract: Penstock's, and its rivals."""

from penstock.lab.loaders.contract import LabLoader, LoaderSpec
from penstock.lab.loaders.table import LOADERS, open_loader

__all__ = ["LOADERS", "LabLoader", "LoaderSpec", "open_loader"]
