"""Run an order on the native pipeline: readers, decoders, transforms, batches."""

from penstock.load.batch_sink import BatchSink
from penstock.load.dataset_schedule import DatasetSchedule, Regimen
from penstock.load.loader import Loader
from penstock.load.loader_plan import LoaderPlan, plan_loader
from penstock.load.loader_stats import LoaderStats

__all__ = ["BatchSink", "DatasetSchedule", "Loader", "LoaderPlan", "LoaderStats", "Regimen", "plan_loader"]
