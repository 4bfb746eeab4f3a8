"""The jobs by name. Each is imported when it is first run: some need torch."""

from __future__ import annotations

from importlib import import_module

from penstock.lab.jobs.contract import Job, Measures, Order
from penstock.types import OnProgress, no_progress

JOBS = ("codec", "load", "size", "stages", "train")


def run_job(order: Order, on_progress: OnProgress = no_progress) -> Measures:
    """Do what is ordered, in this process. `LeftOut` if it cannot be done here."""
    assert order.job in JOBS, order.job
    job: Job = import_module(f"penstock.lab.jobs.{order.job}").run
    return job(order, on_progress)
