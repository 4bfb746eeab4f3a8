"""Run an order on the native pipeline: readers, decoders, transforms, batches."""

from penstock.load.dataset_schedule import DatasetSchedule, Regimen
from penstock.load.loader import Loader

__all__ = ["DatasetSchedule", "Loader", "Regimen"]
