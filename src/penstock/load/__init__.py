"""Runs an order on the native pipeline: readers, decoders, transforms, batches."""

from penstock.load.loader import Loader
from penstock.load.regimen import Regimen

__all__ = ["Loader", "Regimen"]
