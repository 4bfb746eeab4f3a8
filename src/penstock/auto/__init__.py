"""All steps in one command: measure, choose, build, measure again, report."""

from penstock.auto.report import make_report
from penstock.auto.steps import AutoOptions, AutoResult, Decision, decide, finish

__all__ = ["AutoOptions", "AutoResult", "Decision", "decide", "finish", "make_report"]
