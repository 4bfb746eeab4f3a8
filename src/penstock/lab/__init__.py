"""Experiments on data formats and loaders, and the analysis of published ones."""

from penstock.lab.dllogger import Epoch, Report, read_report
from penstock.lab.published import Published, analyse

__all__ = ["Epoch", "Published", "Report", "analyse", "read_report"]
