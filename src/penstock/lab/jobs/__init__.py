"""Jobs of cells: one function per job, from settings to measures, independent of recipes."""

from penstock.lab.jobs.contract import Job, LeftOut, Order
from penstock.lab.jobs.table import JOBS, run_job, run_job_task

__all__ = ["JOBS", "Job", "LeftOut", "Order", "run_job", "run_job_task"]
