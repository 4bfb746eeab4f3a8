"""Descriptions of this installation, an image or a dataset, as `penstock info` prints them."""

from penstock.info.dataset_facts import DatasetSummary, SizeBin, describe_dataset
from penstock.info.image import ImageSummary, describe_image
from penstock.info.installation import CodecSummary, Environment, PlugIn, environment

__all__ = [
    "CodecSummary",
    "DatasetSummary",
    "Environment",
    "ImageSummary",
    "PlugIn",
    "SizeBin",
    "describe_dataset",
    "describe_image",
    "environment",
]
