"""Runs an order on the native pipeline: readers, decoders, transforms, batches."""

from penstock.load.loader import Loader

__all__ = ["Loader"]
