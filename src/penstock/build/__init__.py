"""Build of a dataset from a source."""

from penstock.build.building import Built, Preparation, build, load_plan, prepare
from penstock.build.estimate import Estimate
from penstock.build.options import BuildOptions
from penstock.index import ABSENT, ASK, WHOLE, ImageColumns, Listing, Role
from penstock.sources import open_source
from penstock.sources.source import Source

__all__ = [
    "ABSENT",
    "ASK",
    "WHOLE",
    "BuildOptions",
    "Built",
    "Estimate",
    "ImageColumns",
    "Listing",
    "Preparation",
    "Role",
    "Source",
    "build",
    "load_plan",
    "open_source",
    "prepare",
]
