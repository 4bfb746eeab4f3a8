"""From a source to a dataset."""

from penstock.build.options import BuildOptions
from penstock.build.run import Built, build
from penstock.build.source import ABSENT, ASK, WHOLE, Layout, Places, Role, Samples, Source
from penstock.build.sources import open_source

__all__ = [
    "ABSENT",
    "ASK",
    "WHOLE",
    "BuildOptions",
    "Built",
    "Layout",
    "Places",
    "Role",
    "Samples",
    "Source",
    "build",
    "open_source",
]
