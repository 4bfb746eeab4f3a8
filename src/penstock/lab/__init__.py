"""Experiments on formats, caches, loaders and training, and the analysis of published ones."""

from penstock.lab.dllogger import Epoch, Report, read_report
from penstock.lab.lab_run import Progress, is_finished, load_run, run_recipe
from penstock.lab.lines import Line, load_lines
from penstock.lab.published import Published, analyse
from penstock.lab.published_page import published_page
from penstock.lab.recipes.contract import Cell, Findings, Recipe
from penstock.lab.recipes.table import RECIPES, find_recipe
from penstock.lab.run_page import findings_of, run_page
from penstock.lab.settings import settings_help, settings_text, with_settings

__all__ = [
    "RECIPES",
    "Cell",
    "Epoch",
    "Findings",
    "Line",
    "Progress",
    "Published",
    "Recipe",
    "Report",
    "analyse",
    "find_recipe",
    "findings_of",
    "is_finished",
    "load_lines",
    "load_run",
    "published_page",
    "read_report",
    "run_page",
    "run_recipe",
    "settings_help",
    "settings_text",
    "with_settings",
]
