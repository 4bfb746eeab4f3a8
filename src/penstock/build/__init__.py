"""From a source to a dataset."""

from penstock.build.estimate import Estimate
from penstock.build.options import BuildOptions
from penstock.build.run import Built, Preparation, build, load_plan, prepare
from penstock.sources import open_source
from penstock.sources.source import ABSENT, ASK, WHOLE, Layout, Places, Role, Samples, Source

__all__ = [
    "ABSENT",
    "ASK",
    "WHOLE",
    "BuildOptions",
    "Built",
    "Estimate",
    "Layout",
    "Places",
    "Preparation",
    "Role",
    "Samples",
    "Source",
    "build",
    "load_plan",
    "open_source",
    "prepare",
]
