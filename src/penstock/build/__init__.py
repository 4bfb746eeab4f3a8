"""From a source to a dataset."""

from penstock.build.source import ABSENT, ASK, WHOLE, Layout, Places, Role, Samples, Source
from penstock.build.sources import open_source

__all__ = ["ABSENT", "ASK", "WHOLE", "Layout", "Places", "Role", "Samples", "Source", "open_source"]
