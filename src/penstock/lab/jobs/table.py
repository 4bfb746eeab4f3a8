"""Table of jobs by name. Each is imported at its first run, because some need torch."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from penstock.documents import Json
from penstock.lab.jobs.contract import Job, LeftOut, Measures, Order
from penstock.types import OnProgress, no_progress

JOBS = ("codec", "load", "size", "stages", "train")


def run_job(order: Order, on_progress: OnProgress = no_progress) -> Measures:
    """Run a job in this process. Raise `LeftOut` if it cannot be done here."""
    assert order.job in JOBS, order.job
    job: Job = import_module(f"penstock.lab.jobs.{order.job}_job").run
    return job(order, on_progress)


def run_job_task(arguments: Mapping[str, Any], on_progress: OnProgress) -> dict[str, Json]:
    """Run a job in a worker process: return its `measures`, or the reason why it was `left_out`."""
    try:
        return {"measures": run_job(Order(**arguments), on_progress)}
    except LeftOut as reason:
        return {"left_out": str(reason)}
